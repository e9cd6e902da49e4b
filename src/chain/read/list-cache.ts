import { partOf, type ReadRequest, targetOf } from '../reads.ts'
import { listDigitsRememberedMax, listsRememberedMax } from './limits.ts'

/** Result for a list of reads, to be cached. */
interface ListResult<Request> {
  /** The list, which must not change. */
  readonly requests: readonly Request[]
  /** Its size in memory, in hexadecimal digits. */
  readonly digits: number
}

/**
 * Cache of results for lists of reads: an hour reads the same as the hour before. To compare two lists takes a
 * tenth of the time of checking, numbering and encoding their reads. Lists and digits are bounded; the least recently
 * used are deleted.
 */
export class ListCache<Request extends ReadRequest, Result extends ListResult<Request>> {
  readonly #resultOf: (requests: readonly Request[]) => Result
  readonly #results = new Map<string, Result>()
  /** The result that was asked for last: hours that are read together have the same list. */
  #last: Result | undefined
  #digits = 0

  constructor(resultOf: (requests: readonly Request[]) => Result) {
    this.#resultOf = resultOf
  }

  /** The result for a list; the same object while it is cached. */
  of(requests: readonly Request[]): Result {
    if (!this.#last || !isSame(this.#last.requests, requests)) this.#last = this.#found(requests)
    return this.#last
  }

  #found(requests: readonly Request[]): Result {
    const key = outlineOf(requests)
    const known = this.#results.get(key)
    if (known && isSame(known.requests, requests)) {
      this.#results.delete(key)
      this.#results.set(key, known)
      return known
    }
    if (known) this.#forget(key, known)
    const result = this.#resultOf(requests)
    this.#results.set(key, result)
    this.#digits += result.digits
    this.#bound()
    return result
  }

  #bound(): void {
    for (const [key, result] of this.#results) {
      if (this.#results.size <= listsRememberedMax && this.#digits <= listDigitsRememberedMax) return
      this.#forget(key, result)
    }
  }

  #forget(key: string, { digits }: Result): void {
    this.#results.delete(key)
    this.#digits -= digits
  }
}

/** Key to find a list by; the lists are then compared read by read. */
function outlineOf(requests: readonly ReadRequest[]): string {
  return [requests.length, ...[0, requests.length >> 1, requests.length - 1].map(at => textOf(requests[at]))].join()
}

function textOf(request: ReadRequest | undefined): string {
  return request ? `${targetOf(request)}${partOf(request)}` : ''
}

function isSame(one: readonly ReadRequest[], other: readonly ReadRequest[]): boolean {
  if (one === other) return true
  return one.length === other.length && one.every((request, index) => isSameRead(request, other[index]))
}

function isSameRead(one: ReadRequest, other: ReadRequest | undefined): boolean {
  return other?.kind === one.kind && partOf(one) === partOf(other) && targetOf(one) === targetOf(other)
}
