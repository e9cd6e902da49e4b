import { BatchScheduler } from '../../edge/batch-scheduler.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import type { RpcAnswer, RpcCall, RpcOutcome } from './wire.ts'

/** Sends calls; resolves to their outcomes, in their order. */
export type SendCalls = (calls: readonly RpcCall[], signal: AbortSignal) => Promise<readonly RpcOutcome[]>

/**
 * Sends the calls of one event-loop turn together. Each caller gets the outcomes of its own calls. Calls aborted before
 * they are sent are left out, and the request is aborted when no caller waits any more.
 */
export function batchedCalls(send: SendCalls): SendCalls {
  const scheduler = new BatchScheduler<readonly RpcCall[], readonly RpcOutcome[]>(async (jobs, { signal }) => {
    const outcomes = await send(
      jobs.flatMap(({ request }) => request),
      signal,
    )
    let from = 0
    for (const { request, resolve } of jobs) {
      resolve(outcomes.slice(from, from + request.length))
      from += request.length
    }
  })
  return async (calls, signal) => {
    signal.throwIfAborted()
    return calls.length === 0 ? [] : scheduler.schedule(calls, signal)
  }
}

/** The answers of calls that all succeeded. @throws EndpointFailure of the first that did not */
export function answersOf(outcomes: readonly RpcOutcome[]): RpcAnswer[] {
  return outcomes.map(outcome => {
    if (outcome instanceof EndpointFailure) throw outcome
    return outcome
  })
}
