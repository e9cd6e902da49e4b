import { setImmediate } from 'node:timers/promises'
import { type Hour, hoursFrom } from '../../../model/hour.ts'
import type { MetricCurve } from '../../contract/curves.ts'
import type { CollectionRow, HourOfAll, HourReasons, WithheldHour } from '../../contract/hours.ts'
import type { StoredMetric } from '../../contract/metrics.ts'
import type {
  Detail,
  GapCount,
  Lateness,
  LatenessWanted,
  OldestHours,
  Overview,
  StatusStore,
  UnresolvedCount,
} from '../../contract/status-store.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'
import { backlogOf } from './backlog.ts'

/** Hours without their values, and curves, read before the event loop gets a turn. */
const [hoursATurn, curvesATurn] = [12, 1_000]

/** The outbox for status, in SQLite. */
export class SqliteStatusStore implements StatusStore {
  readonly #tables: OutboxTables

  constructor(tables: OutboxTables) {
    this.#tables = tables
  }

  async lateness(wanted: LatenessWanted): Promise<Lateness> {
    return this.#tables.registry.reading(() => this.#lateness(wanted))
  }

  async overview(wanted: LatenessWanted): Promise<Overview> {
    return this.#tables.registry.reading(() => this.#overview(wanted))
  }

  async detail(wanted: LatenessWanted, from: Hour, to: Hour): Promise<Detail> {
    const { expectedHours, curves: table } = this.#tables
    const overview = await this.overview(wanted)
    const rows: CollectionRow[] = []
    const open = table.open(from, to)
    for (const hour of hoursFrom(from, to)) {
      await setImmediate()
      rows.push(...expectedHours.between(hour, hour))
      open.add(hour)
    }
    const curves: MetricCurve[] = []
    const numbers = open.numbers()
    for (let at = 0; at < numbers.length; at += curvesATurn) {
      await setImmediate()
      curves.push(...open.curves(numbers.slice(at, at + curvesATurn)))
    }
    return { ...overview, rows, curves }
  }

  async newest(from: Hour, to: Hour): Promise<readonly StoredMetric[]> {
    return this.#tables.metrics.newest(from, to)
  }

  #overview(wanted: LatenessWanted): Overview {
    return {
      ...this.#lateness(wanted),
      backlog: backlogOf(this.#tables),
      warnings: this.#tables.warnings.all(),
    }
  }

  #lateness({ collectors, protocolIds, destinations, hour }: LatenessWanted): Lateness {
    const { expectedHours, dueMetrics, deadAndHeld } = this.#tables
    const ids = collectors.map(({ id }) => id)
    const oldest = dueMetrics.hour('oldest', protocolIds, hour)
    return {
      late: expectedHours.lateOf(ids, hour),
      missing: expectedHours.missing(collectors, hour),
      gaps: expectedHours.between(hour, hour).filter(({ state }) => state === 'gap'),
      ...(oldest !== undefined && { due: { oldest, metrics: dueMetrics.countUpTo(protocolIds, hour) } }),
      deadAndHeld: deadAndHeld.countsOf(hour, protocolIds),
      destinations: destinations.map(name => this.#tables.destinations.get(name)),
    }
  }

  async hoursOfAll(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly HourOfAll[]> {
    const look = this.#tables.hoursOfAll.reader(collectors, from, to)
    const found: HourOfAll[] = []
    for (const hour of hoursFrom(from, to)) {
      if (found.length % hoursATurn === hoursATurn - 1) await setImmediate()
      found.push(look(hour))
    }
    return found
  }

  async collectors(): Promise<readonly string[]> {
    return this.#tables.hourReasons.collectors()
  }

  async reasons(from: Hour, to: Hour, most: number): Promise<HourReasons> {
    const failed: CollectionRow[] = []
    const withheld: WithheldHour[] = []
    let left = hoursATurn
    for (const hour of hoursFrom(from, to).toReversed()) {
      if (failed.length + withheld.length >= most) break
      left -= 1
      if (left === 0) await setImmediate()
      if (left === 0) left = hoursATurn
      failed.push(...this.#tables.hourReasons.failed(hour))
      withheld.push(...this.#tables.hourReasons.withheld(hour))
    }
    return { failed, withheld }
  }

  async unresolved(): Promise<readonly UnresolvedCount[]> {
    return this.#tables.unresolved.all()
  }

  async oldestHours(collectors: readonly string[], protocolIds: readonly string[], latest: Hour): Promise<OldestHours> {
    const { expectedHours, dueMetrics, deadAndHeld } = this.#tables
    return this.#tables.registry.reading(() => {
      const oldest = expectedHours.lateOf(collectors, latest).map(late => late.oldest)
      return {
        due: oldest.reduce<Hour | undefined>((least, hour) => (least && least < hour ? least : hour), undefined),
        collected: dueMetrics.hour('oldest', protocolIds, latest),
        held: deadAndHeld.oldestHeld(protocolIds, latest),
      }
    })
  }

  async newestDelivered(collectors: readonly string[], upTo: Hour, nowMs: number): Promise<ReadonlyMap<string, Hour>> {
    const found = new Map<string, Hour>()
    for (const collector of collectors) {
      // Of a collector that has stood still for long, thousands of hours are read.
      await setImmediate()
      const hour = this.#tables.newestDelivered.of(collector, upTo, nowMs)
      if (hour !== undefined) found.set(collector, hour)
    }
    return found
  }

  async gapCounts(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly GapCount[]> {
    return this.#tables.expectedHours.gapCounts(collectors, from, to)
  }
}
