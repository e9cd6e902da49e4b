import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { DetainedCounts, DetainedMetric, Selection } from '../../contract/selections.ts'
import type { Corrections } from './corrections.ts'
import { metricAt } from './metric-at.ts'
import type { KnownMetric, MetricRegistry } from './metric-registry.ts'
import type { Metrics } from './metrics.ts'
import { stateNumber, stateOf } from './states.ts'
import { countByHour, type Tally } from './tally.ts'

interface RawDetained {
  readonly hour: number
  readonly metric: number
  readonly value: number
  readonly state: number
  readonly kind: DetainedMetric['kind']
  readonly reason: string
  readonly status: number | null
  readonly attempts: number | null
  readonly unit: string | null
  readonly at_ms: number
}

interface RowKey {
  readonly hour: number
  readonly metric: number
}

/** Table of dead and held metrics, and what a person decides about them. */
export class Detained {
  readonly #database: Sqlite
  readonly #registry: MetricRegistry
  readonly #tally: Tally
  readonly #metrics: Metrics
  readonly #corrections: Corrections
  readonly #statements

  constructor(database: Sqlite, registry: MetricRegistry, tally: Tally, metrics: Metrics, corrections: Corrections) {
    this.#database = database
    this.#registry = registry
    this.#tally = tally
    this.#metrics = metrics
    this.#corrections = corrections
    this.#statements = {
      list: database.prepare<
        { state: number; ids: string | null; reason: string | null; hour: number | null },
        RawDetained
      >(
        // There are few: each is looked up in `outbox`, which is never scanned.
        `SELECT detained.*, value, state FROM detained CROSS JOIN outbox USING (hour, metric)
         WHERE state = @state AND hour = coalesce(@hour, hour) AND instr(lower(reason), lower(coalesce(@reason, ''))) > 0
           AND (@ids IS NULL OR metric IN (SELECT metric.id FROM metric JOIN protocol ON protocol.id = metric.protocol
             WHERE metric.name IN (SELECT value FROM json_each(@ids)) OR protocol.name IN (SELECT value FROM json_each(@ids))))
         ORDER BY hour, metric`,
      ),
      move: database.prepare<[number, number, number, number]>(
        'UPDATE outbox SET state = ? WHERE hour = ? AND metric = ? AND state = ?',
      ),
      oldestHeld: database
        .prepare<[string, number], number>(
          `SELECT hour FROM detained CROSS JOIN metric ON metric.id = metric CROSS JOIN protocol ON protocol.id = metric.protocol
           WHERE kind <> 'refused' AND protocol.name IN (SELECT value FROM json_each(?))
             AND hour <= ? ORDER BY hour LIMIT 1`,
        )
        .pluck(),
      counts: database.prepare<[number, string], DetainedCounts>(
        `SELECT count(*) FILTER (WHERE kind = 'refused') AS dead, count(*) FILTER (WHERE kind <> 'refused') AS held
         FROM detained CROSS JOIN metric ON metric.id = metric CROSS JOIN protocol ON protocol.id = metric.protocol
         WHERE hour = ? AND protocol.name IN (SELECT value FROM json_each(?))`,
      ),
      free: database.prepare<[number, number]>('DELETE FROM detained WHERE hour = ? AND metric = ?'),
    }
  }

  /** The oldest hour of some protocols, up to `latest`, with a held metric; `undefined` when there is none. */
  oldestHeld(protocolIds: readonly string[], latest: Hour): Hour | undefined {
    const hour = this.#statements.oldestHeld.get(JSON.stringify(protocolIds), hourNumber(latest))
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Counts of dead and held metrics of some protocols in an hour. */
  countsOf(hour: Hour, protocolIds: readonly string[]): DetainedCounts {
    const counts = this.#statements.counts.get(hourNumber(hour), JSON.stringify(protocolIds))
    return counts ?? { dead: 0, held: 0 }
  }

  /** The selected metrics, by hour. */
  list(selection: Selection): DetainedMetric[] {
    return this.#registry.reading(() => this.#rows(selection).map(row => this.#detained(row)))
  }

  /**
   * Makes selected metrics due: a dead one is retried, a held one is sent after all. A metric whose unit differs from
   * the locked unit of its id changes that unit from its hour on.
   *
   * @param units `pinned`: a metric with another unit stays held; `changed`: the unit may change
   * @returns how many
   */
  async release(selection: Selection, units: 'locked' | 'changed'): Promise<number> {
    const rows = this.#rows(selection).filter(({ kind }) => kind !== 'unit' || units === 'changed')
    return this.#inSlices(rows, row => this.#releaseOne(row, selection.state))
  }

  /** Gives up selected metrics for ever: they are neither sent nor collected again. @returns how many */
  async drop(selection: Selection): Promise<number> {
    return this.#inSlices(this.#rows(selection), row => {
      const isDropped = this.#move(row, selection.state, 'dropped')
      if (isDropped) this.#corrections.remove(row.hour, row.metric)
      return isDropped
    })
  }

  #rows({ state, ids, reason, hour }: Selection): RawDetained[] {
    return this.#statements.list.all({
      state: stateNumber(state),
      ids: ids ? JSON.stringify(ids) : null,
      reason: reason ?? null,
      hour: hour === undefined ? null : hourNumber(hour),
    })
  }

  #releaseOne(row: RawDetained, from: 'dead' | 'held'): boolean {
    const known = this.#registry.numbered(row.metric)
    if (row.kind === 'unit') this.#metrics.describeFrom(known, row.hour, ownDescription(row))
    if (!this.#move(row, from, 'due')) return false
    // A dead metric was sent: its value may have changed since, and the old one may still be on its way.
    if (from === 'dead') this.#corrections.add(row.hour, row.metric, row.at_ms)
    return true
  }

  #move({ hour, metric }: RowKey, from: 'dead' | 'held', to: 'due' | 'dropped'): boolean {
    const { changes } = this.#statements.move.run(stateNumber(to), hour, metric, stateNumber(from))
    if (changes === 0) return false
    this.#statements.free.run(hour, metric)
    this.#tally.move(this.#registry.numbered(metric).protocol, from, to, countByHour([{ hour }]))
    return true
  }

  /** Changes rows in several commits: one of many rows would block a daemon that writes to the same file. */
  async #inSlices(rows: readonly RawDetained[], change: (row: RawDetained) => boolean): Promise<number> {
    let changed = 0
    for (let at = 0; at < rows.length; at += commitRowsMax) {
      const slice = rows.slice(at, at + commitRowsMax)
      changed += this.#database
        .transaction(() => {
          this.#registry.refresh()
          return slice.filter(change).length
        })
        .immediate()
      await new Promise(setImmediate)
    }
    return changed
  }

  #detained(row: RawDetained): DetainedMetric {
    const known: KnownMetric = this.#registry.numbered(row.metric)
    const { unit: pinned, ...metric } = metricAt(known, row.hour, row.value)
    const { unit } = row.kind === 'unit' ? ownDescription(row) : { unit: pinned }
    return {
      ...metric,
      ...(unit === undefined ? {} : { unit }),
      state: stateOf(row.state) === 'dead' ? 'dead' : 'held',
      kind: row.kind,
      reason: row.reason,
      ...(row.status === null ? {} : { status: row.status }),
      ...(row.attempts === null ? {} : { attempts: row.attempts }),
      sinceMs: row.at_ms,
      collector: known.collector,
    }
  }
}

function ownDescription({ unit }: RawDetained): { readonly unit?: string } {
  return unit === null ? {} : { unit }
}
