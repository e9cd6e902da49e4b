import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { CallMeter, CallOutcome, CountsOf } from './call-meter.ts'
import { type Endpoint, type EndpointDeps, type OpenEndpoint, openEndpoint } from './endpoint.ts'
import {
  adviceOf,
  allFailed,
  EndpointFailure,
  type FailureKind,
  NoLogs,
  ReadFailure,
  StateMissing,
} from './failures.ts'
import { type ChainHead, stateBlocksMin } from './learnt.ts'
import { type BlockPart, headCall, lacksPart, type SendCalls } from './rpc.ts'

/** Failure of an endpoint, whatever work it was. `quarantine`: its answers are contradicted. */
export interface EndpointFailed {
  readonly endpoint: { readonly host: string }
  /** The same object each time, for all readers that share its health. */
  readonly identity: object
  readonly kind: FailureKind | 'quarantine'
  /** A phrase that follows the host; no secret. */
  readonly reason: string
  /** Instruction; absent for `quarantine`. */
  readonly fix?: string
}

/** Sees how the endpoints of a chain do. */
export interface EndpointWatch {
  /** Called after each failed work. */
  failed(failure: EndpointFailed): void
  /** Called after each work that went well, unless the endpoint is in quarantine. */
  served(endpoint: { readonly host: string }, identity: object): void
  /** Called once for each kind of mistake in an endpoint's answers that does no harm, with a phrase that follows the host. */
  remarked(endpoint: { readonly host: string }, remark: string): void
}

/** State of an endpoint, for status output. */
export interface EndpointReport {
  /** Of its address. */
  readonly host: string
  /**
   * `wrong-id`: it serves another chain. `resting`: it failed, and is asked last. `quarantine`: another host answers
   * otherwise, or its logs contradict its receipts, so it is asked last. `no-address`: its address cannot be read.
   */
  readonly state: 'well' | 'resting' | 'wrong-id' | 'quarantine' | 'no-address'
  /** Why its address cannot be read, or it is in quarantine; absent otherwise. */
  readonly reason?: string
  /**
   * Why it could not serve when it was asked last, whether it still rests or not; absent when it served. `behind`: it
   * has no block past the hour, or no state of its last blocks.
   */
  readonly trouble?: EndpointTrouble
  /** Failures in a row with which it rested; absent when there are none. */
  readonly failuresInRow?: number
  /** End of its rest, in milliseconds since 1970; absent when it does not rest. */
  readonly restsUntilMs?: number
  /** The last block it reported; absent before. */
  readonly head?: ChainHead
  /** The lowest block whose state it is known to have; absent while unknown. */
  readonly servesStateFrom?: bigint
  /** Its rate limit, configured or discovered; absent when there is none. */
  readonly callsPerSecondMax?: number
  /** Calls in one request, at most; absent while its address cannot be read. */
  readonly batchCallsMax?: number
  /** Calls sent so far, by their outcome; absent while its address cannot be read. */
  readonly calls?: Readonly<Record<CallOutcome, number>>
}

/** Failures that are the endpoint's own, whatever was read. */
type EndpointTrouble = 'unreachable' | 'wrong-id' | 'behind' | 'pruned' | 'limited'

const troubleByKind: Readonly<Partial<Record<FailureKind, EndpointTrouble>>> = {
  unreachable: 'unreachable',
  'wrong-id': 'wrong-id',
  behind: 'behind',
  'recent-state': 'behind',
  'wrong-block': 'unreachable',
  pruned: 'pruned',
  rate: 'limited',
}

/** Failures after which an endpoint is asked last for a while, besides a refusal for its rate and a head that is behind. */
const disabling: ReadonlySet<FailureKind> = new Set(['unreachable', 'wrong-id', 'wrong-block'])

/**
 * Rest of an endpoint that failed, during which it is asked last: doubled with each failure in a row, up to the
 * longest.
 */
const endpointRestMs = 30_000
const endpointRestMsMax = 5 * 60_000

/** Time for which an endpoint is asked last after its answers were contradicted. */
const endpointQuarantineMs = 60 * 60_000

/** Tracks whether an endpoint is well, rests after a failure, or is being probed. */
export class EndpointHealth {
  readonly #time: Time
  #failuresInRow = 0
  #restsUntilMs = 0
  #isWrongId = false
  #quarantineUntilMs = 0
  #quarantineReason = ''
  #trouble: EndpointTrouble | undefined
  #trials = 0

  constructor(time: Time) {
    this.#time = time
  }

  get isResting(): boolean {
    return this.#time.nowMs() < this.#restsUntilMs || this.isInQuarantine
  }

  /** Whether it is asked last: it rests or is being probed. */
  get isSpared(): boolean {
    return this.isResting || (this.#failuresInRow > 0 && this.#trials > 0)
  }

  /** Records that work on it begins. @returns a function to call when the work ends */
  begin(): () => void {
    this.#trials += 1
    return () => {
      this.#trials--
    }
  }

  /** Whether its answers were contradicted within the last hour. */
  get isInQuarantine(): boolean {
    return this.#time.nowMs() < this.#quarantineUntilMs
  }

  /** Makes it asked last for an hour, whatever it answers: its answers cannot be trusted. */
  quarantine(reason: string): void {
    this.#quarantineReason = reason
    this.#quarantineUntilMs = this.#time.nowMs() + endpointQuarantineMs
  }

  /** Records a success. */
  didWell(): void {
    this.#failuresInRow = 0
    this.#restsUntilMs = 0
    this.#isWrongId = false
    this.#trouble = undefined
  }

  /** Records a failure. Failures of concurrent work, or during a rest, count once. */
  failed({ kind, retryAtMs }: Pick<EndpointFailure, 'kind' | 'retryAtMs'>): void {
    const nowMs = this.#time.nowMs()
    this.#trouble = troubleByKind[kind] ?? this.#trouble
    if (kind === 'rate') this.#rest(Math.min((retryAtMs ?? nowMs) - nowMs, endpointRestMsMax))
    if (kind === 'behind') this.#rest(endpointRestMs)
    if (this.isResting || !disabling.has(kind)) return
    this.#failuresInRow += 1
    this.#isWrongId = kind === 'wrong-id'
    const grownMs = Math.min(endpointRestMs * 2 ** (this.#failuresInRow - 1), endpointRestMsMax)
    this.#rest(kind === 'wrong-id' ? endpointRestMsMax : grownMs)
  }

  #rest(ms: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#time.nowMs() + ms)
  }

  /** State for status output. */
  get report(): Pick<EndpointReport, 'state' | 'reason' | 'restsUntilMs' | 'trouble' | 'failuresInRow'> {
    const [trouble, failuresInRow] = [this.#trouble, this.#failuresInRow]
    const last = { ...(trouble && { trouble }), ...(failuresInRow > 0 && { failuresInRow }) }
    if (this.isInQuarantine) {
      const [reason, restsUntilMs] = [this.#quarantineReason, this.#quarantineUntilMs]
      return { state: 'quarantine', reason, restsUntilMs, ...last }
    }
    if (!this.isResting) return { state: this.#isWrongId ? 'wrong-id' : 'well', ...last }
    return { state: this.#isWrongId ? 'wrong-id' : 'resting', restsUntilMs: this.#restsUntilMs, ...last }
  }
}

/** An endpoint whose address is kept in a file or a variable. */
interface KeptEndpoint {
  /** Name for messages while its address is unknown; not a secret. */
  readonly name: string
  /** Reads the address. @throws Fault that says what is missing, and where */
  read(): EndpointDeps
}

/** Interval of looking for an address that cannot be read. */
const addressLookMs = 60_000

/** One endpoint of a chain, opened once its address is known. A missing address is looked for again each minute. */
class PoolMember {
  readonly health: EndpointHealth
  readonly #time: Time
  readonly #source: EndpointDeps | KeptEndpoint
  readonly #openWith: (deps: EndpointDeps) => OpenEndpoint
  #open: OpenEndpoint | undefined
  #address: string | undefined
  #missing: EndpointFailure | undefined
  #lookAgainAtMs = 0

  constructor(
    source: EndpointDeps | KeptEndpoint,
    open: (deps: EndpointDeps) => OpenEndpoint,
    time: Time,
    health: EndpointHealth,
  ) {
    this.health = health
    this.#time = time
    this.#source = source
    this.#openWith = open
    this.#look()
  }

  /** `undefined` while its address is not known. */
  get endpoint(): OpenEndpoint | undefined {
    if (!this.#open && this.#time.nowMs() >= this.#lookAgainAtMs) this.#look()
    return this.#open
  }

  /** Why there is no endpoint; `undefined` when there is one. */
  get missing(): EndpointFailure | undefined {
    return this.endpoint ? undefined : this.#missing
  }

  /**
   * Reads a kept address again, as it or a header may have changed, and no longer counts the failures with what was there.
   */
  renew(): void {
    if (!('read' in this.#source)) return
    this.#look()
    this.health.didWell()
  }

  #look(): void {
    const source = this.#source
    try {
      const deps = 'read' in source ? source.read() : source
      if (this.#open && deps.url === this.#address) return
      this.#open?.close()
      this.#open = this.#openWith(deps)
      this.#address = deps.url
    } catch (error) {
      if (!(error instanceof Fault) || !('read' in source)) throw error
      this.#missing = new EndpointFailure(source.name, `cannot be asked: ${error.message}`, 'no-address')
      this.#lookAgainAtMs = this.#time.nowMs() + addressLookMs
    }
  }

  /** State for status output. */
  get report(): EndpointReport {
    const { endpoint, missing, health } = this
    if (!endpoint) return { host: missing?.host ?? '', state: 'no-address', reason: missing?.reason ?? '' }
    const { host, reportedHead: head, depth, rate, batch, calls } = endpoint
    return {
      host,
      ...health.report,
      ...(head && { head }),
      ...(depth.servesFrom !== undefined && { servesStateFrom: depth.servesFrom }),
      ...(Number.isFinite(rate.callsPerSecondMax) && { callsPerSecondMax: rate.callsPerSecondMax }),
      batchCallsMax: batch.callsMax,
      calls,
    }
  }
}

/** The endpoint chosen for an hour's reads, so that one endpoint serves all of them. */
export interface Served {
  /** The endpoint that serves the hour; absent until one has. */
  endpoint?: Endpoint
  /** Number of the hour's as-of block, once known: an endpoint that lacks its state is asked last. */
  blockNumber?: bigint
  /** Part of that block that is read. Default: state. */
  readonly part?: BlockPart
}

/** An endpoint that failed at some work, and why. */
export interface RefusedWork {
  readonly endpoint: Endpoint
  readonly failure: EndpointFailure
}

/** Kinds of failure that do not show whether the node has the state of a block. */
const hidingKinds: ReadonlySet<FailureKind> = new Set(['unreachable', 'rate', 'refused'])
/** Kinds of failure that may come from what a node does not keep of a block, in whatever words. */
const doubtfulKinds: ReadonlySet<FailureKind> = new Set(['pruned', 'unknown-block', 'refused', 'too-much', 'no-logs'])

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
  /** Called when an endpoint failed and another is asked instead. Default: no one. */
  readonly passedOver?: PassedOver
  /** Default: no one looks. */
  readonly watch?: EndpointWatch | undefined
  /** Counts what is sent. Default: it is not counted. */
  readonly meter?: CallMeter | undefined
  /** Where the outcomes of calls are counted. Default: from 0. */
  readonly countsOf?: CountsOf | undefined
  /** Health of the endpoint at a place of the list, where several readers ask it. Default: one of its own. */
  readonly healthOf?: ((place: number) => EndpointHealth) | undefined
}

/** An endpoint with a known address. */
interface Member {
  readonly endpoint: OpenEndpoint
  readonly health: PoolMember['health']
}

/** An endpoint: a URL or IPC path, one with its limits, or a place where the address is kept. */
export type EndpointSource = string | EndpointDeps | KeptEndpoint

function membersOf(
  { id: chainId, time, meter, countsOf, healthOf = () => new EndpointHealth(time) }: PoolDeps,
  endpoints: readonly EndpointSource[],
): PoolMember[] {
  const context = { chainId, time, meter, countsOf, isOnlyOne: endpoints.length === 1 }
  const open = (one: EndpointDeps) => openEndpoint(one, context)
  return endpoints.map((source, place) => {
    const deps = typeof source === 'string' ? { url: source } : source
    return new PoolMember(deps, open, time, healthOf(place))
  })
}

/** The endpoints of one chain, in the order of preference. */
export class EndpointPool {
  readonly #deps: PoolDeps
  readonly #hidden: ReadonlySet<string>
  readonly #all: readonly PoolMember[]

  /**
   * @param endpoints secrets; the first is preferred
   * @param hiddenHosts hosts that this one does not ask
   */
  constructor(
    deps: PoolDeps,
    endpoints: readonly EndpointSource[],
    hiddenHosts: ReadonlySet<string> = new Set(),
    members: readonly PoolMember[] = membersOf(deps, endpoints),
  ) {
    this.#deps = deps
    this.#hidden = hiddenHosts
    this.#all = members
  }

  /** Number of answers that did not fit what the chain was seen to be: what is remembered of it may be wrong. */
  get contradictions(): number {
    return this.#members.reduce((sum, { endpoint }) => sum + endpoint.contradictions, 0)
  }

  /** The same endpoints, with their limits and health, but for those of some hosts; `undefined` when none is left. */
  without(hosts: ReadonlySet<string>): EndpointPool | undefined {
    const pool = new EndpointPool(this.#deps, [], hosts, this.#all)
    return pool.#members.length > 0 ? pool : undefined
  }

  /** Endpoints with a known address. */
  get #members(): Member[] {
    return this.#all.flatMap(({ endpoint, health }) =>
      endpoint && !this.#hidden.has(endpoint.host) ? [{ endpoint, health }] : [],
    )
  }

  /**
   * Does the work on the hour's endpoint, else on the next that can.
   *
   * @throws Fault when no endpoint can; other errors of `work`, unchanged
   */
  async serve<T>(hour: Served, signal: AbortSignal, work: (endpoint: Endpoint) => Promise<T>): Promise<T> {
    const outcome = await this.serveOnOthers(hour, signal, async endpoint => ({ value: await work(endpoint) }), [])
    if ('value' in outcome) return outcome.value
    throw allFailed(this.#deps.name, outcome)
  }

  /**
   * As `serve`, without the endpoints that failed before.
   *
   * @returns the failures, when no other endpoint can
   */
  async serveOnOthers<T>(
    hour: Served,
    signal: AbortSignal,
    work: (endpoint: Endpoint) => Promise<T>,
    refusedWork: readonly RefusedWork[],
  ): Promise<T | readonly EndpointFailure[]> {
    const failures: EndpointFailure[] = []
    const members = this.#inOrder(hour).filter(
      member => !refusedWork.some(({ endpoint }) => endpoint === member.endpoint),
    )
    for (const member of members) {
      const last = failures.at(-1) ?? refusedWork.at(-1)?.failure
      if (last) this.#deps.passedOver?.(last.host, last.reason, last.kind)
      hour.endpoint = member.endpoint
      try {
        return await this.#workOn(member, signal, work)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof EndpointFailure)) throw error
        const failure = await this.#judged(error, member.endpoint, hour, signal)
        // One that is dead rests, though it was found before to lack that state.
        this.#failed(member, disabling.has(error.kind) ? error : failure)
        failures.push(failure)
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
    const timedSignal = AbortSignal.any([signal, this.#deps.time.timeout(opinionMsMax)])
    for (const member of this.#inOrder({ ...(blockNumber !== undefined && { blockNumber }) })) {
      if (member.endpoint.host === host || member.health.isSpared) continue
      try {
        return await this.#workOn(member, timedSignal, endpoint => work(endpoint, timedSignal))
      } catch (error) {
        signal.throwIfAborted()
        if (timedSignal.aborted) return undefined
        if (error instanceof EndpointFailure) this.#failed(member, error)
        else if (!(error instanceof Fault)) throw error
      }
    }
    return undefined
  }

  /** By rank: those that have the hour's state, then those that do not rest, then the hour's own. */
  #inOrder({ endpoint: preferredEndpoint, blockNumber }: Served): Member[] {
    const rank = ({ endpoint, health }: Member) => {
      const lacks = blockNumber !== undefined && endpoint.depth.lacks(blockNumber)
      return (lacks ? 4 : 0) + (health.isSpared ? 2 : 0) + (endpoint === preferredEndpoint ? 0 : 1)
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
      if (!health.isInQuarantine) this.#deps.watch?.served(endpoint, health)
      return outcome
    } finally {
      signal.removeEventListener('abort', givenUp)
      end()
    }
  }

  #failed({ endpoint, health }: Member, failure: EndpointFailure): void {
    health.failed(failure)
    const { kind, reason } = failure
    this.#deps.watch?.failed({ endpoint, identity: health, kind, reason, fix: adviceOf(failure) })
  }

  /**
   * Tells missing state from other failures by asking, whatever the node's words: pruned (old block), or node unhealthy
   * (recent block). A node that reported pruned state keeps that status while it fails otherwise.
   */
  async #judged(
    failure: EndpointFailure,
    endpoint: OpenEndpoint,
    { blockNumber, part = 'state' }: Served,
    signal: AbortSignal,
  ): Promise<EndpointFailure> {
    const { kind, host, reason } = failure
    if (failure instanceof ReadFailure || failure instanceof NoLogs) return failure
    if (failure instanceof StateMissing) {
      if (part !== 'state' || blockNumber === undefined) return failure
      if (this.#isRecent(blockNumber)) return new EndpointFailure(host, reason, 'recent-state')
      endpoint.depth.missed(blockNumber)
      return failure
    }
    const mayLackBlock = blockNumber !== undefined && doubtfulKinds.has(kind)
    const tryCall: SendCalls = (...calls) => endpoint.tryCall(...calls)
    const isLacking = async (lacked: BlockPart) => mayLackBlock && lacksPart(tryCall, lacked, blockNumber, signal)
    // Without its header a node has nothing of a block, even where it answers that there are no logs.
    const isOfHeader = kind === 'unknown-block' && part === 'logs'
    const isMissing = mayLackBlock && ((await isLacking(part)) || (isOfHeader && (await isLacking('header'))))
    if (!isMissing || this.#head === undefined) {
      const other = kind === 'pruned' ? new EndpointFailure(host, reason, 'refused') : failure
      return this.#stillMissing(other, endpoint, blockNumber)
    }
    const text = `has no ${part} of block ${blockNumber}, though of its last block: it ${reason}`
    if (this.#isRecent(blockNumber)) return new EndpointFailure(host, text, 'recent-state')
    if (part !== 'logs') endpoint.depth.missed(blockNumber)
    return new StateMissing(host, text)
  }

  #isRecent(number: bigint): boolean {
    const head = this.#head?.number
    return head !== undefined && head - number < stateBlocksMin
  }

  #stillMissing(failure: EndpointFailure, endpoint: OpenEndpoint, blockNumber: bigint | undefined): EndpointFailure {
    const { kind, host, reason } = failure
    if (blockNumber === undefined || !hidingKinds.has(kind) || !endpoint.depth.lacks(blockNumber)) return failure
    return new StateMissing(host, `${reason}, and was found before to have no such old state`)
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
  quarantine(host: string, reason: string): void {
    for (const { endpoint, health } of this.#members) {
      if (endpoint.host !== host) continue
      health.quarantine(reason)
      this.#deps.watch?.failed({ endpoint, identity: health, kind: 'quarantine', reason })
    }
  }

  /** State of each endpoint, in the order of preference. */
  health(): readonly EndpointReport[] {
    return this.#all.map(({ report }) => report)
  }

  /** Reads kept addresses and headers again, and asks their endpoints as if they had not failed. */
  renew(): void {
    for (const member of this.#all) member.renew()
  }

  close(): void {
    for (const { endpoint } of this.#members) endpoint.close()
  }
}
