import { setImmediate } from 'node:timers/promises'
import { SharedWork } from '../shared-work.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from './wire.ts'

/** What each of several calls came to, in their order. */
export type SendCalls = (calls: readonly RpcCall[], signal: AbortSignal) => Promise<readonly RpcOutcome[]>

interface Passenger {
  readonly calls: readonly RpcCall[]
  readonly signal: AbortSignal
}

interface CallGroup {
  readonly passengers: Passenger[]
  readonly work: SharedWork<ReadonlyMap<Passenger, readonly RpcOutcome[]>>
}

/**
 * Whatever is asked in one turn of the event loop travels together. Each caller gets what its own calls came to; one that gives up before the departure is left out, and the travel ends once nobody waits for it.
 */
export function coalesced(travel: SendCalls): SendCalls {
  let open: CallGroup | undefined

  function gather(): CallGroup {
    const passengers: Passenger[] = []
    const work = new SharedWork(async signal => {
      await setImmediate()
      if (open === gathering) open = undefined
      signal.throwIfAborted()
      const aboard = passengers.filter(one => !one.signal.aborted)
      const calls = aboard.flatMap(one => one.calls)
      return sharedOut(aboard, await travel(calls, signal))
    })
    const gathering: CallGroup = { passengers, work }
    return gathering
  }

  return async (calls, signal) => {
    signal.throwIfAborted()
    if (calls.length === 0) return []
    if (!open?.work.isUsable) open = gather()
    const passenger = { calls, signal }
    open.passengers.push(passenger)
    return (await open.work.join(signal)).get(passenger) ?? []
  }
}

function sharedOut(
  passengers: readonly Passenger[],
  outcomes: readonly RpcOutcome[],
): ReadonlyMap<Passenger, readonly RpcOutcome[]> {
  let from = 0
  return new Map(
    passengers.map(passenger => {
      const own = outcomes.slice(from, from + passenger.calls.length)
      from += passenger.calls.length
      return [passenger, own]
    }),
  )
}

/** The answers of calls that all have one. @throws EndpointFailure the first of those that have none */
export function answersOf(outcomes: readonly RpcOutcome[]): RpcAnswer[] {
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}
