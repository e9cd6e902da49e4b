import { keccak_256 } from '@noble/hashes/sha3.js'
import { isRecord } from '../model/json.ts'
import type { ConfigDocument } from './document.ts'
import { type PlacedMistake, pathText } from './mistakes.ts'

/**
 * Finds addresses with capital letters that do not fit them (EIP-55): one digit is wrong. A node answers for any address, so
 * that a mistyped one has no balance, no role and no events, without a word.
 */
export function mistypedAddresses({ rawValue, placeOf }: ConfigDocument): PlacedMistake[] {
  const visit = (part: unknown, path: readonly PropertyKey[]): PlacedMistake[] => {
    if (typeof part === 'string') return isMistyped(part) ? [mistake(part, path, 'value')] : []
    if (Array.isArray(part)) return part.flatMap((each, place) => visit(each, [...path, place]))
    if (!isRecord(part)) return []
    return Object.entries(part).flatMap(([key, each]) => [
      ...(isMistyped(key) ? [mistake(key, [...path, key], 'key')] : []),
      ...visit(each, [...path, key]),
    ])
  }
  const mistake = (address: string, path: readonly PropertyKey[], side: 'key' | 'value'): PlacedMistake => ({
    place: placeOf(path, side),
    message: `${pathText(path)}: the address ${address} is mistyped: its capital letters do not fit it`,
    fix: 'copy it again; if you know that it is right, write it in small letters',
  })
  return visit(rawValue, [])
}

/** Whether a text is an address in mixed case with another checksum than its own. */
function isMistyped(text: string): boolean {
  const [digits] = /(?<=^0x)[0-9a-f]{40}$/i.exec(text) ?? []
  if (digits === undefined) return false
  const small = digits.toLowerCase()
  if (digits === small || digits === digits.toUpperCase()) return false
  const hash = Buffer.from(keccak_256(Buffer.from(small))).toString('hex')
  return [...small].some(
    (digit, place) =>
      (Number.parseInt(hash.charAt(place), 16) >= 8 ? digit.toUpperCase() : digit) !== digits.charAt(place),
  )
}
