import type { Hex } from '../../model/block.ts'
import type { WrittenBefore } from '../endpoint/wire.ts'
import type { JoinableRead } from '../reads.ts'
import { aggregateInput } from './multicall.ts'

/** A list of reads as one call. */
export interface AggregateCall {
  readonly requests: readonly JoinableRead[]
  readonly input: Hex
  /** Length of the call data. */
  readonly digits: number
  /** The call as JSON up to its block parameter. */
  readonly start: Pick<WrittenBefore, 'start' | 'startBytes'>
}

/** Writes a list of reads as one call. @param multicall address of Multicall3 */
export function aggregateCall(requests: readonly JoinableRead[], multicall: Hex): AggregateCall {
  const input = aggregateInput(requests, multicall)
  const start = `{"method":"eth_call","params":[{"to":"${multicall}","data":"${input}"},`
  return { requests, input, digits: input.length, start: { start, startBytes: Buffer.from(start, 'latin1') } }
}
