import type { Hex } from '../../model/block.ts'
import type { WrittenBefore } from '../endpoint/wire.ts'
import type { JoinableRead } from '../reads.ts'
import { aggregateDigitsRememberedMax, aggregatesRememberedMax } from './limits.ts'
import { aggregateInput, multicall3Address } from './multicall.ts'

/** A list of reads as one call. */
export interface AggregateCall {
  readonly requests: readonly JoinableRead[]
  readonly input: Hex
  /** The call as JSON up to its block parameter. */
  readonly start: Pick<WrittenBefore, 'start' | 'startBytes'>
}

/**
 * Cache of the call data of lists of reads: an hour reads the same as the hour before. Lists and digits are bounded;
 * the least recently used are deleted.
 */
export class AggregateInputs {
  readonly #calls = new Map<string, AggregateCall>()
  #digits = 0

  /** The call of a list; the same object while it is cached. */
  of(requests: readonly JoinableRead[]): AggregateCall {
    const key = outlineOf(requests)
    const known = this.#calls.get(key)
    if (known && isSame(known.requests, requests)) {
      this.#calls.delete(key)
      this.#calls.set(key, known)
      return known
    }
    if (known) this.#forget(key, known)
    const input = aggregateInput(requests)
    const call = { requests: [...requests], input, start: startOf(input) }
    this.#calls.set(key, call)
    this.#digits += call.input.length
    this.#bound()
    return call
  }

  #bound(): void {
    for (const [key, call] of this.#calls) {
      if (this.#calls.size <= aggregatesRememberedMax && this.#digits <= aggregateDigitsRememberedMax) return
      this.#forget(key, call)
    }
  }

  #forget(key: string, { input }: AggregateCall): void {
    this.#calls.delete(key)
    this.#digits -= input.length
  }
}

function startOf(input: Hex): AggregateCall['start'] {
  const start = `{"method":"eth_call","params":[{"to":"${multicall3Address}","data":"${input}"},`
  return { start, startBytes: Buffer.from(start, 'latin1') }
}

/** Key to find a list by; the lists are then compared read by read. */
function outlineOf(requests: readonly JoinableRead[]): string {
  return [requests.length, ...[0, requests.length >> 1, requests.length - 1].map(at => textOf(requests[at]))].join()
}

function textOf(request: JoinableRead | undefined): string {
  return request?.kind === 'call' ? `${request.to}${request.input}` : `${request?.address}`
}

function isSame(one: readonly JoinableRead[], other: readonly JoinableRead[]): boolean {
  return one.length === other.length && one.every((request, index) => isSameRead(request, other[index]))
}

function isSameRead(one: JoinableRead, other: JoinableRead | undefined): boolean {
  if (one.kind === 'call') return other?.kind === 'call' && one.input === other.input && one.to === other.to
  return other?.kind === 'balance' && one.address === other.address
}
