import { nextTurn } from '../../../edge/next-turn.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { Units } from '../../contract/operator-store.ts'
import type { DeadAndHeldCounts, DeadOrHeldMetric, Selection } from '../../contract/selections.ts'
import type { KnownMetric } from '../../rows/known-metric.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { stateNumber, stateOf } from '../../rows/states.ts'
import type { Corrections } from './corrections.ts'
import type { MetricRegistry } from './metric-registry.ts'
import type { MetricRuns } from './metric-runs.ts'
import type { Metrics } from './metrics.ts'
import type { Tally } from './tally.ts'

interface RawDeadOrHeld {
  readonly hour: number
  readonly metric: number
  readonly state: number
  /** The bytes of its value. */
  readonly bytes: Buffer
  readonly kind: DeadOrHeldMetric['kind']
  readonly reason: string
  readonly status: number | null
  readonly attempts: number | null
  readonly unit: string | null
  readonly at_ms: number
}

/** A dead or held metric to be stored. */
interface NewDeadOrHeld extends Pick<DeadOrHeldMetric, 'kind' | 'reason' | 'attempts' | 'sinceMs'> {
  /** In hours since 1970. */
  readonly hour: number
  /** Its number. */
  readonly metric: number
  readonly status?: number | undefined
  /** Its own unit, if it is held for that; absent when it has none. */
  readonly unit?: string | undefined
}

/** Dependencies of `DeadAndHeld`. */
interface DeadAndHeldDeps {
  readonly registry: MetricRegistry
  readonly runs: MetricRuns
  readonly tally: Tally
  readonly metrics: Metrics
  readonly corrections: Corrections
}

/** Table of dead and held metrics, and what a person decides about them. */
export class DeadAndHeld {
  readonly #database: Sqlite
  readonly #deps: DeadAndHeldDeps
  readonly #statements

  constructor(database: Sqlite, deps: DeadAndHeldDeps) {
    this.#database = database
    this.#deps = deps
    this.#statements = {
      list: database.prepare<
        { state: number; ids: string | null; reason: string | null; hour: number | null },
        RawDeadOrHeld
      >(
        // There are few: the run of each is looked up in `outbox`, which is never scanned.
        `SELECT detained.*, state, substr(metric_values, 8 * (metric - first) + 1, 8) AS bytes
         FROM detained CROSS JOIN outbox ON outbox.hour = detained.hour AND first =
           (SELECT max(run.first) FROM outbox AS run WHERE run.hour = detained.hour AND run.first <= metric)
         WHERE state = +@state AND detained.hour = coalesce(@hour, detained.hour) AND metric < first + metrics AND instr(lower(reason), lower(coalesce(@reason, ''))) > 0
           AND (@ids IS NULL OR metric IN (SELECT metric.id FROM metric JOIN protocol ON protocol.id = metric.protocol
             WHERE metric.name IN (SELECT value FROM json_each(@ids)) OR protocol.name IN (SELECT value FROM json_each(@ids))))
         ORDER BY detained.hour, metric`,
      ),
      oldestHeld: database
        .prepare<[string, number], number>(
          `SELECT hour FROM detained CROSS JOIN metric ON metric.id = metric CROSS JOIN protocol ON protocol.id = metric.protocol
           WHERE kind <> 'refused' AND protocol.name IN (SELECT value FROM json_each(?))
             AND hour <= ? ORDER BY hour LIMIT 1`,
        )
        .pluck(),
      counts: database.prepare<[number, string], DeadAndHeldCounts>(
        `SELECT count(*) FILTER (WHERE kind = 'refused') AS dead, count(*) FILTER (WHERE kind <> 'refused') AS held
         FROM detained CROSS JOIN metric ON metric.id = metric CROSS JOIN protocol ON protocol.id = metric.protocol
         WHERE hour = ? AND protocol.name IN (SELECT value FROM json_each(?))`,
      ),
      add: database.prepare<
        [number, number, DeadOrHeldMetric['kind'], string, number | null, number | null, string | null, number]
      >(
        `INSERT INTO detained (hour, metric, kind, reason, status, attempts, unit, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ),
      remark: database.prepare<[string, number, number]>(
        'UPDATE detained SET reason = reason || ? WHERE hour = ? AND metric = ?',
      ),
      remove: database.prepare<[number, number]>('DELETE FROM detained WHERE hour = ? AND metric = ?'),
    }
  }

  /** Lists a metric as dead or held; no effect on a listed one. Within a transaction. */
  add({ hour, metric, kind, reason, status, attempts, unit, sinceMs }: NewDeadOrHeld): void {
    this.#statements.add.run(hour, metric, kind, reason, status ?? null, attempts ?? null, unit ?? null, sinceMs)
  }

  /** Adds to the reason of a listed metric. Within a transaction. */
  remark(hour: number, metric: number, words: string): void {
    this.#statements.remark.run(words, hour, metric)
  }

  /** Removes a metric from the list. Within a transaction. */
  remove(hour: number, metric: number): void {
    this.#statements.remove.run(hour, metric)
  }

  /** The oldest hour of some protocols, up to `latest`, with a held metric; `undefined` when there is none. */
  oldestHeld(protocolIds: readonly string[], latest: Hour): Hour | undefined {
    const hour = this.#statements.oldestHeld.get(JSON.stringify(protocolIds), hourNumber(latest))
    return hour === undefined ? undefined : hourFromNumber(hour)
  }

  /** Counts of dead and held metrics of some protocols in an hour. */
  countsOf(hour: Hour, protocolIds: readonly string[]): DeadAndHeldCounts {
    const counts = this.#statements.counts.get(hourNumber(hour), JSON.stringify(protocolIds))
    return counts ?? { dead: 0, held: 0 }
  }

  /** The selected metrics, by hour. */
  list(selection: Selection): DeadOrHeldMetric[] {
    return this.#deps.registry.reading(() => this.#rows(selection).map(row => this.#deadOrHeld(row)))
  }

  /** As `OperatorStore.release`. */
  async release(selection: Selection, units: Units): Promise<number> {
    const rows = this.#rows(selection).filter(({ kind }) => kind !== 'unit' || units === 'changed')
    return this.#inSlices(rows, row => this.#releaseOne(row, selection.state))
  }

  /** Gives up selected metrics for ever: they are neither sent nor collected again. @returns how many */
  async drop(selection: Selection): Promise<number> {
    return this.#inSlices(this.#rows(selection), row => {
      const isDropped = this.#move(row, selection.state, 'dropped')
      if (isDropped) this.#deps.corrections.remove(row.hour, row.metric)
      return isDropped
    })
  }

  #rows({ state, ids, reason, hour }: Selection): RawDeadOrHeld[] {
    return this.#statements.list.all({
      state: stateNumber(state),
      ids: ids ? JSON.stringify(ids) : null,
      reason: reason ?? null,
      hour: hour === undefined ? null : hourNumber(hour),
    })
  }

  #releaseOne(row: RawDeadOrHeld, from: 'dead' | 'held'): boolean {
    const known = this.#deps.registry.numbered(row.metric)
    if (row.kind === 'unit') this.#deps.metrics.describeFrom(known, row.hour, ownDescription(row))
    if (!this.#move(row, from, 'due')) return false
    // A dead metric was sent: its value may have changed since, and the old one may still be on its way.
    if (from === 'dead') this.#deps.corrections.add(row.hour, row.metric, row.at_ms)
    return true
  }

  #move({ hour, metric }: RawDeadOrHeld, from: 'dead' | 'held', to: 'due' | 'dropped'): boolean {
    if (this.#deps.runs.move(hour, metric, metric, stateNumber(from), { state: stateNumber(to) }) === 0) return false
    this.remove(hour, metric)
    this.#deps.tally.move(this.#deps.registry.numbered(metric).protocol, from, to, new Map([[hour, 1]]))
    return true
  }

  /** Changes rows in several commits: one of many rows would block a daemon that writes to the same file. */
  async #inSlices(rows: readonly RawDeadOrHeld[], change: (row: RawDeadOrHeld) => boolean): Promise<number> {
    let changed = 0
    for (let at = 0; at < rows.length; at += commitRowsMax) {
      const slice = rows.slice(at, at + commitRowsMax)
      changed += this.#database
        .transaction(() => {
          this.#deps.registry.refresh()
          return slice.filter(change).length
        })
        .immediate()
      await nextTurn()
    }
    return changed
  }

  #deadOrHeld(row: RawDeadOrHeld): DeadOrHeldMetric {
    const known: KnownMetric = this.#deps.registry.numbered(row.metric)
    const { unit: locked, ...metric } = metricAt(known, row.hour, valueAt(row.bytes, 0))
    const { unit } = row.kind === 'unit' ? ownDescription(row) : { unit: locked }
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

function ownDescription({ unit }: RawDeadOrHeld): { readonly unit?: string } {
  return unit === null ? {} : { unit }
}
