import { isRecord } from '../../model/json.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { headCall } from './harmless-calls.ts'
import { stateBlocksMin } from './limits.ts'
import { type ObservedBlocks, quantity } from './observed-blocks.ts'
import { isRateError, meaningOf } from './rpc-errors.ts'
import type { RpcCall, RpcOutcome } from './wire.ts'

/** Copies of the calls that are sent at once in each round: they reach several nodes of a balancer. */
const copiesByRound = [1, 3, 3]

/** Sends calls in one request. */
type Send = (calls: readonly RpcCall[]) => Promise<readonly RpcOutcome[]>

/**
 * Outcomes in which those of a lagging node behind a balancer are replaced by another node's: an endpoint that has shown
 * a block lacks it, or answers an earlier last block. The calls are sent again with the question for the last block: a
 * node that has the block and answers alike means it.
 */
export async function withoutLag(
  calls: readonly RpcCall[],
  outcomes: readonly RpcOutcome[],
  observed: ObservedBlocks,
  send: Send,
): Promise<readonly RpcOutcome[]> {
  const better = [...outcomes]
  let doubted = calls.flatMap((call, index) => (isDoubted(call, outcomes[index], observed) ? [index] : []))
  for (const copies of copiesByRound) {
    if (doubted.length === 0) break
    const asked = [headCall, ...doubted.flatMap(index => calls[index] ?? [])]
    const answers = await Promise.all(Array.from({ length: copies }, () => send(asked)))
    doubted = doubted.filter((index, place) => {
      const call = calls[index]
      const good = call && answers.map(answer => answer[place + 1]).find(one => !isDoubted(call, one, observed))
      if (good) better[index] = good
      const number = call && observed.numberOf(call)
      return !good && (number === undefined || !answers.some(([head]) => isPast(head, number)))
    })
  }
  return better
}

function isPast(head: RpcOutcome | undefined, number: bigint): boolean {
  const last = numberIn(head)
  return last !== undefined && last >= number
}

/** Whether an outcome contradicts the last block that the endpoint has shown. */
function isDoubted(call: RpcCall, outcome: RpcOutcome | undefined, observed: ObservedBlocks): boolean {
  const head = observed.head?.number
  if (head === undefined || !outcome || outcome instanceof EndpointFailure) return false
  if (isHeadCall(call)) return outcome.kind === 'result' && (numberIn(outcome) ?? head) < head
  const number = observed.numberOf(call)
  if (number === undefined || number > head || head - number >= stateBlocksMin) return false
  if (outcome.kind === 'result') return outcome.result === null
  return meaningOf(outcome.error).kind !== 'reverted' && !isRateError(outcome.error)
}

function isHeadCall({ method, params }: RpcCall): boolean {
  return method === headCall.method && params[0] === 'latest'
}

function numberIn(outcome: RpcOutcome | undefined): bigint | undefined {
  if (!outcome || outcome instanceof EndpointFailure || outcome.kind === 'error') return undefined
  return isRecord(outcome.result) ? quantity(outcome.result['number']) : undefined
}
