/**
 * A quotient of natural numbers as JavaScript's own parser rounds its decimals: more than enough of them that what is cut
 * off decides nothing.
 */
export function exactly(over: bigint, under: bigint): number {
  const places = 400
  return Number(`${(over * 10n ** BigInt(places)) / under}e-${places}`)
}
