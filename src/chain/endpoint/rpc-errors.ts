import type { Hex } from '../../model/block.ts'
import { isRecord } from '../../model/json.ts'
import type { RpcError } from './wire.ts'

/**
 * `reverted`: the chain's answer. `limit`: a bound of the node on one call, less at once may pass. `node`: a failure of
 * the node.
 */
export type ErrorMeaning =
  | { readonly kind: 'reverted'; readonly output: Hex }
  | { readonly kind: 'limit' }
  | { readonly kind: 'node' }

const rate =
  /\brate\b.{0,20}(limit|exceed)|(limit|exceed|request).{0,20}\brate\b|ratelimit|too many (\w+ )?(requests?|connections)\b|quota|credits|capacity.{0,20}(limit|exceed|reached)|(limit|exceed|reached).{0,40}capacity|(per|\/) ?(second|minute|hour|day|month)|requests? (count|limit) (exceed|reached)|throttl|\b429\b/i
const pruned =
  /trie ?node|prun(ed|ing)|historical|archive|\bstate\b.{0,60}(unavailable|not (available|found)|discarded|missing)|no state/i
const unknownBlock = /(header|block).{0,30}not found|unknown block|could not find block|no such block/i
const limit =
  /out ?of ?gas|gas.{0,20}(limit|cap|allowance|required|too low|exceed)|exceeds?.{0,20}gas|too (large|big|long|many|wide)|(size|length|results|range).{0,30}(exceed|limit|max)|(exceed|larger|more than|limited to|maximum).{0,40}(size|length|bytes|results|blocks|range)|tim(e|ed)[ -]?out/i
const halted =
  /invalid ?(fe)? ?(opcode|code)|opcode.{0,40}not ?(defined|found)|(bad|invalid) ?instruction|(invalid|bad) ?jump|stack ?(under|over)flow|stack limit reached|VM (execution error|Exception)|static ?(call|state)|InsideStatic|write protection|out ?of ?(offset|bounds)|gas uint64 overflow|InvalidOperand|NotActivated|precompile ?(error|failure)|access ?violation|(call|create) ?(too ?deep|collision)|CreateContract|CreateInitCode|max(imum)? (code|initcode) size/i

/**
 * Meaning of an error answer to `eth_call`. Nodes agree on code 3 with the revert data (geth, reth, erigon, anvil);
 * older ones use words, Nethermind and Parity `Reverted 0x…`. The words after `revert` are the contract's, whatever
 * they say.
 */
export function meaningOf({ code, message, data }: RpcError): ErrorMeaning {
  if (isRevert({ code, message })) return { kind: 'reverted', output: revertData(data) }
  if (isRateError({ code, message })) return { kind: 'node' }
  if (limit.test(message) && !/out ?of ?bounds/i.test(message)) return { kind: 'limit' }
  return halted.test(message) ? { kind: 'reverted', output: revertData(data) } : { kind: 'node' }
}

/** Whether an error names a revert: the chain's answer to that call, and never a limit. Lotus names the lack of one. */
export function isRevert({ code, message }: RpcError): boolean {
  return code === 3 || /revert(?! reason=\[none)/i.test(message)
}

/** Codes that gateways use only for the rate. -32005 is also used for a limit on results; its message tells which. */
const rateCodes: ReadonlySet<number> = new Set([429, -32029, -32097])

/** Whether the node was asked too often: the same call may pass later. */
export function isRateError({ code, message }: RpcError): boolean {
  if (isRevert({ code, message })) return false
  if (rateCodes.has(code)) return true
  return rate.test(message) || (code === -32005 && !limit.test(message))
}

/** Words that can only mean a limit on calls per time. */
const plainlyRate = /\brate\b.{0,20}limit|ratelimit|too many requests?\b|requests? (per|rate)|per second|throttl/i
const ofRange = /block|range|result|response|\blogs?\b/i

/**
 * As `isRateError`, for an error to `eth_getLogs`. Words about a limit may mean the range there (-32005 is used for
 * both), and the range is then split. Only an error that is plainly about the rate slows other calls down.
 */
export function isLogRateError({ code, message }: RpcError): boolean {
  if (rateCodes.has(code) || plainlyRate.test(message)) return true
  return rate.test(message) && !ofRange.test(message)
}

/** Wait that a refusal for the rate asks for in its data, in seconds (Infura and others). */
export function backoffSecondsOf({ data }: RpcError): number | undefined {
  const part = isRecord(data) && isRecord(data['rate']) ? data['rate'] : data
  const seconds = isRecord(part) ? part['backoff_seconds'] : undefined
  return typeof seconds === 'number' && seconds >= 0 ? seconds : undefined
}

/**
 * Likely kind of an error that is neither the chain's answer nor about the rate. It chooses the sentence; whether state
 * is missing is found by asking.
 */
export function failureKindOf({ message }: RpcError): 'pruned' | 'unknown-block' | 'refused' {
  if (pruned.test(message)) return 'pruned'
  return unknownBlock.test(message) ? 'unknown-block' : 'refused'
}

function revertData(data: unknown): Hex {
  const text = isRecord(data) ? data['data'] : data
  const hex = typeof text === 'string' ? /^(?:Reverted )?(0x(?:[0-9a-fA-F]{2})*)$/.exec(text)?.[1] : undefined
  return hex === undefined ? '0x' : `0x${hex.slice(2)}`
}
