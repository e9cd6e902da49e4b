import type { Time } from '../../edge/time.ts'
import { allFailed } from '../chain-faults.ts'
import { stateBlocksMin } from '../limits.ts'
import type { CallMeter } from './call-meter.ts'
import { type Endpoint, type EndpointDeps, type OpenEndpoint, openEndpoint } from './endpoint.ts'
import { EndpointFailure, type FailureKind } from './endpoint-failure.ts'
import type { EndpointReport } from './endpoint-health.ts'
import { type KeptEndpoint, PoolMember } from './pool-member.ts'
import type { ChainHead } from './sightings.ts'

/** Whoever reads for one hour remembers here which endpoint serves it, so that one serves all of its reads. */
export interface Served {
  endpoint?: Endpoint
  /** The hour's as-of block, once it is known: an endpoint that lacks its state is asked last. */
  blockNumber?: bigint
}

/** An endpoint that could not do some work, and why. */
export interface RefusedWork {
  readonly endpoint: Endpoint
  readonly failure: EndpointFailure
}

/** Failures that say nothing of whether the node has the state of a block. */
const hidingKinds: ReadonlySet<FailureKind> = new Set(['unreachable', 'rate', 'refused'])

const headCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** An endpoint silent for longer than this when its caller gives up is taken for hung. */
const silenceMs = 1_000

/** The endpoints of one chain, in the order of preference. */
export interface EndpointPool {
  /**
   * Does the work on the hour's endpoint, else on the next that can.
   *
   * @throws Fault when none can; whatever else `work` throws, as it is
   */
  serve<T>(hour: Served, signal: AbortSignal, work: (endpoint: Endpoint) => Promise<T>): Promise<T>
  /**
   * The same for what some endpoints could not do: they are not asked again.
   *
   * @returns why the others could not, when none can
   */
  serveElsewhere<T>(
    hour: Served,
    signal: AbortSignal,
    work: (endpoint: Endpoint) => Promise<T>,
    before: readonly RefusedWork[],
  ): Promise<T | readonly EndpointFailure[]>
  /** Asks for the chain's last block. @returns the highest that any endpoint has told of @throws Fault when none can */
  askHead(signal: AbortSignal): Promise<ChainHead | undefined>
  /** What is known of each endpoint, in the order of preference. */
  health(): readonly EndpointReport[]
  close(): void
}

/** Told when an endpoint could not serve and another is asked instead: its host, and why. */
export type PassedOver = (host: string, reason: string) => void

/** What the endpoints of a chain share. */
export interface PoolDeps {
  /** The chain's name and id. */
  readonly name: string
  readonly id: number
  readonly time: Time
  readonly passedOver: PassedOver
  readonly meter?: CallMeter | undefined
}

/** One that can be asked. */
interface Member {
  readonly endpoint: OpenEndpoint
  readonly health: PoolMember['health']
}

/** An endpoint by its URL or IPC path, with its limits, or by where its address is kept. */
export type EndpointSource = string | EndpointDeps | KeptEndpoint

/** @param endpoints the first is preferred; secrets */
export function endpointPool(parts: PoolDeps, endpoints: readonly EndpointSource[]): EndpointPool {
  return new Pool(parts, endpoints)
}

class Pool implements EndpointPool {
  readonly #parts: PoolDeps
  readonly #all: readonly PoolMember[]

  constructor(parts: PoolDeps, endpoints: readonly EndpointSource[]) {
    const { id: chainId, time, meter } = parts
    const surroundings = { chainId, time, meter, isOnlyOne: endpoints.length === 1 }
    const open = (one: EndpointDeps) => openEndpoint(one, surroundings)
    this.#parts = parts
    this.#all = endpoints.map(one => new PoolMember(typeof one === 'string' ? { url: one } : one, open, time))
  }

  /** Those that can be asked. */
  get #members(): Member[] {
    return this.#all.flatMap(({ endpoint, health }) => (endpoint ? [{ endpoint, health }] : []))
  }

  async serve<T>(hour: Served, signal: AbortSignal, work: (endpoint: Endpoint) => Promise<T>): Promise<T> {
    const outcome = await this.#serve(hour, signal, async endpoint => ({ value: await work(endpoint) }), [])
    if ('value' in outcome) return outcome.value
    throw allFailed(this.#parts.name, outcome)
  }

  serveElsewhere<T>(
    hour: Served,
    signal: AbortSignal,
    work: (endpoint: Endpoint) => Promise<T>,
    before: readonly RefusedWork[],
  ): Promise<T | readonly EndpointFailure[]> {
    return this.#serve(hour, signal, work, before)
  }

  async #serve<T>(
    hour: Served,
    signal: AbortSignal,
    work: (endpoint: Endpoint) => Promise<T>,
    before: readonly RefusedWork[],
  ): Promise<T | readonly EndpointFailure[]> {
    const failures: EndpointFailure[] = []
    const members = this.#inOrder(hour).filter(member => !before.some(({ endpoint }) => endpoint === member.endpoint))
    for (const member of members) {
      const last = failures.at(-1) ?? before.at(-1)?.failure
      if (last) this.#parts.passedOver(last.host, last.reason)
      hour.endpoint = member.endpoint
      try {
        return await this.#workOn(member, signal, work)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof EndpointFailure)) throw error
        member.health.failed(error)
        failures.push(await this.#judged(error, member.endpoint, hour.blockNumber, signal))
      }
    }
    delete hour.endpoint
    return [...failures, ...this.#all.flatMap(({ missing }) => missing ?? [])]
  }

  /** The hour's own first, then in the order of preference; those that rest after those that are well. */
  #inOrder({ endpoint: own, blockNumber }: Served): Member[] {
    const rank = ({ endpoint, health }: Member) => {
      const lacks = blockNumber !== undefined && endpoint.depth.lacks(blockNumber)
      return (lacks ? 4 : 0) + (health.isSpared ? 2 : 0) + (endpoint === own ? 0 : 1)
    }
    const ranked = this.#members.map(member => ({ member, rank: rank(member) }))
    return ranked.sort((a, b) => a.rank - b.rank).map(({ member }) => member)
  }

  async #workOn<T>(
    { endpoint, health }: Member,
    signal: AbortSignal,
    work: (endpoint: Endpoint) => Promise<T>,
  ): Promise<T> {
    const { time } = this.#parts
    const startedMs = time.nowMs()
    const givenUp = () => {
      const silentSinceMs = Math.max(startedMs, endpoint.rate.answeredMs)
      if (time.nowMs() - silentSinceMs >= silenceMs && !endpoint.rate.isWaitedFor) {
        health.failed({ kind: 'unreachable', retryAtMs: undefined })
      }
    }
    const end = health.begin()
    signal.addEventListener('abort', givenUp, { once: true })
    try {
      const outcome = await work(endpoint)
      health.didWell()
      return outcome
    } finally {
      signal.removeEventListener('abort', givenUp)
      end()
    }
  }

  /**
   * Why state is missing: because the block is old, or, of the last blocks, because the node is not well. What a node said
   * it does not have it does not have either while it fails with something else. A block that it does not know may be one
   * of a branch that was given up: that is no reason to take its state for pruned.
   */
  async #judged(
    failure: EndpointFailure,
    endpoint: OpenEndpoint,
    blockNumber: bigint | undefined,
    signal: AbortSignal,
  ): Promise<EndpointFailure> {
    const { kind, host, reason } = failure
    if (blockNumber === undefined) return failure
    if (kind !== 'pruned' && kind !== 'unknown-block') {
      const isHidden = hidingKinds.has(kind) && endpoint.depth.toldToLack(blockNumber)
      return isHidden
        ? new EndpointFailure(host, `${reason}, and said before that it has no such old state`, 'pruned')
        : failure
    }
    const head = await this.#headFor(endpoint, blockNumber, signal)
    if (head !== undefined && head - blockNumber < stateBlocksMin) {
      return new EndpointFailure(host, reason, 'recent-state')
    }
    if (head !== undefined || kind === 'pruned') endpoint.depth.missed(blockNumber, kind === 'pruned')
    return failure
  }

  /** The highest block that is known; asked for anew where it might have been long ago that the block was a recent one. */
  async #headFor(endpoint: OpenEndpoint, blockNumber: bigint, signal: AbortSignal): Promise<bigint | undefined> {
    const known = this.#head?.number
    if (known !== undefined && known - blockNumber >= stateBlocksMin) return known
    await endpoint.call([headCall], signal).catch(() => {})
    signal.throwIfAborted()
    return this.#head?.number
  }

  async askHead(signal: AbortSignal): Promise<ChainHead | undefined> {
    await this.serve({}, signal, endpoint => endpoint.call([headCall], signal))
    return this.#head
  }

  get #head(): ChainHead | undefined {
    const heads = this.#members.flatMap(({ endpoint }) => endpoint.head ?? [])
    return heads.reduce<ChainHead | undefined>((a, b) => (a === undefined || b.number > a.number ? b : a), undefined)
  }

  health(): readonly EndpointReport[] {
    return this.#all.map(({ report }) => report)
  }

  close(): void {
    for (const { endpoint } of this.#members) endpoint.close()
  }
}
