import { type Hour, hourNumber } from '../model/hour.ts'
import type { Sqlite } from '../sqlite/database.ts'
import { type HourState, hourStateOf } from './hour-rows.ts'
import { type MetricState, stateOf } from './states.ts'

/** One hour of all collectors, by their names. */
export interface HourOfAll {
  readonly rows: ReadonlyMap<string, HourState>
  /** The states of a collector's metrics that are not delivered; absent where all are. */
  readonly open: ReadonlyMap<string, ReadonlySet<MetricState>>
}

/** What has become of hours, without values: half a millisecond an hour of 1,000 collectors. Part of the outbox's file. */
export class HourStates {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      names: database.prepare<[], [id: number, name: string]>('SELECT id, name FROM collector').raw(),
      rows: database
        .prepare<[number], [collector: number, state: number]>('SELECT collector, state FROM collection WHERE hour = ?')
        .raw(),
      open: database
        .prepare<[number], [collector: number, state: number]>(
          `SELECT DISTINCT collector, state FROM outbox CROSS JOIN metric ON metric.id = outbox.metric
           WHERE hour = ? AND state IN (0, 2, 3)`,
        )
        .raw(),
    }
  }

  /** @returns looks at an hour; collectors that are new since then are not in it */
  reader(): (hour: Hour) => HourOfAll {
    const names = new Map(this.#statements.names.all())
    const nameOf = (collector: number) => names.get(collector) ?? ''
    return hour => {
      const rows = this.#statements.rows.all(hourNumber(hour))
      const open = Map.groupBy(this.#statements.open.all(hourNumber(hour)), ([collector]) => nameOf(collector))
      const states = [...open].map(([name, all]) => [name, new Set(all.map(([, state]) => stateOf(state)))] as const)
      return {
        rows: new Map(rows.map(([collector, state]) => [nameOf(collector), hourStateOf(state)])),
        open: new Map(states),
      }
    }
  }
}
