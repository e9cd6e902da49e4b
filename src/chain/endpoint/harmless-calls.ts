import type { Hex } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import type { SendCalls } from './batched-calls.ts'
import { certifiedAnswer, certifiedCode } from './certified-code.ts'
import { EndpointFailure, type FailureKind } from './endpoint-failure.ts'
import { meaningOf } from './rpc-errors.ts'
import type { RpcCall, RpcOutcome } from './wire.ts'

/** Calls that no contract can fail: they tell what a node has from what it fails at. */

/** Part of a block that a node may keep of some blocks and not of others. */
export type BlockPart = 'state' | 'logs' | 'header'

/** Address of Multicall3 on nearly all chains; the sender of the call, which hardly any node refuses. */
const sender: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** An address without code: it answers wherever there is state. */
export const nowhere: Hex = `0x${'0'.repeat(40)}`
const noTopic: Hex = `0x${'f'.repeat(64)}`

/** The call for the chain's last block. */
export const headCall: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** A call that needs the state of a block and nothing else. @param at the block parameter */
export function stateCall(at: unknown): RpcCall {
  return { method: 'eth_call', params: [{ from: sender, to: nowhere, data: '0x00000000' }, at] }
}

/** Whether the state of a block answered: a revert is an answer of it, too. */
export function isServed(outcome: RpcOutcome | undefined): boolean {
  if (!outcome || outcome instanceof EndpointFailure) return false
  if (outcome.kind === 'error') return meaningOf(outcome.error).kind === 'reverted'
  return outcome.result !== null && outcome.result !== undefined
}

/** The call that needs a part of a block and nothing else. */
export function partCall(part: BlockPart, at: Hex | 'latest'): RpcCall {
  if (part === 'state') return stateCall(at)
  if (part === 'header') return { method: 'eth_getBlockByNumber', params: [at, false] }
  return { method: 'eth_getLogs', params: [{ address: nowhere, topics: [noTopic], fromBlock: at, toBlock: at }] }
}

/** Failures that say nothing about the block. */
const passingKinds: ReadonlySet<FailureKind> = new Set(['unreachable', 'rate', 'slow', 'wrong-id'])

/**
 * Whether an endpoint lacks a part of a block that it has of its last block: one harmless call fails there and is
 * answered here, in one turn, twice. So neither a call that no node can answer, nor a node that fails at everything,
 * nor one of several behind a balancer is taken for missing state.
 */
export async function lacksPart(
  tryCall: SendCalls,
  part: BlockPart,
  number: bigint,
  signal: AbortSignal,
): Promise<boolean> {
  const calls = [headCall, partCall(part, `0x${number.toString(16)}`), partCall(part, 'latest')]
  for (let round = 0; round < 2; round += 1) {
    const [head, there, last] = await tryCall(calls, signal)
    if (!there || isPassing(there) || isServed(there) || !isServed(last) || !isBlock(head)) return false
  }
  return true
}

function isPassing(outcome: RpcOutcome): boolean {
  return outcome instanceof EndpointFailure && passingKinds.has(outcome.kind)
}

/** Code that never reverts and never answers nothing, where it is run: at an address, or as creation code. */
const code = certifiedCode({ kind: 'balance', address: nowhere })

function codeCalls(at: Hex | 'latest'): readonly RpcCall[] {
  return [
    { method: 'eth_call', params: [{ to: nowhere, data: '0x' }, at, { [nowhere]: { code } }] },
    { method: 'eth_call', params: [{ from: sender, data: code }, at] },
  ]
}

/**
 * Whether an endpoint answers calls at a block without running them, with nothing or as reverts, though it runs those at
 * its last block: found as missing state is.
 */
export async function runsNothing(tryCall: SendCalls, number: bigint, signal: AbortSignal): Promise<boolean> {
  const calls = [...codeCalls(`0x${number.toString(16)}`), ...codeCalls('latest')]
  for (let round = 0; round < 2; round += 1) {
    const outcomes = await tryCall(calls, signal)
    const [there, last] = [outcomes.slice(0, 2), outcomes.slice(2)]
    if (outcomes.some(isPassing) || there.some(isRun) || !last.some(isRun)) return false
  }
  return true
}

function isRun(outcome: RpcOutcome): boolean {
  return 'result' in outcome && certifiedAnswer(outcome.result) !== undefined
}

function isBlock(outcome: RpcOutcome | undefined): boolean {
  return (
    isServed(outcome) &&
    outcome !== undefined &&
    'kind' in outcome &&
    outcome.kind === 'result' &&
    isRecord(outcome.result)
  )
}
