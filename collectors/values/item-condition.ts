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
  return { values: isMap ? [] : listed(condition), exceptions: listed(not), min, max, strayKey: Object.keys(others)[0] }
}

/** The condition of a value, a list of values, or `{ min, max, not }`, which has no mistakes. */
export function itemCondition(written: unknown): ItemCondition {
  const { values, exceptions, min, max } = partsOf(written)
  if ([...values, ...exceptions].some(isAddressText)) {
    const [allowlist, blocklist] = [values, exceptions].map(all => all.map(each => String(each).toLowerCase()))
    return {
      kind: 'address',
      holds(address) {
        const text = address.toLowerCase()
        return (values.length === 0 || allowlist?.includes(text) === true) && blocklist?.includes(text) !== true
      },
    }
  }
  const numberOf = (value: unknown) => fractionOf(value as string | number)
  return {
    kind: 'number',
    holds: number =>
      (values.length === 0 || values.some(each => numberOf(each).equals(number))) &&
      !exceptions.some(each => numberOf(each).equals(number)) &&
      (min === undefined || number.compare(numberOf(min)) >= 0) &&
      (max === undefined || number.compare(numberOf(max)) <= 0),
  }
}

/** Mistakes in conditions, offline. @param kindOf what a label is; `undefined` where it is neither */
export function whereMistakes(
  conditions: Readonly<Record<string, unknown>>,
  kindOf: (label: string) => ItemCondition['kind'] | undefined,
): { readonly path: string[]; readonly message: string }[] {
  return Object.entries(conditions).flatMap(([label, condition]) => {
    const tell = (message: string) => [{ path: [label], message }]
    const kind = kindOf(label)
    if (!kind) return tell('is no label of an address or a number of one item')
    const { values, exceptions, min, max, strayKey } = partsOf(condition)
    const bounds = [min, max].filter(each => each !== undefined)
    if (strayKey !== undefined || values.length + exceptions.length + bounds.length === 0)
      return tell('must be of a value, a list of values, or { min: 1, max: 5, not: 3 }')
    if (kind === 'address' && (bounds.length > 0 || ![...values, ...exceptions].every(isAddressText)))
      return tell('must be an address in quotes (0x and 40 hexadecimal digits), a list of these, or { not: … }')
    if (kind === 'number' && ![...values, ...exceptions, ...bounds].every(isNumberText)) return tell('must be numbers')
    return []
  })
}
