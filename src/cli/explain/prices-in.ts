import type { Recording } from '../../testing/recording.ts'

type RecordedPrice = Recording['prices'][string]

/** Prices of a value, and prices that these needed, with all that each was read from as far as it could be read again. */
export function pricesIn(
  reads: Recording,
  readOf: Readonly<Record<string, Recording>>,
): (readonly [name: string, price: RecordedPrice, own: Recording | undefined])[] {
  const prices = Object.assign({}, ...Object.values(readOf).map(own => own.prices), reads.prices) as Recording['prices']
  return Object.entries(prices).map(([name, price]) => [name, price, readOf[name]] as const)
}
