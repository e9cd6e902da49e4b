import type { FleetStore } from '../outbox/contract/fleet-store.ts'
import { isMachineBound, type Lane, type LaneCollector, laneOf } from './lane.ts'

/** The lanes of the configured collectors, by the configuration and the outbox: a machine that ran `host` first keeps it. */
export class CollectorLanes {
  readonly #store: Pick<FleetStore, 'assignLanes'>
  readonly #lanes = new Map<string, Lane>()
  readonly #isFirst = new Map<string, boolean>()
  readonly #assigned = new Map<string, Promise<void>>()

  /** @param ownName name of this daemon */
  constructor(
    collectors: readonly (LaneCollector & { readonly id: string })[],
    ownName: string,
    store: Pick<FleetStore, 'assignLanes'>,
  ) {
    this.#store = store
    for (const collector of collectors) {
      this.#lanes.set(collector.id, laneOf(collector, ownName))
      this.#isFirst.set(collector.id, isMachineBound(collector))
    }
  }

  /** The lane of a collector as far as it is known; `undefined` for one that is not configured here. */
  of(collector: string): Lane | undefined {
    return this.#lanes.get(collector)
  }

  /** Ids of the configured collectors of a lane. */
  collectorsOf(lane: Lane): readonly string[] {
    return [...this.#lanes].filter(([, own]) => own === lane).map(([id]) => id)
  }

  /** Ids of all configured collectors. */
  get collectors(): readonly string[] {
    return [...this.#lanes.keys()]
  }

  /** The lanes with configured collectors. */
  get all(): ReadonlySet<Lane> {
    return new Set(this.#lanes.values())
  }

  /** The lane of a collector that was planned, stored once: other daemons find its due hours by it. */
  async assigned(collector: string): Promise<Lane | undefined> {
    const known = this.#assigned.get(collector) ?? this.#assign(collector)
    this.#assigned.set(collector, known)
    try {
      await known
    } catch (error) {
      this.#assigned.delete(collector)
      throw error
    }
    return this.of(collector)
  }

  async #assign(collector: string): Promise<void> {
    const lane = this.of(collector)
    if (lane === undefined) return
    const isFirst = this.#isFirst.get(collector) ?? false
    const stored = await this.#store.assignLanes([{ collector, lane, isFirst }])
    this.#lanes.set(collector, stored.get(collector) ?? lane)
  }
}
