import { setImmediate } from 'node:timers/promises'
import { SharedWork } from '../shared-work.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from './wire.ts'

/** Sends calls; resolves to their outcomes, in their order. */
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
 * Sends the calls of one event-loop turn together. Each caller gets the outcomes of its own calls. Calls aborted before
 * they are sent are left out, and the request is aborted when no caller waits any more.
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

/** The answers of calls that all succeeded. @throws EndpointFailure of the first that did not */
export function answersOf(outcomes: readonly RpcOutcome[]): RpcAnswer[] {
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}
