import { basename } from 'node:path'
import type { CallMeter } from '../chain/endpoint/call-meter.ts'
import type { EndpointDeps } from '../chain/endpoint/endpoint.ts'
import {
  type EndpointFailed,
  EndpointHealth,
  type EndpointReport,
  type EndpointSource,
  type EndpointWatch,
  type PassedOver,
} from '../chain/endpoint/endpoint-pool.ts'
import { ContractReader } from '../chain/read/node-questions.ts'
import { createChainReader, type OpenChainReader } from '../chain/read/reader.ts'
import type { ChainConfig, EndpointRef } from '../config/config.ts'
import { placeText } from '../config/mistakes.ts'
import { resolveAddress, resolveHeaders, secretsOf, secretsOfEndpoint } from '../config/secret.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { hostOf } from '../model/host.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { EndpointState } from '../status/snapshot.ts'
import type { Log } from '../telemetry/log.ts'
import type { AppContext } from './context.ts'

interface ChainsDeps {
  /** Caches final as-of blocks. Default: none are, so that results do not depend on earlier searches. */
  readonly store?: Pick<IntakeStore, 'finalBlocks'> | undefined
  /** Counts the calls to a chain, by its name. Default: none are counted. */
  readonly meterOf?: (chain: string) => CallMeter | undefined
  /** Shared by all readers that ask the same endpoints. Default: one of its own. */
  readonly endpointMemory?: EndpointMemory
}

/** Health of the endpoints of all chains, and its log: one for all readers of a daemon, whichever asked last. */
export class EndpointMemory {
  readonly #deps: Pick<AppContext, 'log' | 'time'>
  readonly #healths = new Map<string, EndpointHealth>()
  readonly #watches = new Map<string, EndpointLog>()

  constructor(deps: Pick<AppContext, 'log' | 'time'>) {
    this.#deps = deps
  }

  healthOf(chain: string, place: number): EndpointHealth {
    const key = `${place} ${chain}`
    const health = this.#healths.get(key) ?? new EndpointHealth(this.#deps.time)
    this.#healths.set(key, health)
    return health
  }

  watchOf(chain: string): EndpointLog {
    const watch = this.#watches.get(chain) ?? new EndpointLog(chain, this.#deps.log, this.#deps.time)
    this.#watches.set(chain, watch)
    return watch
  }
}

/** Opens the configured chains; they are closed with the stack. */
export function openChains(
  context: AppContext,
  stack: AsyncDisposableStack,
  { store, meterOf, endpointMemory = new EndpointMemory(context) }: ChainsDeps = {},
): Readonly<Record<string, OpenChainReader>> {
  const { config, time, clock, log, redactor } = context
  redactor.add(secretsOf(config))
  const chains: Record<string, OpenChainReader> = {}
  for (const chain of config.chains) {
    const { name, id, settleMs, multicall } = chain
    const watch = endpointMemory.watchOf(name)
    const healthOf = (place: number) => endpointMemory.healthOf(name, place)
    const passedOver: PassedOver = (endpoint, reason, kind) => {
      if (!outages.has(kind)) log.warn({ chain: name, endpoint, reason }, 'endpoint failed, another one is asked')
    }
    const contextFound = (context: string) => {
      log.warn({ chain: name, context }, 'calls do not see the block as its header is: reads are pinned by its hash')
    }
    const meter = meterOf?.(name)
    const cache = store && { finalBlocks: store.finalBlocks(id) }
    // A run that waits for the chain must not reach its deadline because of it.
    const patienceMs = config.collect.deadlineMs / 3
    const endpoints = chain.rpc.map(ref => endpointSource(name, ref, context))
    const countsOf = context.keptCounts && ((url: string) => context.keptCounts?.callsTo(chain, url))
    const readerOptions = {
      name,
      id,
      settleMs,
      multicall,
      patienceMs,
      endpoints,
      time,
      earliestMs: () => clock?.earliestMs,
      passedOver,
      watch,
      healthOf,
      contextFound,
      countsOf,
    }
    const reader = createChainReader({ ...readerOptions, ...cache, ...(meter && { meter }) })
    stack.defer(() => reader.close())
    chains[name] = reader
  }
  return chains
}

/** State of the endpoints of all chains, for status output. */
export function endpointStates(chains: Readonly<Record<string, OpenChainReader>>): EndpointState[] {
  return Object.entries(chains).flatMap(([chain, reader]) =>
    reader.health().map(({ head, servesStateFrom, ...report }) => ({
      chain,
      ...report,
      state: stateOf(report),
      ...(head && { head: { number: Number(head.number), atMs: head.timestampSeconds * 1000 } }),
      ...(servesStateFrom !== undefined && { servesStateFrom: Number(servesStateFrom) }),
    })),
  )
}

/** State of an endpoint for people. In its turn, it may have failed when it was asked last, or not have been asked at all. */
function stateOf({ state, trouble, calls }: Omit<EndpointReport, 'host'>): EndpointState['state'] {
  if (state !== 'well') return state
  if (trouble !== undefined) return 'failed'
  const { answered = 0, error = 0, limited = 0 } = calls ?? {}
  return answered + error + limited > 0 ? 'well' : 'unasked'
}

/**
 * Source of an endpoint for a chain's reader. When a kept address or header cannot be read, that is logged once, and
 * once when it can be again; meanwhile the endpoint cannot serve.
 */
export function endpointSource(
  chain: string,
  ref: EndpointRef,
  { log, redactor }: Pick<AppContext, 'log' | 'redactor'>,
): EndpointSource {
  const headers = () => {
    redactor.add(secretsOfEndpoint(chain, ref))
    return resolveHeaders(ref)
  }
  const isKept = Object.values(ref.headers ?? {}).some(({ kind }) => kind !== 'text')
  if (ref.kind === 'url' && !isKept) return { ...partsOf(ref.url, ref), ...(ref.headers && { headers }) }
  const name = nameOf(ref)
  let lastReason: string | undefined
  return {
    name,
    read() {
      try {
        const parts = partsOf(resolveAddress(chain, ref), ref)
        headers()
        if (lastReason !== undefined) log.info({ chain, endpoint: name }, 'RPC endpoint can serve now')
        lastReason = undefined
        return { ...parts, ...(ref.headers && { headers }) }
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        const { code, message, fix } = error
        const reason = `${message} (${placeText(ref.place)})`
        if (lastReason !== reason) log.error({ chain, endpoint: name, reason, fix }, 'RPC endpoint cannot serve')
        lastReason = reason
        throw new Fault(code, reason, fix === undefined ? {} : { fix })
      }
    },
  }
}

/** Name of an endpoint's address that may be shown. */
export function nameOf(ref: EndpointRef): string {
  if (ref.kind === 'url') return hostOf(ref.url)
  return ref.kind === 'env' ? ref.name : basename(ref.path)
}

function partsOf(url: string, { callsPerSecondMax, batchCallsMax, logBlocksMax }: EndpointRef): EndpointDeps {
  return {
    url,
    ...(callsPerSecondMax !== undefined && { callsPerSecondMax }),
    ...(batchCallsMax !== undefined && { batchCallsMax }),
    ...(logBlocksMax !== undefined && { logBlocksMax }),
  }
}

/** Milliseconds after a return within which another outage is not news, unless it lasts as long. */
const flapMs = 10 * 60_000

/** Failures that make an endpoint useless until they end; others concern a read, an hour or a rate. */
const outages: ReadonlySet<EndpointFailed['kind']> = new Set(['unreachable', 'wrong-id', 'behind', 'quarantine'])

/** An endpoint that cannot serve, or that could not lately. */
interface Outage {
  /** When it began; absent when it is over. Steady, in milliseconds. */
  sinceMs?: number | undefined
  /** Whether a line has said that it began. */
  isLogged: boolean
  /** When a line said that the endpoint serves again; steady. */
  overAtMs: number
  /** Outages since without a line. */
  unlogged: number
}

/**
 * Logs one line when an endpoint of a chain cannot serve any more, and one when it serves again. The outages of an endpoint
 * that comes and goes are counted, and stand in its next line.
 */
export class EndpointLog implements EndpointWatch {
  readonly #chain: string
  readonly #log: Log
  readonly #time: Pick<Time, 'steadyMs'>
  readonly #outages = new WeakMap<object, Outage>()

  constructor(chain: string, log: Log, time: Pick<Time, 'steadyMs'>) {
    this.#chain = chain
    this.#log = log
    this.#time = time
  }

  failed({ endpoint, identity, kind, reason, fix }: EndpointFailed): void {
    if (!outages.has(kind)) return
    const nowMs = this.#time.steadyMs()
    const outage = this.#of(identity)
    outage.sinceMs ??= nowMs
    if (outage.isLogged) return
    // Why it is in quarantine is logged where that is decided.
    outage.isLogged = kind === 'quarantine' || nowMs - outage.sinceMs >= flapMs || !this.#isFlapping(outage)
    if (!outage.isLogged || kind === 'quarantine') return
    this.#log.warn(
      { chain: this.#chain, endpoint: endpoint.host, reason, ...again(outage), fix },
      'endpoint cannot serve: it is asked last until it can',
    )
    outage.unlogged = 0
  }

  served(endpoint: { readonly host: string }, identity: object): void {
    const outage = this.#outages.get(identity)
    if (outage?.sinceMs === undefined) return
    const nowMs = this.#time.steadyMs()
    const afterSeconds = Math.round((nowMs - outage.sinceMs) / 1000)
    const { isLogged } = outage
    outage.sinceMs = undefined
    outage.isLogged = false
    if (!isLogged) {
      outage.unlogged += 1
      return
    }
    outage.overAtMs = nowMs
    this.#log.info({ chain: this.#chain, endpoint: endpoint.host, afterSeconds }, 'endpoint serves again')
  }

  remarked({ host }: { readonly host: string }, remark: string): void {
    this.#log.warn({ chain: this.#chain, endpoint: host, remark }, 'endpoint makes a mistake that does no harm')
  }

  #isFlapping({ overAtMs }: Outage): boolean {
    return this.#time.steadyMs() - overAtMs < flapMs
  }

  #of(identity: object): Outage {
    const known = this.#outages.get(identity)
    if (known) return known
    const outage = { isLogged: false, overAtMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
    this.#outages.set(identity, outage)
    return outage
  }
}

function again({ unlogged }: Outage): { readonly outagesBefore?: number } {
  return unlogged > 0 ? { outagesBefore: unlogged } : {}
}

/** Opens a configured chain for a reader at its last block; it is closed with the stack. */
export function openContractReader(
  { name, id, rpc, multicall }: ChainConfig,
  context: AppContext,
  stack: AsyncDisposableStack,
): ContractReader {
  const { config, time, redactor } = context
  redactor.add(secretsOf(config))
  const endpoints = rpc.map(ref => endpointSource(name, ref, context))
  const reader = new ContractReader({ name, id, multicall, endpoints, time, timeoutMs: config.collect.deadlineMs })
  stack.defer(() => reader.close())
  return reader
}
