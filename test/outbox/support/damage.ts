import { readFileSync, writeFileSync } from 'node:fs'
import type { Dice } from '../../../src/devchain/dice.ts'
import type { Contents } from './contents.ts'

const pageBytes = 4_096

/** Ways in which one page goes bad: never written, garbage, half written, another page's, a bit or many that flipped. */
export const damages = ['zeros', 'garbage', 'half', 'misplaced', 'bit', 'bits'] as const

/** Damages one page of a file. @returns which, from 1 */
export function damagePage(file: string, kind: (typeof damages)[number], rolls: Dice): number {
  const bytes = readFileSync(file)
  const pages = bytes.length / pageBytes
  const page = rolls.whole(1, pages)
  const at = (page - 1) * pageBytes
  const flip = () => {
    const place = at + rolls.whole(0, pageBytes - 1)
    // Not the schema's version: a file of a newer one is refused, and left alone.
    if (place < 60 || place > 63) bytes[place] = (bytes[place] ?? 0) ^ (1 << rolls.whole(0, 7))
  }
  if (kind === 'zeros') bytes.fill(0, at, at + pageBytes)
  if (kind === 'half') bytes.fill(0, at + pageBytes / 2, at + pageBytes)
  if (kind === 'garbage') for (let place = at; place < at + pageBytes; place += 1) bytes[place] = rolls.whole(0, 255)
  if (kind === 'misplaced') {
    const other = (rolls.whole(1, pages) - 1) * pageBytes
    bytes.copy(bytes, at, other, other + pageBytes)
  }
  if (kind === 'bit') flip()
  if (kind === 'bits') for (let count = 0; count < 20; count += 1) flip()
  writeFileSync(file, bytes)
  return page
}

/**
 * Effects that a salvage may not have: lose a metric whose hour is not due again, change a value or a state, invent a metric or an
 * hour, take an hour for collected that was due, or lose one. An hour with nothing stored that was the first may go.
 */
export function betrayals(before: Contents, after: Contents): string[] {
  const found: string[] = []
  const isListed = (hour: number, collector: string) => after.hours.get(`${hour} ${collector}`)?.state !== 1
  for (const [key, row] of before.rows) {
    const now = after.rows.get(key)
    const listed = isListed(row.hour, row.collector)
    if (now && now.value !== row.value) found.push(`value ${key}: ${row.value} became ${now.value}`)
    // A delivered metric may be due: it is sent again, which only updates.
    const isDueAgain = row.state === 1 && now?.state === 0
    if (now && now.state !== row.state && !isDueAgain && !listed)
      found.push(`state ${key}: ${row.state} became ${now.state}`)
    if (!now && !listed) found.push(`lost ${key}`)
  }
  for (const key of after.rows.keys()) if (!before.rows.has(key)) found.push(`invented ${key}`)
  const first = Math.min(...[...before.hours.values()].map(({ hour }) => hour))
  for (const [key, { hour, state }] of before.hours) {
    const now = after.hours.get(key)
    if (!now && hour > first) found.push(`hour lost ${key}`)
    if (now?.state === 1 && state === 0) found.push(`hour taken for collected ${key}`)
  }
  for (const key of after.hours.keys()) if (!before.hours.has(key)) found.push(`hour invented ${key}`)
  return found
}
