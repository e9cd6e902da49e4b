import type { Hex } from './reads.ts'
import type { RpcError } from './wire.ts'
import { isRecord } from './wire.ts'

/** `reverted`: the chain's answer. `limit`: the node's bounds on one call; less at once may pass. `node`: its failure. */
export type ErrorMeaning =
  | { readonly kind: 'reverted'; readonly output: Hex }
  | { readonly kind: 'limit' }
  | { readonly kind: 'node' }

const rate = /\brate\b|too many requests|quota|credits|per second|\b429\b/i
const limit =
  /out ?of ?gas|gas.{0,20}(limit|cap|allowance|required|too low|exceed)|exceeds?.{0,20}gas|too (large|big|long|many|wide)|(size|length|results|range).{0,30}(exceed|limit|max)|(exceed|larger|more than|limited to|maximum).{0,40}(size|length|bytes|results|blocks|range)|tim(e|ed)[ -]?out/i
const halted =
  /revert|invalid ?(fe)? ?opcode|opcode.{0,40}not defined|bad instruction|invalid ?jump|stack ?(under|over)flow|VM (execution error|Exception)|static ?(call|state)|write protection|out ?of ?offset/i

/**
 * What an error answer to `eth_call` or `eth_getLogs` means. Nodes agree on code 3 with the revert data (geth, reth,
 * erigon, anvil); older ones say it in words, Nethermind and Parity as `Reverted 0x…`.
 */
export function meaningOf({ code, message, data }: RpcError): ErrorMeaning {
  if (code === 3) return { kind: 'reverted', output: revertData(data) }
  if (rate.test(message) || code === 429) return { kind: 'node' }
  if (limit.test(message)) return { kind: 'limit' }
  return halted.test(message) ? { kind: 'reverted', output: revertData(data) } : { kind: 'node' }
}

function revertData(data: unknown): Hex {
  const text = isRecord(data) ? data['data'] : data
  const hex = typeof text === 'string' ? /^(?:Reverted )?(0x(?:[0-9a-fA-F]{2})*)$/.exec(text)?.[1] : undefined
  return hex === undefined ? '0x' : `0x${hex.slice(2)}`
}
