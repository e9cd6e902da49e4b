import type { Endpoint } from '../endpoint/endpoint.ts'
import { apartReadsMax, splitUsesMax } from '../limits.ts'
import type { ReadRequest } from '../reads.ts'

/**
 * How a read is made that failed others with it when they were asked together. `singly`: as a call of its own. `late`:
 * after the others, as it takes the endpoint too long.
 */
export type ApartWay = 'singly' | 'late'

interface Apart {
  readonly way: ApartWay
  usesLeft: number
}

/**
 * Which reads of which endpoint are made apart from the others, as found out. It only spares time. Now and then they are
 * tried with the others again: a node that was busy need not stay so.
 */
export class ReadsApart {
  readonly #apart = new WeakMap<Endpoint, Map<string, Apart>>()

  /** Undefined for a read that travels with the others; counts as a use. */
  wayOf(endpoint: Endpoint, request: ReadRequest): ApartWay | undefined {
    const apart = this.#apart.get(endpoint)
    const known = apart?.get(keyOf(request))
    if (known && --known.usesLeft <= 0) apart?.delete(keyOf(request))
    return known?.way
  }

  /** Whether all reads of an endpoint travel together. */
  isEmpty(endpoint: Endpoint): boolean {
    return (this.#apart.get(endpoint)?.size ?? 0) === 0
  }

  /** How the read is made from now on. */
  set(endpoint: Endpoint, request: ReadRequest, way: ApartWay): void {
    const apart = this.#apart.get(endpoint) ?? new Map<string, Apart>()
    if (apart.size >= apartReadsMax) apart.clear()
    this.#apart.set(endpoint, apart.set(keyOf(request), { way, usesLeft: splitUsesMax }))
  }

  /** It travels with the others again. */
  delete(endpoint: Endpoint, request: ReadRequest): void {
    this.#apart.get(endpoint)?.delete(keyOf(request))
  }
}

function keyOf(request: ReadRequest): string {
  return request.kind === 'call' ? `${request.to}${request.input}` : request.address
}
