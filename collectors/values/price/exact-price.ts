import type { Price } from 'tidegauge'
import { Fraction } from '../fraction.ts'

/** A configured price by its name, exactly. Rejects with a Fault when there is none for the hour. */
export async function exactPrice(price: Price, name: string): Promise<Fraction> {
  const { numerator, denominator } = await price.exact(name)
  return new Fraction(numerator, denominator)
}
