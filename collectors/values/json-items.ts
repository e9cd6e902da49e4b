import { z } from 'tidegauge'
import { decimalNumber, type Fraction, fractionOf, scaled, total } from './fraction.ts'
import { decimalAt, jsonPointer, valueAt } from './json-answer.ts'
import type { PageItem } from './pages.ts'
import { similarWord } from './similar-word.ts'

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
const oneOf = z.union([scalar, z.array(scalar).min(1)])
const bounds = z
  .strictObject({ min: z.number().optional(), max: z.number().optional(), not: oneOf.optional() })
  .refine(({ min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }) => min <= max, {
    path: ['max'],
    error: 'must be at least min',
  })
const condition = z.union([oneOf, bounds], {
  error: 'must be a value, a list of values, or { min: 1, max: 5, not: 3 }',
})

/** A pointer to one place: `*` stands for items where a number is made of several, and in no condition. */
const placePointer = jsonPointer.refine(pointer => !isOfItems(pointer), {
  error: 'must be a pointer to one place, without *: it leads on from each item',
})

/** Options schema of conditions: what must stand at each pointer. */
export const conditions = z.record(placePointer, condition)

type Conditions = z.output<typeof conditions>

/** Options of a value that is made of the items of a list. */
export const itemOptions = {
  take: z
    .enum(['sum', 'mean', 'min', 'max', 'count'])
    .optional()
    .describe('of the numbers at a pointer with * in it, as /data/*/tvl; count is of the items'),
  where: conditions
    .optional()
    .describe('what must stand at each pointer from the item on: a value, a list of values, or { min, max, not }'),
}

type Take = NonNullable<z.output<(typeof itemOptions)['take']>>

/** How the texts of an answer are understood. */
export interface AnswerForm {
  readonly format?: 'csv' | undefined
  /** The names in the header of a CSV. */
  readonly columns?: ReadonlySet<string>
  readonly thousands?: string | undefined
  /** Why a list of so many items is probably cut off there; `undefined` where it is not. Default: no list is */
  readonly cutReason?: ((items: number) => string | undefined) | undefined
  /** Takes a sentence about an answer that is not as the options have it. */
  readonly warn?: (sentence: string) => void
}

/** A number out of an answer. */
interface ItemValue {
  readonly pointer?: string | undefined
  readonly take?: Take | undefined
  readonly where?: Conditions | undefined
}

/** The conditions that do not hold, by their pointers. */
export function unmet(json: unknown, all: Conditions): readonly string[] {
  return Object.entries(all).flatMap(([pointer, each]) => (holds(each, valueAt(json, pointer)) ? [] : [pointer]))
}

function holds(expectation: z.output<typeof condition>, value: unknown): boolean {
  if (typeof expectation !== 'object' || expectation === null || Array.isArray(expectation))
    return [expectation].flat().some(each => isEqual(each, value))
  const { min, max, not } = expectation
  if (not !== undefined && holds(not, value)) return false
  if (min === undefined && max === undefined) return true
  const number = numberIn(value)
  return (
    !!number &&
    !(min !== undefined && number.compare(fractionOf(min)) < 0) &&
    !(max !== undefined && number.compare(fractionOf(max)) > 0)
  )
}

/** In an answer, a number is a text. */
function isEqual(expectedScalar: z.output<typeof scalar>, value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return false
  const [one, other] = [numberIn(expectedScalar), numberIn(value)]
  return one && other ? one.equals(other) : value !== undefined && String(value) === String(expectedScalar)
}

function numberIn(part: unknown): Fraction | undefined {
  const isNumber = /^(string|number)$/.test(typeof part) && decimalNumber.test(String(part))
  return isNumber ? fractionOf(String(part)) : undefined
}

/** Whether a pointer leads to the items of a list. In a CSV it leads on from each row, unless it begins with a row's place. */
export function isOfItems(pointer = '', { format }: AnswerForm = {}): boolean {
  return /\/\*(\/|$)/.test(ofRows(pointer, format))
}

function ofRows(pointer: string, format: AnswerForm['format']): string {
  return format === 'csv' && !/^\/(\*|-1|\d+)(\/|$)/.test(pointer) ? `/*${pointer}` : pointer
}

/** The pointer of each item, up to the last `*`, and the rest. */
function partsOf(pointer: string, form: AnswerForm): readonly [items: string, rest: string] {
  return partsAtStar(ofRows(pointer, form.format))
}

/** A pointer up to its last `*`, and the rest; both are empty where there is none. */
export function partsAtStar(pointer: string): readonly [items: string, rest: string] {
  const parts = pointer.split('/')
  const star = parts.lastIndexOf('*')
  const items = parts.slice(0, star + 1).join('/')
  return [items, star < 0 ? '' : pointer.slice(items.length)]
}

/** Items that sources give at once, where nothing else is asked for. */
const usualLimits = [100, 1_000]

/** Words for the number of items that are asked for, in an address, a query or its variables. */
const limitWords = /\b(?:first|limit|per_?page|page_?size|size|top|rows)\W{1,4}(\d{1,6})\b/gi

/** Says of a number of items whether a source gives no more at once: as many as the request asks for, or a usual limit. */
export function limitIn(url: string, body: unknown): (items: number) => string | undefined {
  const asked = [...`${url} ${JSON.stringify(body) ?? ''}`.matchAll(limitWords)].map(([, count]) => Number(count))
  return items => {
    if (asked.includes(items)) return 'the request asks for'
    return usualLimits.includes(items) ? 'many sources give at once' : undefined
  }
}

/** The items of a page at a pointer with `*` in it. @throws Error when there is no list */
export function itemsAt(page: unknown, pointer: string, form: AnswerForm): readonly unknown[] {
  const [items] = partsOf(pointer, form)
  // Each * is of all before it.
  return items
    .split('/*')
    .slice(0, -1)
    .reduce<readonly unknown[]>(
      (all, path) =>
        all.flatMap(part => {
          const list = valueAt(part, path)
          if (typeof list !== 'object' || list === null) throw new Error(`there is no list at ${path || 'the root'}`)
          const listItems = Object.values(list)
          const reason = form.cutReason?.(listItems.length)
          if (reason !== undefined)
            form.warn?.(
              `${path || 'the root'} has exactly ${listItems.length} items, as many as ${reason}: ${cutAdvice}`,
            )
          return listItems
        }),
      [page],
    )
}

const cutAdvice =
  'if there are more, ask for more at once, or read them with pages, whose parameter stands in the address'

/** The pointer of the list that pages divide: the items of its first `*`. */
export function pagedList(pointer: string, { format }: AnswerForm): string {
  return /^(.*?)\/\*(?:\/|$)/.exec(ofRows(pointer, format))?.[1] ?? ''
}

/** The items of a page's list, in a map with their keys. @throws Error when there is no list */
export function pageItems(page: unknown, list: string): readonly PageItem[] {
  const found = valueAt(page, list)
  if (typeof found !== 'object' || found === null) throw new Error(`there is no list at ${list || 'the root'}`)
  return Array.isArray(found) ? [...found.entries()] : Object.entries(found)
}

/** A number, and of how many items it is; absent where it stands in the answer itself. */
interface NumberOfItems {
  readonly number: Fraction
  readonly items?: number
}

/** The exact number of a value. @param pages the answer, or its pages. @throws Error when there is none */
export function numberOf(pages: readonly unknown[], value: ItemValue, form: AnswerForm): NumberOfItems {
  const { pointer = '', take, where: itemConditions = {} } = value
  const exact = (part: unknown, path: string) => fractionOf(decimalAt(part, path, form.thousands))
  if (!isOfItems(pointer, form)) return { number: exact(pages[0], pointer) }
  const [, itemPointer] = partsOf(pointer, form)
  if (form.columns) checkColumns([itemPointer, ...Object.keys(itemConditions)], form.columns)
  const all = pages.flatMap(page => itemsAt(page, pointer, form))
  const items = all.filter(item => unmet(item, itemConditions).length === 0)
  if (items.length === 0 && all.length > 0) form.warn?.(noneMeets(all, itemConditions))
  if (take === 'count') return { number: scaled(BigInt(items.length), 0), items: items.length }
  const numbers = items.map(item => exact(item, itemPointer))
  return { number: taken(numbers, take), items: items.length }
}

/** A sentence about items of which none is meant: what they have at the first place that keeps all of them out. */
function noneMeets(items: readonly unknown[], where: Conditions): string {
  const sentence = `none of ${items.length} items meets where`
  const path = Object.keys(where).find(each => items.every(item => unmet(item, where).includes(each)))
  if (path === undefined) return `${sentence}: each misses another part of it`
  const values = new Set(items.map(item => shown(valueAt(item, path))))
  const more = values.size > valuesMax ? ', …' : ''
  return `${sentence}: at ${path} there is ${[...values].slice(0, valuesMax).join(', ')}${more}`
}

/** Different values of items that are named. */
const valuesMax = 3

function shown(found: unknown): string {
  if (found === undefined) return 'nothing'
  return String(JSON.stringify(found)).slice(0, 40)
}

/** @throws Error for a mean, `min` or `max` of none, and for several where one is wanted */
function taken(numbers: readonly Fraction[], take: Take | undefined): Fraction {
  const [first, ...otherNumbers] = numbers
  if (take === 'sum') return total(numbers)
  if (!first) throw new Error('there is no item that is meant')
  if (take === 'mean') return total(numbers).div(numbers.length)
  if (take === undefined && otherNumbers.length > 0)
    throw new Error(`there are ${numbers.length} items that are meant: take says what of all, or where leaves one`)
  return otherNumbers.reduce((one, other) => (other.compare(one) < 0 === (take === 'min') ? other : one), first)
}

/** Columns of a CSV that are listed. */
const listedMax = 12

/**
 * Pointers that lead on from a row begin with a column: without it no row would be meant, and the sum of none is 0.
 *
 * @throws Error where one does not
 */
function checkColumns(pointers: readonly string[], columns: ReadonlySet<string>): void {
  if (columns.size === 0) throw new Error('the CSV is empty: it has no header')
  const named = pointers.flatMap(each => /^\/([^/]*)/.exec(each)?.slice(1) ?? [])
  const missingColumn = named.map(unescaped).find(name => !columns.has(name))
  if (missingColumn === undefined) return
  const names = [...columns]
  const [only = ''] = names
  const other = names.length === 1 ? /[;\t|]/.exec(only)?.[0] : undefined
  if (other)
    throw new Error(`the fields of the CSV stand between ${JSON.stringify(other)}, and in a CSV between commas`)
  const suggestion = similarWord(missingColumn, names)
  const hint =
    suggestion === undefined
      ? `it has ${names.slice(0, listedMax).join(', ').slice(0, 200)}`
      : `did you mean ${suggestion}?`
  throw new Error(`the CSV has no column "${missingColumn}": ${hint}`)
}

const unescaped = (token: string) => token.replaceAll('~1', '/').replaceAll('~0', '~')

/** The rows of a CSV as maps by its header. @throws Error for what is no CSV */
export function rowsOfCsv(text: string): {
  readonly columns: readonly string[]
  readonly rows: readonly Readonly<Record<string, string>>[]
} {
  const [columns = [], ...lines] = linesOfCsv(text)
  if (new Set(columns).size < columns.length) throw new Error('two columns of the CSV have one name')
  const rows = lines.map((row, place) => {
    if (row.length !== columns.length)
      throw new Error(`row ${place + 1} of the CSV has ${row.length} fields, and the header ${columns.length}`)
    return Object.fromEntries(columns.map((name, column) => [name, row[column] ?? '']))
  })
  return { columns, rows }
}

/** A field: in quotes, which are written twice in it, or plain. */
const csvField = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/y

function linesOfCsv(text: string): string[][] {
  const lines: string[][] = [[]]
  csvField.lastIndex = 0
  while (csvField.lastIndex < text.length) {
    const [, field = '', end] = csvField.exec(text) ?? []
    if (end === undefined)
      throw new Error(`line ${lines.length} of the CSV has a quote that is not closed, or is not doubled`)
    lines.at(-1)?.push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field.trim())
    if (end !== ',' && csvField.lastIndex < text.length) lines.push([])
    else if (end === ',' && csvField.lastIndex === text.length) lines.at(-1)?.push('')
  }
  return lines.filter(line => line.length > 1 || line[0] !== '')
}
