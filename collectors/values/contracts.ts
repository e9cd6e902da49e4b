import { address, type CollectContext, z } from 'tidegauge'
import { eachOption } from './items.ts'

/** Addresses, each once. */
export const addresses = z
  .array(address)
  .min(1)
  .superRefine((list, context) => {
    for (const place of repeated(list))
      context.addIssue({ code: 'custom', path: [place], message: 'is there already: remove one of the two' })
  })

/** Places of texts that stand earlier in a list, too; upper and lower case are the same address. */
export function repeated(texts: readonly string[]): number[] {
  const lower = texts.map(text => text.toLowerCase())
  return lower.flatMap((text, place) => (lower.indexOf(text) < place ? [place] : []))
}

/** One contract, several whose values are added up, or those of a list. Parses to several, or to the name of the list. */
export const contracts = z
  .union([address, addresses, eachOption], {
    error: 'must be an address in quotes (0x and 40 hexadecimal digits), or a list of these',
  })
  .transform(given => (typeof given === 'string' ? [given] : given))

/** Addresses that are written, or the name of a list that has them. */
export const addressesOrEach = z.union([addresses, eachOption], {
  error: 'must be a list of addresses in quotes (0x and 40 hexadecimal digits), or { each: NAME }',
})

/** Contracts of an option, which may have the name of a list in their place. */
export type WrittenAddresses = z.output<typeof addressesOrEach>

/** The addresses as of the hour. Rejects with a Fault when their list cannot be read. */
export async function addressesNow(
  list: CollectContext<unknown>['list'],
  written: WrittenAddresses,
): Promise<readonly `0x${string}`[]> {
  return 'each' in written ? list(written.each) : written
}

/**
 * Whether a read failed because the contract has no such function, as far as a chain tells that: it reverted without a
 * reason, or returned nothing.
 */
export function lacksFunction(error: unknown): boolean {
  return error instanceof Error && /^\w+ (reverted: it gave no reason$|returned nothing)/.test(error.message)
}
