import { type Price, z } from 'tidegauge'
import { circlesIn } from './circles.ts'
import { decimalNumber, type Fraction, fractionOf } from './fraction.ts'
import { isLasting } from './lasting.ts'
import { exactPrice } from './price/exact-price.ts'
import { similarWord } from './similar-word.ts'

const priceOperand = z.strictObject({ price: z.string({ error: 'must be the name of a price' }) })
const operand = z.union([z.string(), z.number(), priceOperand], {
  error: 'must be a label of these values, a number, or a price like { price: ETH }',
})
const operandsOption = z
  .array(operand)
  .min(2, { error: 'must be a list of two or more: labels of these values, numbers, or prices like { price: ETH }' })

/** The formulas over other values: one of them makes a value. */
export const formulas = {
  sum: operandsOption.optional().describe('labels, numbers and { price: NAME } that are added up'),
  product: operandsOption.optional().describe('labels, numbers and { price: NAME } that are multiplied'),
  difference: operandsOption.optional().describe('the first less all others'),
  ratio: z
    .tuple([operand, operand], { error: 'must be a list of two: what is divided, and by what' })
    .optional()
    .describe('the first divided by the second'),
  first: operandsOption.optional().describe('the first of several that has a value'),
}

type Operand = z.output<typeof operand>
type Kind = keyof typeof formulas
export type WrittenFormula = { readonly [K in Kind]?: readonly Operand[] | undefined }

const formulaKinds = Object.keys(formulas) as readonly Kind[]

/** An operation over other values. */
export interface Formula {
  readonly kind: Kind
  /** Labels, numbers and prices. */
  readonly operands: readonly Operand[]
}

/** The formula of a value; `undefined` for a value without one. */
export function formulaOf(value: WrittenFormula): Formula | undefined {
  const kind = formulaKinds.find(each => value[each] !== undefined)
  return kind && { kind, operands: value[kind] ?? [] }
}

/** The labels that a value needs. */
export function neededBy(value: WrittenFormula): readonly string[] {
  return formulaOf(value)?.operands.filter(each => typeof each === 'string') ?? []
}

/** A mistake in a value; `path` leads to it from there. */
interface FormulaMistake {
  readonly path: readonly string[]
  readonly message: string
}

/**
 * Mistakes of a value that is either read or a formula, offline.
 *
 * @param ownKind the option that says what is read
 * @param values all values by label, this one included
 * @param others further options that make a value. Default: none
 */
export function formulaMistakes<R extends string>(
  value: WrittenFormula & { readonly [K in R]?: unknown },
  ownKind: R,
  values: Readonly<Record<string, unknown>>,
  others: readonly string[] = [],
): readonly FormulaMistake[] {
  const kinds = [ownKind, ...formulaKinds, ...others]
  const kindsGiven = kinds.filter(kind => Reflect.get(value, kind) !== undefined)
  const kindsText = kindsGiven.length === 0 ? 'nothing of it' : kindsGiven.join(' and ')
  const unknown = neededBy(value).filter(label => !Object.hasOwn(values, label) && !decimalNumber.test(label))
  return [
    ...(kindsGiven.length === 1
      ? []
      : [{ path: [], message: `must have one of ${kinds.join(', ')}, and has ${kindsText}` }]),
    ...unknown.map(label => ({ path: [formulaOf(value)?.kind ?? ''], message: unknownLabel(label, value, values) })),
    ...zeroDivisorMistakes(value),
    ...unitMistakes(value, values),
  ]
}

/** The mistake of a ratio by a written 0, which never has a value. */
export function zeroDivisorMistakes({ ratio }: WrittenFormula): readonly FormulaMistake[] {
  const divisor = ratio?.[1]
  const isZero = (typeof divisor === 'number' || decimalNumber.test(String(divisor))) && Number(divisor) === 0
  return isZero ? [{ path: ['ratio'], message: 'must not be by 0' }] : []
}

/** Mistakes of a sum, a difference or a `first` of values that say different units. */
function unitMistakes(value: WrittenFormula, values: Readonly<Record<string, unknown>>): readonly FormulaMistake[] {
  const kind = formulaOf(value)?.kind
  if (kind !== 'sum' && kind !== 'difference' && kind !== 'first') return []
  const [first, ...otherParts] = neededBy(value).flatMap(label => {
    const unit: unknown = Reflect.get(Object(values[label]), 'unit')
    return typeof unit === 'string' ? [{ label, unit }] : []
  })
  const differing = otherParts.find(({ unit }) => unit !== first?.unit)
  if (!first || !differing) return []
  const units = `${differing.label} is in ${differing.unit}, and ${first.label} in ${first.unit}`
  return [{ path: [kind], message: `${units}: convert one of them by a product with a price or a rate before` }]
}

/** The mistake of a value that names an unknown label. */
export function unknownLabel(label: string, value: unknown, values: Readonly<Record<string, unknown>>): string {
  const others = Object.keys(values).filter(each => values[each] !== value)
  return `there is no value "${label}": ${insteadOf(label, others)}`
}

function insteadOf(label: string, labels: readonly string[]): string {
  const near = similarWord(label, labels)
  if (near !== undefined) return `did you mean ${near}?`
  const own = labels.length === 0 ? 'add it to these values' : `add it, or name one of ${labels.join(', ')}`
  return `${own}; values of other collectors are for use: derived`
}

/**
 * Values that need themselves.
 *
 * @param neededOf the labels that a value needs, among other texts. Default: those of its formula
 */
export function circleMistakes<V extends WrittenFormula>(
  values: Readonly<Record<string, V>>,
  neededOf: (value: V) => readonly string[] = neededBy,
): readonly FormulaMistake[] {
  const circles = circlesIn(Object.keys(values), label =>
    Object.hasOwn(values, label) ? neededOf(values[label] as V) : [],
  )
  return circles.map(circle => ({
    path: [circle[0] ?? ''],
    message: `needs itself: ${[...circle, circle[0]].join(' → ')}`,
  }))
}

/**
 * The exact values by their labels. All are begun at once, each label's once; one that fails fails what needs it.
 *
 * @param readValue the exact value of one that is not a formula
 * @param price the prices that formulas may name
 * @param isOfNone whether a value that was read is of no items: then what needs it fails. Default: none is
 */
export function exactValues<V extends WrittenFormula>(
  values: Readonly<Record<string, V>>,
  readValue: (value: V) => Promise<Fraction>,
  price: Price,
  isOfNone: (value: V) => boolean = () => false,
): (label: string) => Promise<Fraction> {
  const byLabel = new Map<string, Promise<Fraction>>()
  const exact = (label: string): Promise<Fraction> => {
    const found = byLabel.get(label)
    if (found) return found
    const value = values[label]
    // A number in quotes, where it is too long to be written without.
    if (!value) return Promise.resolve(fractionOf(label))
    const formula = formulaOf(value)
    const amount = formula ? evaluated(formula, needed, price) : readValue(value)
    byLabel.set(label, amount)
    // A private value that nothing needs may fail.
    amount.catch(() => {})
    return amount
  }
  const needed = async (label: string): Promise<Fraction> => {
    const number = await exact(label)
    const value = values[label]
    if (value && isOfNone(value)) throw new Error(`${label} has no items: where that is 0, write none: 0 at it`)
    return number
  }
  for (const label of Object.keys(values)) exact(label)
  return exact
}

/**
 * The exact value of a formula.
 *
 * @param exactOf the exact value of a label; rejects when it has none
 * @throws Error when a ratio is by zero
 */
async function evaluated(
  { kind, operands }: Formula,
  exactOf: (label: string) => Promise<Fraction>,
  price: Price,
): Promise<Fraction> {
  const exact = (each: Operand) => {
    if (typeof each === 'string') return exactOf(each)
    return typeof each === 'number' ? fractionOf(each) : exactPrice(price, each.price)
  }
  if (kind === 'first') return firstOf(operands.map(each => async () => exact(each)))
  const parts = await Promise.all(operands.map(exact))
  const [first = fractionOf(0), ...divisors] = parts
  if (kind === 'ratio' && divisors.some(({ n }) => n === 0n))
    throw new Error(`the ratio is by ${String(operands[1])}, which is 0`)
  return divisors.reduce((total, each) => operations[kind](total, each), first)
}

/** The first that has a value. @throws a failure that may pass: what comes later stands only where nothing comes before */
async function firstOf(parts: readonly (() => Promise<Fraction>)[]): Promise<Fraction> {
  let failure: unknown
  for (const part of parts) {
    try {
      return await part()
    } catch (error) {
      if (!isLasting(error)) throw error
      failure ??= error
    }
  }
  throw failure
}

const operations: Readonly<Record<Exclude<Kind, 'first'>, (a: Fraction, b: Fraction) => Fraction>> = {
  sum: (a, b) => a.add(b),
  product: (a, b) => a.mul(b),
  difference: (a, b) => a.sub(b),
  ratio: (a, b) => a.div(b),
}
