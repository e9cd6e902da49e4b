import type { Endpoint } from '../endpoint/endpoint.ts'
import { partOf, type ReadRequest, targetOf } from '../reads.ts'
import { apartReadsMax, splitUsesMax } from './limits.ts'

/**
 * Way to send a read that made others fail when sent with them. `singly`: as a call of its own. `late`: after the
 * others, because the endpoint is slow at it.
 */
export type ApartWay = 'singly' | 'late'

interface Apart {
  readonly way: ApartWay
  usesLeft: number
}

/**
 * Remembers which reads of which endpoint are sent apart from the others. It only saves time. Now and then they are
 * sent with the others again, as a busy node may have recovered.
 */
export class ReadsApart {
  readonly #apart = new WeakMap<Endpoint, Map<string, Apart>>()

  /** Way to send a read; undefined when it is sent with the others. Counts as a use. */
  wayOf(endpoint: Endpoint, request: ReadRequest): ApartWay | undefined {
    const apart = this.#apart.get(endpoint)
    const known = apart?.get(keyOf(request))
    if (known && --known.usesLeft <= 0) apart?.delete(keyOf(request))
    return known?.way
  }

  /** Whether all reads of an endpoint are sent together. */
  isEmpty(endpoint: Endpoint): boolean {
    return (this.#apart.get(endpoint)?.size ?? 0) === 0
  }

  /** Sets how a read is sent from now on. */
  set(endpoint: Endpoint, request: ReadRequest, way: ApartWay): void {
    const apart = this.#apart.get(endpoint) ?? new Map<string, Apart>()
    if (apart.size >= apartReadsMax) apart.clear()
    this.#apart.set(endpoint, apart.set(keyOf(request), { way, usesLeft: splitUsesMax }))
  }

  /** Sends a read with the others again. */
  delete(endpoint: Endpoint, request: ReadRequest): void {
    this.#apart.get(endpoint)?.delete(keyOf(request))
  }
}

/** A text that is equal for equal reads. */
export function keyOf(request: ReadRequest): string {
  return `${targetOf(request)}${partOf(request)}`
}
