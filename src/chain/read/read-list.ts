import { partOf, type ReadRequest, targetOf } from '../reads.ts'
import { isAskable } from '../shapes.ts'

/** A list of reads as a caller asks for it. */
export interface ReadList {
  readonly requests: readonly ReadRequest[]
  /** Each different read once. */
  readonly distinct: readonly ReadRequest[]
  /** The index in `distinct` of each read. */
  readonly places: readonly number[]
  /** The first read that must not be sent to a node; absent when all may be. */
  readonly odd: ReadRequest | undefined
}

/** Checks and numbers the reads of a list. */
export function readList(asked: readonly ReadRequest[]): ReadList {
  const requests = [...asked]
  const reads = new DistinctReads()
  return {
    requests,
    places: requests.map(request => reads.placeOf(request)),
    distinct: reads.all,
    odd: requests.find(request => !isAskable(request)),
  }
}

/** The reads of some lists, each different one once. */
export interface MergedLists {
  /** Those of the first lists first: they keep their index when a further list is merged. */
  readonly requests: readonly ReadRequest[]
  /** The index in `requests` of each read of a list. */
  readonly placesOf: ReadonlyMap<ReadList, readonly number[]>
}

/** Merges lists. */
export function mergedLists(lists: ReadonlySet<ReadList>): MergedLists {
  const [first, ...others] = lists
  if (first && others.length === 0) return { requests: first.distinct, placesOf: new Map([[first, first.places]]) }
  const reads = new DistinctReads()
  const placesOf = [...lists].map(list => [list, list.requests.map(request => reads.placeOf(request))] as const)
  return { requests: reads.all, placesOf: new Map(placesOf) }
}

class DistinctReads {
  readonly all: ReadRequest[] = []
  /** By address and part. Not by one text of both: building it takes longer than the look-up. */
  readonly #places = new Map<string, Map<string, number>>()

  /** The index of a read; an identical one shares it. */
  placeOf(request: ReadRequest): number {
    const [address, part] = [targetOf(request), partOf(request)]
    const ofAddress = this.#places.get(address) ?? new Map<string, number>()
    this.#places.set(address, ofAddress)
    const place = ofAddress.get(part) ?? this.all.push(request) - 1
    ofAddress.set(part, place)
    return place
  }
}
