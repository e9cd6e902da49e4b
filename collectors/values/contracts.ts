import { address, z } from 'tidegauge'

/** Addresses, each once. */
export const addresses = z
  .array(address)
  .min(1)
  .superRefine((list, context) => {
    for (const place of repeated(list))
      context.addIssue({ code: 'custom', path: [place], message: 'is written twice, and would count twice' })
  })

/** Places of texts that stand earlier in a list, too; upper and lower case are the same address. */
export function repeated(texts: readonly string[]): number[] {
  const lower = texts.map(text => text.toLowerCase())
  return lower.flatMap((text, place) => (lower.indexOf(text) < place ? [place] : []))
}

/** One contract, or a list of contracts whose values are added up. Parses to a list. */
export const contracts = z
  .union([address, addresses], {
    error: 'must be an address in quotes (0x and 40 hexadecimal digits), or a list of these',
  })
  .transform(given => (typeof given === 'string' ? [given] : given))

/**
 * Whether a read failed because the contract has no such function, as far as a chain tells that: it reverted without a
 * reason, or returned nothing.
 */
export function lacksFunction(error: unknown): boolean {
  return error instanceof Error && /^\w+ (reverted: it gave no reason$|returned nothing)/.test(error.message)
}
