import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { CallMeter } from './call-meter.ts'
import type { CountsOf } from './call-outcomes.ts'
import { allFailed } from './chain-faults.ts'
import { type Endpoint, type EndpointDeps, type OpenEndpoint, openEndpoint } from './endpoint.ts'
import { EndpointFailure, type FailureKind } from './endpoint-failure.ts'
import type { EndpointReport } from './endpoint-health.ts'
import type { EndpointWatch } from './endpoint-watch.ts'
import { stateBlocksMin } from './limits.ts'
import type { ChainHead } from './observed-blocks.ts'
import { type KeptEndpoint, PoolMember } from './pool-member.ts'

/** The endpoint chosen for an hour's reads, so that one endpoint serves all of them. */
export interface Served {
  /** The endpoint that serves the hour; absent until one has. */
  endpoint?: Endpoint
  /** Number of the hour's as-of block, once known: an endpoint that lacks its state is asked last. */
  blockNumber?: bigint
}

/** An endpoint that failed at some work, and why. */
export interface RefusedWork {
  readonly endpoint: Endpoint
  readonly failure: EndpointFailure
}

/** Kinds of failure that do not show whether the node has the state of a block. */
const hidingKinds: ReadonlySet<FailureKind> = new Set(['unreachable', 'rate', 'refused'])

const headCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** Longest wait for the second opinion of another host. */
const opinionMsMax = 5_000

/** An endpoint silent for longer than this when its caller gives up counts as hung. */
const silenceMs = 1_000

/** Called with host, reason and kind when an endpoint failed and another is asked instead. */
export type PassedOver = (host: string, reason: string, kind: FailureKind) => void

/** Dependencies shared by the endpoints of a chain. */
export interface PoolDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  /** Chain id, as `eth_chainId` must answer it. */
  readonly id: number
  readonly time: Time
  readonly passedOver: PassedOver
  /** Default: no one looks. */
  readonly watch?: EndpointWatch | undefined
  /** Counts what is sent. Default: it is not counted. */
  readonly meter?: CallMeter | undefined
  /** Where the outcomes of calls are counted. Default: from 0. */
  readonly countsOf?: CountsOf | undefined
}

/** An endpoint with a known address. */
interface Member {
  readonly endpoint: OpenEndpoint
  readonly health: PoolMember['health']
}

/** An endpoint: a URL or IPC path, one with its limits, or a place where the address is kept. */
export type EndpointSource = string | EndpointDeps | KeptEndpoint

/** The endpoints of one chain, in the order of preference. */
export class EndpointPool {
  readonly #deps: PoolDeps
  readonly #all: readonly PoolMember[]

  /** @param endpoints secrets; the first is preferred */
  constructor(deps: PoolDeps, endpoints: readonly EndpointSource[]) {
    const { id: chainId, time, meter, countsOf } = deps
    const context = { chainId, time, meter, countsOf, isOnlyOne: endpoints.length === 1 }
    const open = (one: EndpointDeps) => openEndpoint(one, context)
    this.#deps = deps
    this.#all = endpoints.map(one => new PoolMember(typeof one === 'string' ? { url: one } : one, open, time))
  }

  /** Endpoints with a known address. */
  get #members(): Member[] {
    return this.#all.flatMap(({ endpoint, health }) => (endpoint ? [{ endpoint, health }] : []))
  }

  /**
   * Does the work on the hour's endpoint, else on the next that can.
   *
   * @throws Fault when no endpoint can; other errors of `work`, unchanged
   */
  async serve<T>(hour: Served, signal: AbortSignal, work: (endpoint: Endpoint) => Promise<T>): Promise<T> {
    const outcome = await this.serveElsewhere(hour, signal, async endpoint => ({ value: await work(endpoint) }), [])
    if ('value' in outcome) return outcome.value
    throw allFailed(this.#deps.name, outcome)
  }

  /**
   * As `serve`, without the endpoints that failed before.
   *
   * @returns the failures, when no other endpoint can
   */
  async serveElsewhere<T>(
    hour: Served,
    signal: AbortSignal,
    work: (endpoint: Endpoint) => Promise<T>,
    before: readonly RefusedWork[],
  ): Promise<T | readonly EndpointFailure[]> {
    const failures: EndpointFailure[] = []
    const members = this.#inOrder(hour).filter(member => !before.some(({ endpoint }) => endpoint === member.endpoint))
    for (const member of members) {
      const last = failures.at(-1) ?? before.at(-1)?.failure
      if (last) this.#deps.passedOver(last.host, last.reason, last.kind)
      hour.endpoint = member.endpoint
      try {
        return await this.#workOn(member, signal, work)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof EndpointFailure)) throw error
        this.#failed(member, error)
        failures.push(await this.#judged(error, member.endpoint, hour.blockNumber, signal))
      }
    }
    delete hour.endpoint
    return [...failures, ...this.#all.flatMap(({ missing }) => missing ?? [])]
  }

  /**
   * Does the work on an endpoint of another host that is well, as a second opinion.
   *
   * @returns undefined when there is none, or it has no opinion in time
   */
  async secondOpinion<T>(
    host: string,
    { blockNumber }: Served,
    signal: AbortSignal,
    work: (endpoint: Endpoint, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const timed = AbortSignal.any([signal, this.#deps.time.timeout(opinionMsMax)])
    for (const member of this.#inOrder({ ...(blockNumber !== undefined && { blockNumber }) })) {
      if (member.endpoint.host === host || member.health.isSpared) continue
      try {
        return await this.#workOn(member, timed, endpoint => work(endpoint, timed))
      } catch (error) {
        signal.throwIfAborted()
        if (timed.aborted) return undefined
        if (error instanceof EndpointFailure) this.#failed(member, error)
        else if (!(error instanceof Fault)) throw error
      }
    }
    return undefined
  }

  /** The hour's own endpoint first, then by preference; resting ones last. */
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
    const { time } = this.#deps
    const startedMs = time.nowMs()
    const givenUp = () => {
      const silentSinceMs = Math.max(startedMs, endpoint.rate.answeredMs)
      if (time.nowMs() - silentSinceMs >= silenceMs && !endpoint.rate.isWaitedFor) {
        this.#failed({ endpoint, health }, new EndpointFailure(endpoint.host, 'does not answer'))
      }
    }
    const end = health.begin()
    signal.addEventListener('abort', givenUp, { once: true })
    try {
      const outcome = await work(endpoint)
      health.didWell()
      if (!health.isInQuarantine) this.#deps.watch?.served(endpoint)
      return outcome
    } finally {
      signal.removeEventListener('abort', givenUp)
      end()
    }
  }

  #failed({ endpoint, health }: Member, failure: EndpointFailure): void {
    health.failed(failure)
    this.#deps.watch?.failed({ endpoint, kind: failure.kind, reason: failure.reason })
  }

  /**
   * Classifies missing state: pruned (old block), or node unhealthy (recent block). A node that reported pruned state
   * keeps that status while it fails otherwise. An unknown block may be an orphan, so it does not count as pruned.
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
      const isHidden = hidingKinds.has(kind) && endpoint.depth.reportedToLack(blockNumber)
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

  /** The highest known block; asked for again if the block may have been recent when it was reported. */
  async #headFor(endpoint: OpenEndpoint, blockNumber: bigint, signal: AbortSignal): Promise<bigint | undefined> {
    const known = this.#head?.number
    if (known !== undefined && known - blockNumber >= stateBlocksMin) return known
    await endpoint.call([headCall], signal).catch(() => {})
    signal.throwIfAborted()
    return this.#head?.number
  }

  /**
   * Asks for the chain's last block.
   * @returns the highest that any endpoint reported @throws Fault when none answers
   */
  async askHead(signal: AbortSignal): Promise<ChainHead | undefined> {
    await this.serve({}, signal, endpoint => endpoint.call([headCall], signal))
    return this.#head
  }

  get #head(): ChainHead | undefined {
    const heads = this.#members.flatMap(({ endpoint }) => endpoint.head ?? [])
    return heads.reduce<ChainHead | undefined>((a, b) => (a === undefined || b.number > a.number ? b : a), undefined)
  }

  /** Asks the endpoints of a host last for an hour: another host, or its own receipts, contradict its answers. */
  quarantine(host: string): void {
    for (const { endpoint, health } of this.#members) {
      if (endpoint.host !== host) continue
      health.quarantine()
      this.#deps.watch?.failed({ endpoint, kind: 'quarantine', reason: 'is contradicted' })
    }
  }

  /** State of each endpoint, in the order of preference. */
  health(): readonly EndpointReport[] {
    return this.#all.map(({ report }) => report)
  }

  close(): void {
    for (const { endpoint } of this.#members) endpoint.close()
  }
}
