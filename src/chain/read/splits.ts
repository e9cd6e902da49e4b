import { createHash } from 'node:crypto'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { ReadRequest } from '../reads.ts'
import { splitListsMax, splitUsesMax } from './limits.ts'
import { keyOf } from './reads-apart.ts'

/**
 * Remembers which lists of reads were too much for an endpoint, so that the next hour starts with their halves. Now and
 * then the whole is tried again, as a busy node may have recovered.
 */
export class Splits {
  readonly #usesLeft = new WeakMap<Endpoint, Map<string, number>>()

  /** Whether to start with the halves. Counts as a use. */
  take(requests: readonly ReadRequest[], endpoint: Endpoint): boolean {
    const ofEndpoint = this.#usesLeft.get(endpoint)
    const key = ofEndpoint && listKeyOf(requests)
    const left = (key !== undefined && ofEndpoint?.get(key)) || 0
    if (key !== undefined && left > 0) ofEndpoint?.set(key, left - 1)
    return left > 0
  }

  /** Records that a list was too much as a whole. */
  remember(requests: readonly ReadRequest[], endpoint: Endpoint): void {
    const ofEndpoint = this.#usesLeft.get(endpoint) ?? new Map<string, number>()
    if (ofEndpoint.size >= splitListsMax) ofEndpoint.clear()
    this.#usesLeft.set(endpoint, ofEndpoint.set(listKeyOf(requests), splitUsesMax))
  }
}

function listKeyOf(requests: readonly ReadRequest[]): string {
  const hash = createHash('sha256')
  for (const request of requests) hash.update(`${keyOf(request)} `)
  return hash.digest('base64')
}
