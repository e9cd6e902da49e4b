import { hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { DueSelection } from '../../contract/selections.ts'
import type { Corrections } from './corrections.ts'
import { metricAt } from './metric-at.ts'
import type { MetricRegistry } from './metric-registry.ts'
import { stateNumber } from './states.ts'
import { countByHour, type Tally } from './tally.ts'

interface DueRow {
  readonly hour: number
  readonly metric: number
  readonly protocol: number
  readonly value: number
}

interface DueSelectionRow {
  readonly ids: string | null
  readonly protocols: string | null
  readonly hour: number | null
}

/** Lists and drops due metrics for a person, whichever process delivers them. */
export class DueSelections {
  readonly #registry: MetricRegistry
  readonly #list
  readonly #drop

  constructor(database: Sqlite, registry: MetricRegistry, tally: Tally, corrections: Corrections) {
    this.#registry = registry
    const ofProtocols = (table: string) =>
      `(@protocols IS NULL OR ${table}.protocol IN (SELECT id FROM protocol WHERE name IN (SELECT value FROM json_each(@protocols))))`
    const due = `SELECT hour, metric, outbox.protocol, value FROM outbox
      WHERE hour IN (SELECT hour FROM due_count WHERE hour = coalesce(@hour, hour) AND ${ofProtocols('due_count')})
        AND state = 0 AND ${ofProtocols('outbox')}
        AND (@ids IS NULL OR metric IN (SELECT metric.id FROM metric JOIN protocol ON protocol.id = metric.protocol
          WHERE metric.name IN (SELECT value FROM json_each(@ids)) OR protocol.name IN (SELECT value FROM json_each(@ids))))`
    this.#list = database.prepare<DueSelectionRow, DueRow>(`${due} ORDER BY hour, metric`)
    const some = database.prepare<DueSelectionRow & { limit: number }, DueRow>(`${due} LIMIT @limit`)
    const drop = database.prepare<[number, number, number]>(
      'UPDATE outbox SET state = ? WHERE hour = ? AND metric = ? AND state = 0',
    )
    this.#drop = database.transaction((bound: DueSelectionRow): number => {
      const rows = some.all({ ...bound, limit: commitRowsMax })
      for (const { hour, metric } of rows) {
        drop.run(stateNumber('dropped'), hour, metric)
        corrections.remove(hour, metric)
      }
      for (const [protocol, own] of Map.groupBy(rows, row => row.protocol)) {
        tally.move(protocol, 'due', 'dropped', countByHour(own))
      }
      return rows.length
    })
  }

  /** The selected metrics, by hour. */
  list(selection: DueSelection): Metric[] {
    return this.#registry.reading(() =>
      this.#list.all(boundOf(selection)).map(({ hour, metric, value }) => {
        return metricAt(this.#registry.numbered(metric), hour, value)
      }),
    )
  }

  /** As `OperatorStore.dropDue`. Uses several commits, so that a daemon that writes to the same file is not blocked. */
  async drop(selection: DueSelection): Promise<number> {
    const bound = boundOf(selection)
    for (let dropped = 0; ; ) {
      const some = this.#drop.immediate(bound)
      dropped += some
      if (some < commitRowsMax) return dropped
      await new Promise(setImmediate)
    }
  }
}

function boundOf({ ids, protocolIds, hour }: DueSelection): DueSelectionRow {
  return {
    ids: ids ? JSON.stringify(ids) : null,
    protocols: protocolIds ? JSON.stringify(protocolIds) : null,
    hour: hour === undefined ? null : hourNumber(hour),
  }
}
