import { getAddress } from 'viem'
import type { Hex } from '../../model/block.ts'
import { shortened } from '../../model/text.ts'
import { note } from '../terminal.ts'
import type { Answered } from './answers.ts'
import type { SeenContract } from './look-at-contract.ts'

/** Characters of an answer that are shown. */
const charsMax = 90

/** Reports on stderr what a contract is and what it answered, so that a person sees whether it is plausible. */
export function noteAnswers(chain: string, address: Hex, kinds: readonly string[], seen: SeenContract): void {
  note(`${address} on ${chain}: ${kinds.join(', ') || 'of no known kind'}`)
  const { implementation, beacon } = seen.basics
  const via = beacon ? `, by the beacon ${getAddress(beacon)}` : ''
  const target = implementation ? getAddress(implementation) : 'an unknown implementation'
  if (implementation ?? beacon) note(`  a proxy (EIP-1967) of ${target}${via}`)
  note('what it answered at the last block, raw:')
  for (const one of unique(seen.answered)) note(`  ${callText(one)} = ${valueText(one.value)}`)
}

function unique(answered: readonly Answered[]): Answered[] {
  return [...new Map(answered.map(one => [`${one.input} ${valueText(one.value)}`, one])).values()]
}

function callText({ abi, args }: Answered): string {
  return `${abi.name}(${args.map(String).join(', ')})`
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ?? ''
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
  const shown = typeof value === 'bigint' ? String(value) : plain
  return shortened(shown, charsMax)
}
