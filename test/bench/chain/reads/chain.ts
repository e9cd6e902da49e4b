import { hourAt } from '../../../../src/model/hour.ts'

/** The chain of the benchmark: a block every 12 s, the first at a full hour. Each contract answers by a formula. */
export const genesisSeconds = 1_700_002_800
export const blockSeconds = 12
export const head = 100_000

export const firstHourSeconds = genesisSeconds + 3_600
export const hourOf = (index: number) => hourAt((firstHourSeconds + 3_600 * index) * 1_000)
/** The last block at or before the hour. */
export const blockAt = (index: number) => ((index + 1) * 3_600) / blockSeconds

export function timestampOf(number: number): number {
  return genesisSeconds + blockSeconds * number
}

export function hashOf(number: number): `0x${string}` {
  return `0xb${number.toString(16).padStart(63, '0')}`
}

/** Result of the read at a place of a list. */
export function valueAt(index: number): bigint {
  return BigInt(index + 1) * 1_000_000_007n ** 4n
}

export function word(value: bigint | number): string {
  return value.toString(16).padStart(64, '0')
}
