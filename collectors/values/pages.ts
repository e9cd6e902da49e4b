import { z } from 'tidegauge'
import { jsonPointer, valueAt } from './json-answer.ts'

/** Options schema of an answer in several parts. */
export const pagesOption = z
  .strictObject({
    next: jsonPointer
      .optional()
      .describe('where an answer has the address of the next page, or what parameter is then'),
    parameter: z.string().min(1).optional().describe('of the address: the number of a page, or what next leads to'),
    from: z.int().min(0).optional().describe('parameter of the first page: 1; of an offset 0'),
    step: z.int().min(1).optional().describe('what parameter rises by: 1; of an offset the items of a page'),
    id: jsonPointer
      .optional()
      .describe('what tells items apart, from the item on; the whole item, where nothing is written'),
    max: z.int().min(1).max(1_000).default(50).describe('pages that there may be; more fail'),
  })
  .describe('an answer in several parts, up to an empty page or one without a next')

/** Pages as they are written. */
export type Pages = z.output<typeof pagesOption>

/** Whether a parameter counts items, as far as its name says that. */
const offsetName = /offset|skip|start/i

/** Mistakes in what is written of pages, offline; each path begins below `pages`. */
export function pagesMistakes({ next, parameter, from, step }: Pages): { path: string[]; message: string }[] {
  if (next === undefined && parameter === undefined)
    return [{ path: [], message: 'must be { next: /next }, or { parameter: page, from: 1, max: 50 }' }]
  const stray = next === undefined ? undefined : from !== undefined ? 'from' : step !== undefined ? 'step' : undefined
  if (stray !== undefined)
    return [{ path: [stray], message: 'belongs to a parameter that counts: next says the next page' }]
  if (next !== undefined || step !== undefined || !offsetName.test(parameter ?? '')) return []
  const message = `must be how many items a page has: ${parameter} rises by that`
  return [{ path: ['step'], message }]
}

/** An item of a page: the key that it has in a map, or its place in a list, and what stands there. */
export type PageItem = readonly [key: string | number, item: unknown]

/** Means to read pages. */
export interface PageReader {
  /** The answer of an address. */
  read(address: string): Promise<unknown>
  /** The items of each list that a page has. @throws Error where there is none */
  listsOf(page: unknown): readonly (readonly PageItem[])[]
  /** Takes a sentence for the log. */
  warn(sentence: string): void
}

/**
 * The pages of an answer: up to an empty one, one without a next, or one whose items an earlier page has had.
 *
 * @param first address of the first page; messages name its host alone, since a key may stand in it
 * @throws Error for more pages than there may be, one that leads back, and an item that is on two of them: the source
 *   changed while it was read, or its pages overlap
 */
export async function readPages(first: string, pages: Pages, reader: PageReader): Promise<readonly unknown[]> {
  const { next, parameter, step = 1, max } = pages
  const { from = step > 1 || offsetName.test(parameter ?? '') ? 0 : 1 } = pages
  const { host } = new URL(first)
  const pagesRead: unknown[] = []
  const items = new SeenItems(pages.id, host)
  let address: string | undefined = next === undefined ? withParameter(first, parameter, String(from)) : first
  const addresses = new Set([address])
  while (address !== undefined) {
    const page = await reader.read(address)
    const lists = reader.listsOf(page)
    if (lists.every(list => list.length === 0)) return pagesRead.length > 0 ? pagesRead : [page]
    const earlierPage = items.pageLike(lists)
    if (earlierPage !== undefined) {
      reader.warn(
        `page ${pagesRead.length + 1} is page ${earlierPage} again, and counts as the end: does the source know ${parameter ?? next}?`,
      )
      return pagesRead
    }
    items.warnOfGap(step, parameter, reader)
    if (pagesRead.length === max) throw new Error(`${host} has more than ${max} pages: write a larger max`)
    items.add(lists)
    pagesRead.push(page)
    address = addressAfter(page, from + pagesRead.length * step, first, pages)
    if (address !== undefined && addresses.has(address))
      throw new Error(
        `page ${pagesRead.length} of ${host} leads back to one that was read: compare next with the answer`,
      )
    if (address !== undefined) addresses.add(address)
  }
  return pagesRead
}

/** The address of the next page; `undefined` after the last. @param count the parameter, where no answer says it */
function addressAfter(page: unknown, count: number, first: string, { next, parameter }: Pages): string | undefined {
  const stated = next === undefined ? String(count) : valueAt(page, next)
  if (stated === undefined || stated === null || stated === '' || stated === false) return undefined
  return parameter === undefined ? nextAddress(String(stated), first) : withParameter(first, parameter, String(stated))
}

/** The items of all pages so far: each may be on one of them. */
class SeenItems {
  readonly #id: string | undefined
  readonly #host: string
  readonly #pages: string[] = []
  /** The page on which an item is, by its list and what tells it apart. */
  readonly #pageOf = new Map<string, number>()
  /** Items of the longest list of the last page. */
  #longest = 0

  constructor(id: string | undefined, host: string) {
    this.#id = id
    this.#host = host
  }

  /** Number of the earlier page that has the same items; `undefined` where none has. */
  pageLike(lists: readonly (readonly PageItem[])[]): number | undefined {
    const place = this.#pages.indexOf(sameText(lists))
    return place < 0 ? undefined : place + 1
  }

  /** @throws Error when an item is on an earlier page, or has nothing that tells it apart */
  add(lists: readonly (readonly PageItem[])[]): void {
    const page = this.#pages.push(sameText(lists))
    this.#longest = Math.max(...lists.map(list => list.length))
    for (const [number, list] of lists.entries()) {
      for (const item of list) {
        const name = this.#nameOf(item)
        const earlierPage = this.#pageOf.get(`${number} ${name}`) ?? page
        if (earlierPage < page) throw new Error(this.#twice(item, earlierPage, page))
        this.#pageOf.set(`${number} ${name}`, page)
      }
    }
  }

  /** Warns where the page before has fewer items than an offset rises by: those between are on no page. */
  warnOfGap(step: number, parameter: string | undefined, { warn }: Pick<PageReader, 'warn'>): void {
    const page = this.#pages.length
    if (step === 1 || page === 0 || this.#longest >= step) return
    warn(
      `page ${page} has ${this.#longest} items, and ${parameter} rises by ${step}: what is between is not read; write as step how many items a page has`,
    )
  }

  #nameOf([key, item]: PageItem): string {
    if (this.#id === undefined) return typeof key === 'string' ? key : sameText(item)
    const name = valueAt(item, this.#id)
    if (name === undefined || name === null)
      throw new Error(`an item of ${this.#host} has nothing at ${this.#id}, which id asks for`)
    return sameText(name)
  }

  #twice(item: PageItem, earlierPage: number, page: number): string {
    const name = this.#nameOf(item)
    const shortName = name.length > shownCharsMax ? `${name.slice(0, shownCharsMax)}…` : name
    // Where all of an item is equal, so is each part of it; items that a map has under the same key may differ.
    const isByKey = this.#id === undefined && typeof item[0] === 'string'
    const hint = isByKey
      ? 'write the step of an offset, or with id: what tells items apart'
      : 'write the step of an offset'
    return `${this.#host} has the item ${shortName} on page ${earlierPage} and on page ${page}: it changed while it was read, or its pages overlap (${hint})`
  }
}

/** Characters of an item that are shown. */
const shownCharsMax = 80

/** The same text for equal JSON, whatever the order of its names. */
function sameText(json: unknown): string {
  return JSON.stringify(json, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

/** @throws Error for what is no address, or one of another host: headers may hold a key */
function nextAddress(address: string, first: string): string {
  const { host, origin } = new URL(first)
  if (!/^(https?:|[/?])/i.test(address) || !URL.canParse(address, first))
    throw new Error(`the next page of ${host} is no address: write with next the parameter in which it is sent`)
  const next = new URL(address, first)
  if (next.origin !== origin) throw new Error(`the next page of ${host} is of another host`)
  return next.href
}

/** An address with a parameter of that value, in place of the same one. */
function withParameter(address: string, name = '', value: string): string {
  const [whole = '', query = ''] = address.replace(/#.*/, '').split(/\?(.*)/s)
  const others = query.split('&').filter(each => each !== '' && each.split('=')[0] !== encodeURIComponent(name))
  return `${whole}?${[...others, `${encodeURIComponent(name)}=${encodeURIComponent(value)}`].join('&')}`
}
