import { namedChains } from '../config/checks.ts'
import type { CollectorConfig } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import { daemonAwayMs } from '../model/limits.ts'
import type { CollectorScope, FleetStore, LaneWork, SeenDaemon } from '../outbox/contract/fleet-store.ts'
import { claimMs } from './limits.ts'

/** A group of reads that travel together: the name of a chain, `web`, or `machine/NAME`. */
export type Lane = string

/** The lane of collectors that read no chain. */
export const webLane: Lane = 'web'

/** The shipped collector that reads the machine it runs on. */
const machineCollector = 'host'

/** A collector, as far as its lane depends on it. */
export type LaneCollector = Pick<CollectorConfig, 'use' | 'options'> & { readonly machine?: string }

/** The lane of one machine, by the name of its daemon. */
export function machineLane(name: string): Lane {
  return `machine/${name}`
}

/** The daemons that live, with the lanes that they work now. */
export async function livingDaemons(store: Pick<FleetStore, 'daemons' | 'nowMs'>): Promise<readonly SeenDaemon[]> {
  const [nowMs, daemons] = await Promise.all([store.nowMs(), store.daemons()])
  return daemons.filter(({ seenAtMs }) => nowMs - seenAtMs <= daemonAwayMs)
}

/** Whether a lane is that of one machine. */
export function isMachineLane(lane: Lane): boolean {
  return lane.startsWith(machineLane(''))
}

/**
 * The lane of a collector: the machine that its entry names, else the first chain that its options name, else `web`.
 * `host` belongs to a machine in any case. Pure.
 *
 * @param ownName name of this daemon
 */
export function laneOf({ use, options, machine }: LaneCollector, ownName: string): Lane {
  if (machine !== undefined) return machineLane(machine)
  if (isMachineBound({ use })) return machineLane(ownName)
  return namedChains(options)[0] ?? webLane
}

/** Whether a collector without `machine` stays on the machine of the daemon that ran it first. */
export function isMachineBound({ use, machine }: Pick<LaneCollector, 'use' | 'machine'>): boolean {
  return machine === undefined && use === machineCollector
}

/** Lanes that a daemon may work. */
interface WantedLanes {
  /** Its name. */
  readonly name: string
  /** As configured; absent: the chains and `web`. */
  readonly configured: readonly Lane[] | undefined
  /** Names of the chains with a node that answers. */
  readonly chains: readonly string[]
}

/** The lanes that a daemon works, each once; its own machine's always. Pure. */
export function workedLanes({ name, configured, chains }: WantedLanes): readonly Lane[] {
  return [...new Set([...(configured ?? [...chains, webLane]), machineLane(name)])]
}

/** Time for which the work of lanes is known: those that ask in one second share a look. */
const workKnownMs = 2.5 * claimMs

/** Time for which the numbers of collectors are known. */
const scopeKnownMs = 60_000

/** The lanes of the configured collectors, by the configuration and the outbox: a machine that ran `host` first keeps it. */
export class CollectorLanes {
  readonly #store: Pick<FleetStore, 'assignLanes' | 'laneWork' | 'scopeOf'>
  readonly #lanes = new Map<string, Lane>()
  /** The lanes by the configuration alone. */
  readonly #configured = new Map<string, Lane>()
  readonly #isFirst = new Map<string, boolean>()
  #work: { readonly atMs: number; readonly found: Promise<LaneWork> } | undefined
  /** The collectors by their numbers; asked for again after a minute, once hours were planned here, and where other ones stand back. */
  #scope: { readonly atMs: number; readonly count: number; readonly found: Promise<CollectorScope> } | undefined
  readonly #assigned = new Map<string, Promise<void>>()
  readonly #standsBack: (collector: string) => boolean

  /**
   * @param ownName name of this daemon
   * @param standsBack whether hours of a collector are left to other daemons: it is as one that is not configured here
   */
  constructor(
    collectors: readonly (LaneCollector & { readonly id: string })[],
    ownName: string,
    store: Pick<FleetStore, 'assignLanes' | 'laneWork' | 'scopeOf'>,
    standsBack: (collector: string) => boolean = () => false,
  ) {
    this.#store = store
    this.#standsBack = standsBack
    for (const collector of collectors) {
      const lane = laneOf(collector, ownName)
      this.#lanes.set(collector.id, lane)
      this.#configured.set(collector.id, lane)
      this.#isFirst.set(collector.id, isMachineBound(collector))
    }
  }

  /** The lane of a collector as far as it is known; `undefined` for one that is not configured here. */
  of(collector: string): Lane | undefined {
    return this.#standsBack(collector) ? undefined : this.#lanes.get(collector)
  }

  /** Ids of the configured collectors of a lane. */
  collectorsOf(lane: Lane): readonly string[] {
    return this.collectors.filter(id => this.#lanes.get(id) === lane)
  }

  /** Ids of all configured collectors. */
  get collectors(): readonly string[] {
    return [...this.#lanes.keys()].filter(id => !this.#standsBack(id))
  }

  /** The lanes with configured collectors. */
  get all(): ReadonlySet<Lane> {
    return new Set(this.collectors.flatMap(id => this.#lanes.get(id) ?? []))
  }

  /**
   * Reads which lanes have something to do, at every third look, and after hours were planned here: a fleet with nothing to do
   * asks the engine for nothing.
   */
  async work(lanes: readonly Lane[], time: Pick<Time, 'nowMs' | 'steadyMs'>): Promise<LaneWork> {
    const atMs = time.steadyMs()
    const known = this.#work
    if (known && atMs - known.atMs < workKnownMs) return known.found
    const found = this.scope(time).then(scope => this.#store.laneWork(lanes, scope, time.nowMs()))
    this.#work = { atMs, found }
    return found
  }

  /** The collectors whose hours this daemon collects. */
  async scope(time: Pick<Time, 'steadyMs'>): Promise<CollectorScope> {
    const atMs = time.steadyMs()
    const { collectors } = this
    const known = this.#scope
    if (known && known.count === collectors.length && atMs - known.atMs < scopeKnownMs) return known.found
    const ids = this.#store.scopeOf(collectors)
    const scope = { atMs, count: collectors.length, found: ids }
    this.#scope = scope
    ids.catch(() => {
      if (this.#scope === scope) this.#scope = undefined
    })
    return ids
  }

  /**
   * The lane of a collector that was planned, stored once: other daemons find its due hours by it. That of a machine is asked for
   * each time, as a machine may be forgotten.
   */
  async assigned(collector: string): Promise<Lane | undefined> {
    this.#work = undefined
    this.#scope = undefined
    const assignment = this.#assigned.get(collector) ?? this.#assign(collector)
    this.#assigned.set(collector, assignment)
    try {
      await assignment
    } catch (error) {
      this.#assigned.delete(collector)
      throw error
    }
    const lane = this.#lanes.get(collector)
    if (lane !== undefined && isMachineLane(lane)) this.#assigned.delete(collector)
    return this.of(collector)
  }

  async #assign(collector: string): Promise<void> {
    const lane = this.#configured.get(collector)
    if (lane === undefined) return
    const isFirst = this.#isFirst.get(collector) ?? false
    const stored = await this.#store.assignLanes([{ collector, lane, isFirst }])
    this.#lanes.set(collector, stored.get(collector) ?? lane)
  }
}
