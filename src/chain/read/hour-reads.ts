import { setImmediate } from 'node:timers/promises'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { EndpointPool, RefusedWork, Served } from '../endpoint/endpoint-pool.ts'
import { allFailed, EndpointFailure } from '../endpoint/failures.ts'
import { type CandidateBlock, SharedWork } from '../look-up/look-ups.ts'
import type { ReadAnswer, ReadAt, ReadRequest } from '../reads.ts'
import type { BlockHeader } from '../shapes.ts'
import type { ReadTarget } from './certificate.ts'
import { readAt, readLate } from './read.ts'
import { keyOf, type ReadMemory } from './read-memory.ts'
import { isAnswer, type ReadOutcome } from './single-reads.ts'

/** Dependencies of `readOnAny`. */
interface ReadsOnAnyDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  readonly pool: EndpointPool
  readonly memory: ReadMemory
  readonly hour: Served
  readonly block: BlockHeader
}

/** Result of reads on any endpoint. */
interface AnyRead {
  /** In the order of the requests: answers, or failures for which other endpoints are still asked. */
  readonly outcomes: readonly ReadOutcome[]
  /**
   * Resolves to an answer or a Fault for each failed read; callers without such a read need not wait. Absent when none
   * failed.
   */
  readonly lateWork?: SharedWork<ReadonlyMap<ReadRequest, ReadOutcome>>
}

/**
 * Executes reads on any endpoint that can. A read that one endpoint cannot answer, or not in time, is sent to the
 * others, and fails alone if none can.
 *
 * @throws Fault when no endpoint can read anything
 */
export async function readOnAny(
  deps: ReadsOnAnyDeps,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
): Promise<AnyRead> {
  const { endpoint, outcomes } = await deps.pool.serve(deps.hour, signal, readOn(deps, requests, signal))
  if (!outcomes.some(outcome => outcome instanceof EndpointFailure)) return { outcomes }
  const rest = new Rest(deps, failuresOf(requests, outcomes))
  return { outcomes, lateWork: new SharedWork(late => rest.read(endpoint, late)) }
}

function readOn({ block, memory }: ReadsOnAnyDeps, requests: readonly ReadRequest[], signal: AbortSignal) {
  return async (endpoint: Endpoint) => ({
    endpoint,
    outcomes: await readAt(endpoint, block, requests, signal, memory),
  })
}

function failuresOf(
  requests: readonly ReadRequest[],
  outcomes: readonly ReadOutcome[],
): Map<ReadRequest, EndpointFailure> {
  const failures = requests.flatMap((request, index) => {
    const outcome = outcomes[index]
    return outcome instanceof EndpointFailure ? [[request, outcome] as const] : []
  })
  return new Map(failures)
}

/** Reads that an endpoint failed at while it answered others. */
class Rest {
  readonly #deps: ReadsOnAnyDeps
  readonly #outcomes = new Map<ReadRequest, ReadOutcome>()
  /** Failures of each unanswered read. */
  readonly #failures = new Map<ReadRequest, EndpointFailure[]>()
  #last: ReadonlyMap<ReadRequest, EndpointFailure>

  constructor(deps: ReadsOnAnyDeps, failed: ReadonlyMap<ReadRequest, EndpointFailure>) {
    this.#deps = deps
    this.#last = failed
  }

  /** @param first the endpoint that failed at them */
  async read(first: Endpoint, signal: AbortSignal): Promise<ReadonlyMap<ReadRequest, ReadOutcome>> {
    const refusedWork: RefusedWork[] = []
    for (let endpoint = first; ; ) {
      await this.#readSlow(endpoint, signal)
      for (const [request, failure] of this.#last) this.#failuresOf(request).push(failure)
      const [failure] = this.#last.values()
      if (!failure) return this.#outcomes
      refusedWork.push({ endpoint, failure })
      const next = await this.#readOnOthers(refusedWork, signal)
      if (!next) return this.#outcomes
      endpoint = next
    }
  }

  #failuresOf(request: ReadRequest): EndpointFailure[] {
    const failures = this.#failures.get(request) ?? []
    this.#failures.set(request, failures)
    return failures
  }

  /** Repeats reads the endpoint was too slow for, as no other read waits for them now. */
  async #readSlow(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    const slowRequests = [...this.#last].filter(([, { kind }]) => kind === 'slow').map(([request]) => request)
    if (slowRequests.length === 0) return
    const otherFailures = [...this.#last].filter(([, { kind }]) => kind !== 'slow')
    try {
      const { block, memory } = this.#deps
      const outcomes = await readLate(endpoint, block, slowRequests, signal, memory)
      this.#last = new Map([...otherFailures, ...this.#keep(slowRequests, outcomes)])
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof EndpointFailure)) throw error
      this.#last = new Map([...otherFailures, ...slowRequests.map(request => [request, error] as const)])
    }
  }

  /** @returns the next endpoint that could read something; undefined when there is none */
  async #readOnOthers(refusedWork: readonly RefusedWork[], signal: AbortSignal): Promise<Endpoint | undefined> {
    const { name, pool, hour } = this.#deps
    const requests = [...this.#last.keys()]
    const work = readOn(this.#deps, requests, signal)
    // The hour stays with the endpoint that answered most of it.
    const answer = await pool.serveOnOthers({ ...hour }, signal, work, refusedWork)
    if ('endpoint' in answer) {
      this.#last = this.#keep(requests, answer.outcomes)
      return answer.endpoint
    }
    for (const request of requests) {
      this.#outcomes.set(request, allFailed(name, [...this.#failuresOf(request), ...answer]))
    }
    return undefined
  }

  /** @returns the reads that failed */
  #keep(requests: readonly ReadRequest[], outcomes: readonly ReadOutcome[]): Map<ReadRequest, EndpointFailure> {
    requests.forEach((request, index) => {
      const outcome = outcomes[index]
      if (isAnswer(outcome)) this.#outcomes.set(request, outcome)
    })
    return failuresOf(requests, outcomes)
  }
}

/** Answers kept of one hour, and hex characters of one: decimals and addresses, which later questions ask for again. */
const answersKeptMax = 1_000
const answerCharsKeptMax = 66

/** Answers to reads of one hour, for later questions of its runs. */
export class HourAnswers {
  readonly #answers = new Map<string, ReadAnswer>()

  /** The answer to a read at a block; undefined where it has not been read there. */
  of(request: ReadRequest, { hash }: BlockHeader): ReadAnswer | undefined {
    return this.#answers.get(`${hash} ${keyOf(request)}`)
  }

  add(request: ReadRequest, { hash }: BlockHeader, outcome: ReadOutcome | undefined): void {
    if (!isAnswer(outcome) || outcome.kind !== 'returned' || outcome.output.length > answerCharsKeptMax) return
    if (this.#answers.size < answersKeptMax) this.#answers.set(`${hash} ${keyOf(request)}`, outcome)
  }
}

/** Dependencies of `HourReads`. */
interface HourReadsDeps {
  asOf(signal: AbortSignal): Promise<BlockHeader>
  /** Executes reads at the as-of block, on any endpoint that can. */
  read(block: BlockHeader, requests: readonly ReadRequest[], signal: AbortSignal): Promise<AnyRead>
  /** Answers of the hour so far. */
  readonly knownAnswers: HourAnswers
  /** Called when no more reads can join, with the fault when the look-up failed. */
  closed(failure?: unknown): void
}

/** A read at a candidate block, sent together with the request that proves the block. */
interface Trial {
  readonly block: CandidateBlock
  readonly header: PromiseWithResolvers<BlockHeader>
  /** `undefined` when it failed: the reads are then repeated. */
  readonly outcomes: Promise<readonly ReadOutcome[] | undefined>
}

/** Executes reads at a block on one endpoint. */
type TryAt = (
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
) => Promise<readonly ReadOutcome[]>

/**
 * Collects the reads of one hour to send them together, each distinct one once: all that are requested until the as-of
 * block is known and the event loop has turned.
 */
export class HourReads {
  readonly #deps: HourReadsDeps
  /** Each different read once. */
  readonly #requests: ReadRequest[] = []
  readonly #places = new Map<string, number>()
  readonly work: SharedWork<ReadAt<AnyRead>>
  #trial: Trial | undefined
  #signal: AbortSignal | undefined

  constructor(deps: HourReadsDeps) {
    this.#deps = deps
    this.work = new SharedWork(async signal => {
      this.#signal = signal
      try {
        return await this.#travel(signal)
      } catch (error) {
        deps.closed(error)
        throw error
      }
    })
  }

  /** Adds reads. @returns the place of each among those of the hour */
  add(requests: readonly ReadRequest[]): readonly number[] {
    return requests.map(request => {
      const key = keyOf(request)
      const place = this.#places.get(key) ?? this.#requests.push(request) - 1
      this.#places.set(key, place)
      return place
    })
  }

  /** Outcomes of the reads at some places; later when one of them failed, as other endpoints are then asked for it. */
  async outcomesOf(
    places: readonly number[],
    { outcomes, lateWork }: AnyRead,
    signal: AbortSignal,
  ): Promise<readonly (ReadOutcome | undefined)[]> {
    const outcomesOfRead = places.map(place => outcomes[place])
    if (!lateWork || outcomesOfRead.every(isAnswer)) return outcomesOfRead
    const lateOutcomes = await lateWork.join(signal)
    return places.map((place, index) => {
      const request = this.#requests[place]
      return (request && lateOutcomes.get(request)) ?? outcomesOfRead[index]
    })
  }

  /** Executes the reads so far at a candidate block. The outcome counts only if the block is proven. */
  tryAt(block: CandidateBlock, tryAt: TryAt): void {
    if (this.#trial || this.#requests.length === 0 || !this.#signal || this.#signal.aborted) return
    const header = Promise.withResolvers<BlockHeader>()
    const timestampSeconds = header.promise.then(proven => proven.timestampSeconds)
    const parentHash = header.promise.then(proven => proven.parentHash)
    for (const promise of [timestampSeconds, parentHash]) promise.catch(() => {})
    const target = { number: block.number, hash: block.hash, timestampSeconds, parentHash }
    const outcomes = tryAt(target, [...this.#requests], this.#signal).catch(() => undefined)
    this.#trial = { block, header, outcomes }
  }

  async #travel(signal: AbortSignal): Promise<ReadAt<AnyRead>> {
    const asOfBlock = await this.#deps.asOf(signal)
    const outcomesTried = await this.#tried(asOfBlock)
    // One tick for requests made when the block became known.
    if (outcomesTried.length < this.#requests.length) await setImmediate()
    this.#deps.closed()
    const { knownAnswers } = this.#deps
    const requests = this.#requests
    const earlierAnswers = requests.map((request, place) => {
      const outcome = outcomesTried[place]
      return isAnswer(outcome) ? outcome : knownAnswers.of(request, asOfBlock)
    })
    const rest = requests.filter((_, place) => !earlierAnswers[place])
    const { outcomes, lateWork } = rest.length === 0 ? { outcomes: [] } : await this.#deps.read(asOfBlock, rest, signal)
    const read = outcomes.values()
    const merged = earlierAnswers.flatMap(answer => answer ?? read.next().value ?? [])
    for (const [place, request] of requests.entries()) knownAnswers.add(request, asOfBlock, merged[place])
    return { at: asOfBlock, value: { outcomes: merged, ...(lateWork && { lateWork }) } }
  }

  /** Outcomes read at the block before it was proven. */
  async #tried(asOfBlock: BlockHeader): Promise<readonly ReadOutcome[]> {
    const trial = this.#trial
    if (!trial) return []
    if (trial.block.hash !== asOfBlock.hash) {
      trial.header.reject(new Error('it is not the as-of block'))
      return []
    }
    trial.header.resolve(asOfBlock)
    return (await trial.outcomes) ?? []
  }
}
