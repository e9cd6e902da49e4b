import { allFailed } from '../endpoint/chain-faults.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointPool, RefusedWork, Served } from '../endpoint/endpoint-pool.ts'
import type { ReadRequest } from '../reads.ts'
import type { BlockHeader } from '../shapes.ts'
import { SharedWork } from '../shared-work.ts'
import { readAt, readLate } from './aggregate-reads.ts'
import type { ReadMemory } from './read-memory.ts'
import { isAnswer, type ReadOutcome } from './single-reads.ts'

/** Dependencies of `readOnAny`. */
export interface ReadsOnAnyDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  readonly pool: EndpointPool
  readonly memory: ReadMemory
  readonly hour: Served
  readonly block: BlockHeader
}

/** Result of reads on any endpoint. */
export interface AnyRead {
  /** In the order of the requests: answers, or failures for which other endpoints are still asked. */
  readonly outcomes: readonly ReadOutcome[]
  /**
   * Resolves to an answer or a Fault for each failed read; callers without such a read need not wait. Absent when none
   * failed.
   */
  readonly late?: SharedWork<ReadonlyMap<ReadRequest, ReadOutcome>>
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
  return { outcomes, late: new SharedWork(late => rest.read(endpoint, late)) }
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
    const before: RefusedWork[] = []
    for (let endpoint = first; ; ) {
      await this.#readSlow(endpoint, signal)
      for (const [request, failure] of this.#last) this.#failuresOf(request).push(failure)
      const [failure] = this.#last.values()
      if (!failure) return this.#outcomes
      before.push({ endpoint, failure })
      const next = await this.#readElsewhere(before, signal)
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
    const slow = [...this.#last].filter(([, { kind }]) => kind === 'slow').map(([request]) => request)
    if (slow.length === 0) return
    const others = [...this.#last].filter(([, { kind }]) => kind !== 'slow')
    try {
      const { block, memory } = this.#deps
      const outcomes = await readLate(endpoint, block, slow, signal, memory)
      this.#last = new Map([...others, ...this.#keep(slow, outcomes)])
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof EndpointFailure)) throw error
      this.#last = new Map([...others, ...slow.map(request => [request, error] as const)])
    }
  }

  /** @returns the next endpoint that could read something; undefined when there is none */
  async #readElsewhere(before: readonly RefusedWork[], signal: AbortSignal): Promise<Endpoint | undefined> {
    const { name, pool, hour } = this.#deps
    const requests = [...this.#last.keys()]
    const work = readOn(this.#deps, requests, signal)
    // The hour stays with the endpoint that answered most of it.
    const served = await pool.serveElsewhere({ ...hour }, signal, work, before)
    if ('endpoint' in served) {
      this.#last = this.#keep(requests, served.outcomes)
      return served.endpoint
    }
    for (const request of requests) {
      this.#outcomes.set(request, allFailed(name, [...this.#failuresOf(request), ...served]))
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
