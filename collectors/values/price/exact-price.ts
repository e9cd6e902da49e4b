import { type Price, z } from 'tidegauge'
import { Fraction, nearestNumber } from '../fraction.ts'

/** A configured price by its name, exactly. Rejects with a Fault when there is none for the hour. */
export async function exactPrice(price: Price, name: string): Promise<Fraction> {
  const { numerator, denominator } = await price.exact(name)
  return new Fraction(numerator, denominator)
}

/** The price of a token by its address, exactly. Rejects with a Fault when there is none for the hour. */
export async function exactTokenPrice(price: Price, chain: string, token: `0x${string}`): Promise<Fraction> {
  const { numerator, denominator } = await price.ofToken(chain, token)
  return new Fraction(numerator, denominator)
}

/** Option of an amount: `token` is the price of its token, any other text the name of a price. */
export const priceOption = z.string().optional().describe('token, for the price of the token, or the name of a price')

/** The mistake of an amount in smallest units that is multiplied by the price of a whole token. */
export const unscaledPrice =
  'is of whole tokens, and this is a number of smallest units: add decimals: 18, or as many as the token has; 0 where things are counted'

/** An amount of a token in US dollars; the amount itself where no price is asked for. All is asked in one turn. */
export async function priced(
  price: Price,
  priceName: string | undefined,
  amount: Promise<Fraction>,
  { chain, token }: { readonly chain: string; readonly token: `0x${string}` | Promise<`0x${string}`> },
): Promise<Fraction> {
  const own = async () =>
    priceName === 'token' ? exactTokenPrice(price, chain, await token) : exactPrice(price, priceName ?? '')
  const [whole, each] = await Promise.all([amount, priceName === undefined ? undefined : own()])
  return each ? whole.mul(each) : whole
}

/** Whether it says nothing of a price: a source that could not be asked may have one. */
export function isUnread(error: unknown): boolean {
  const { code, permanence } = error as { readonly code?: unknown; readonly permanence?: unknown }
  return permanence === 'transient' && code !== 'price-missing'
}

/** Characters of an exact price: the mean of a pool in another price has some hundreds. */
const exactCharsMax = 4_000

/** @throws Error when it is no price: zero, negative, or more than a double can hold */
export function requirePrice(price: Fraction): Fraction {
  const nearest = nearestNumber(price)
  if (!(nearest > 0) || nearest === Number.POSITIVE_INFINITY) throw new Error(`it is ${nearest}, which is no price`)
  if (`${price.n}/${price.d}`.length > exactCharsMax) throw new Error('it has more digits than any price')
  return price
}

/** A price in the form that the daemon takes. */
export function priceFound(exact: Fraction) {
  return { exact: `${exact.n}/${exact.d}`, nearest: nearestNumber(exact) }
}
