import { decimalNumber, type Fraction, fractionOf } from './fraction.ts'

/** A condition of a value of an item. */
type ItemCondition =
  | { readonly kind: 'address'; holds(address: string): boolean }
  | { readonly kind: 'number'; holds(number: Fraction): boolean }

const isAddressText = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)

const isNumberText = (value: unknown): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && decimalNumber.test(value))

/** Parts of what is written: values of which one must be met, those that must not, and bounds. */
function partsOf(condition: unknown) {
  const isMap = typeof condition === 'object' && condition !== null && !Array.isArray(condition)
  const { min, max, not, ...others } = (isMap ? condition : {}) as Readonly<Record<string, unknown>>
  const listed = (value: unknown) => (value === undefined ? [] : [value].flat())
  return { any: isMap ? [] : listed(condition), not: listed(not), min, max, stray: Object.keys(others)[0] }
}

/** The condition of a value, a list of values, or `{ min, max, not }`, which has no mistakes. */
export function itemCondition(written: unknown): ItemCondition {
  const { any, not, min, max } = partsOf(written)
  if ([...any, ...not].some(isAddressText)) {
    const [allowlist, blocklist] = [any, not].map(all => all.map(each => String(each).toLowerCase()))
    return {
      kind: 'address',
      holds(address) {
        const text = address.toLowerCase()
        return (any.length === 0 || allowlist?.includes(text) === true) && blocklist?.includes(text) !== true
      },
    }
  }
  const numberOf = (value: unknown) => fractionOf(value as string | number)
  return {
    kind: 'number',
    holds: number =>
      (any.length === 0 || any.some(each => numberOf(each).equals(number))) &&
      !not.some(each => numberOf(each).equals(number)) &&
      (min === undefined || number.compare(numberOf(min)) >= 0) &&
      (max === undefined || number.compare(numberOf(max)) <= 0),
  }
}

/** Mistakes in conditions, offline. @param kindOf what a label is; `undefined` where it is neither */
export function whereMistakes(
  where: Readonly<Record<string, unknown>>,
  kindOf: (label: string) => ItemCondition['kind'] | undefined,
): { readonly path: string[]; readonly message: string }[] {
  return Object.entries(where).flatMap(([label, condition]) => {
    const tell = (message: string) => [{ path: [label], message }]
    const kind = kindOf(label)
    if (!kind) return tell('is no label of an address or a number of one item')
    const { any, not, min, max, stray } = partsOf(condition)
    const bounds = [min, max].filter(each => each !== undefined)
    if (stray !== undefined || any.length + not.length + bounds.length === 0)
      return tell('must be of a value, a list of values, or { min: 1, max: 5, not: 3 }')
    if (kind === 'address' && (bounds.length > 0 || ![...any, ...not].every(isAddressText)))
      return tell('must be an address in quotes (0x and 40 hexadecimal digits), a list of these, or { not: … }')
    if (kind === 'number' && ![...any, ...not, ...bounds].every(isNumberText)) return tell('must be numbers')
    return []
  })
}
