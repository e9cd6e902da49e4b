import { type Hour, hourAfter } from '../../../model/hour.ts'
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
import type { PostgresDatabase } from '../connection/database.ts'
import { alone } from '../tables/alone.ts'
import { backlogOf } from '../tables/backlog.ts'
import { deadAndHeldCounts, oldestHeld } from '../tables/dead-and-held.ts'
import { destinationStates } from '../tables/destinations.ts'
import { dueHour, dueUpTo } from '../tables/due-metrics.ts'
import {
  collectorNames,
  faultyRows,
  gapCounts,
  lateCollectors,
  missingCollectors,
  rowsBetween,
  unresolvedCounts,
  withheldHours,
} from '../tables/hour-looks.ts'
import { hoursOfAll } from '../tables/hours-of-all.ts'
import type { RowReader } from '../tables/known-metrics.ts'
import { metricCurves } from '../tables/metric-curves.ts'
import { NewestDeliveredHours } from '../tables/newest-delivered.ts'
import { newestMetrics } from '../tables/stored-metrics.ts'
import { allWarnings } from '../tables/warnings.ts'

/** Hours whose reasons are read together. */
const hoursTogether = 24

/** The outbox for status, in PostgreSQL. */
export class PostgresStatusStore implements StatusStore {
  readonly #database: PostgresDatabase
  readonly #newestDelivered = new NewestDeliveredHours()

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  lateness(wanted: LatenessWanted): Promise<Lateness> {
    return this.#database.read(reading => latenessOf(reading, wanted))
  }

  overview(wanted: LatenessWanted): Promise<Overview> {
    return this.#database.read(reading => overviewOf(reading, wanted))
  }

  detail(wanted: LatenessWanted, from: Hour, to: Hour): Promise<Detail> {
    return this.#database.read(async reading => {
      const [overview, rows, curves] = await Promise.all([
        overviewOf(reading, wanted),
        rowsBetween(reading, from, to),
        metricCurves(reading, from, to),
      ])
      return { ...overview, rows, curves }
    })
  }

  newest(from: Hour, to: Hour): Promise<readonly StoredMetric[]> {
    return this.#database.read(reading => newestMetrics(reading, from, to))
  }

  hoursOfAll(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly HourOfAll[]> {
    return this.#database.read(reading => hoursOfAll(reading, collectors, from, to))
  }

  collectors(): Promise<readonly string[]> {
    return collectorNames(alone(this.#database))
  }

  async reasons(from: Hour, to: Hour, most: number): Promise<HourReasons> {
    const failed: CollectionRow[] = []
    const withheld: WithheldHour[] = []
    for (let last = to; last >= from; last = hourAfter(last, -hoursTogether)) {
      const first = Math.max(from, hourAfter(last, 1 - hoursTogether)) as Hour
      const [faulty, waiting] = await this.#database.read(reading =>
        Promise.all([faultyRows(reading, first, last), withheldHours(reading, first, last)]),
      )
      for (let hour = last; hour >= first; hour = hourAfter(hour, -1)) {
        if (failed.length + withheld.length >= most) return { failed, withheld }
        failed.push(...faulty.filter(row => row.hour === hour))
        withheld.push(...waiting.filter(row => row.hour === hour))
      }
    }
    return { failed, withheld }
  }

  unresolved(): Promise<readonly UnresolvedCount[]> {
    return unresolvedCounts(alone(this.#database))
  }

  oldestHours(collectors: readonly string[], protocolIds: readonly string[], latest: Hour): Promise<OldestHours> {
    return this.#database.read(async reading => {
      const [late, collected, held] = await Promise.all([
        lateCollectors(reading, collectors, latest),
        dueHour(reading, 'oldest', protocolIds, latest),
        oldestHeld(reading, protocolIds, latest),
      ])
      const oldest = late.map(each => each.oldest)
      return { due: oldest.length === 0 ? undefined : (Math.min(...oldest) as Hour), collected, held }
    })
  }

  newestDelivered(collectors: readonly string[], upTo: Hour, nowMs: number): Promise<ReadonlyMap<string, Hour>> {
    return this.#newestDelivered.of(alone(this.#database), collectors, upTo, nowMs)
  }

  gapCounts(collectors: readonly string[], from: Hour, to: Hour): Promise<readonly GapCount[]> {
    return gapCounts(alone(this.#database), collectors, from, to)
  }
}

async function latenessOf(reading: RowReader, wanted: LatenessWanted): Promise<Lateness> {
  const { collectors, protocolIds, destinations: names, hour } = wanted
  const ids = collectors.map(({ id }) => id)
  const [late, missing, rows, oldest, metrics, deadAndHeld, destinations] = await Promise.all([
    lateCollectors(reading, ids, hour),
    missingCollectors(reading, collectors, hour),
    rowsBetween(reading, hour, hour),
    dueHour(reading, 'oldest', protocolIds, hour),
    dueUpTo(reading, protocolIds, hour),
    deadAndHeldCounts(reading, hour, protocolIds),
    destinationStates(reading, names),
  ])
  return {
    late,
    missing,
    gaps: rows.filter(({ state }) => state === 'gap'),
    ...(oldest !== undefined && { due: { oldest, metrics } }),
    deadAndHeld,
    destinations,
  }
}

async function overviewOf(reading: RowReader, wanted: LatenessWanted): Promise<Overview> {
  const [lateness, backlog, warnings] = await Promise.all([
    latenessOf(reading, wanted),
    backlogOf(reading),
    allWarnings(reading),
  ])
  return { ...lateness, backlog, warnings }
}
