import type { Sqlite } from '../../sqlite/database.ts'
import { type MetricState, metricStates, stateNumber } from './states.ts'

/** Delivered metrics whose rows were pruned: counted on, so that "delivered" only grows. */
const prunedNumber = metricStates.length

/** Metrics in the outbox by state; `enqueued` is always delivered + dead + held + due. */
export type Balance = Readonly<Record<MetricState | 'enqueued', number>>

/**
 * How many metrics of each protocol are in each state, counted as they change, so that nobody has to count a million
 * rows. Part of the outbox's file; written in the same commits as the rows.
 */
export class Tally {
  readonly #statements
  #withdrawals = 0

  constructor(database: Sqlite) {
    this.#statements = {
      add: database.prepare<{ protocol: number; state: number; metrics: number }>(
        `INSERT INTO tally (protocol, state, metrics) VALUES (@protocol, @state, max(0, @metrics))
         ON CONFLICT (protocol, state) DO UPDATE SET metrics = metrics + @metrics`,
      ),
      byState: database.prepare<[], { state: number; metrics: number }>(
        'SELECT state, sum(metrics) AS metrics FROM tally GROUP BY state',
      ),
      dueByProtocol: database.prepare<[], { name: string; metrics: number }>(
        'SELECT name, metrics FROM tally JOIN protocol ON protocol.id = protocol WHERE state = 0 AND metrics > 0 ORDER BY name',
      ),
      delivered: database
        .prepare<[number, number, string], number>(
          `SELECT 1 FROM tally JOIN protocol ON protocol.id = protocol
           WHERE state IN (?, ?) AND metrics > 0 AND name IN (SELECT value FROM json_each(?)) LIMIT 1`,
        )
        .pluck(),
      byProtocol: database.prepare<[], { name: string; due: number; settled: number }>(
        `SELECT name, sum(iif(state = 0, metrics, 0)) AS due, sum(iif(state IN (0, 3), 0, metrics)) AS settled
         FROM tally JOIN protocol ON protocol.id = protocol GROUP BY name`,
      ),
      due: database.prepare<[number], number>('SELECT metrics FROM tally WHERE state = 0 AND protocol = ?').pluck(),
    }
  }

  /** Metrics that are new in a state. Within a transaction. */
  enter(protocol: number, state: MetricState, metrics: number): void {
    if (metrics !== 0) this.#statements.add.run({ protocol, state: stateNumber(state), metrics })
  }

  /** Grows whenever this process takes due metrics back: holds or drops them, without a verdict of the service. */
  get withdrawals(): number {
    return this.#withdrawals
  }

  /** Metrics that went from one state to another. Within a transaction. */
  move(protocol: number, from: MetricState, to: MetricState, metrics: number): void {
    if (from === 'due' && (to === 'held' || to === 'dropped')) this.#withdrawals += metrics
    this.enter(protocol, from, -metrics)
    this.enter(protocol, to, metrics)
  }

  /** Metrics whose rows were deleted. Within a transaction. */
  prune(protocol: number, state: MetricState, metrics: number): void {
    this.enter(protocol, state, -metrics)
    if (state === 'delivered') this.#statements.add.run({ protocol, state: prunedNumber, metrics })
  }

  /** Due metrics of a protocol. */
  due(protocol: number): number {
    return this.#statements.due.get(protocol) ?? 0
  }

  /** Whether anything of some protocols was ever delivered, however long ago. */
  hasDelivered(protocolIds: readonly string[]): boolean {
    const states = [stateNumber('delivered'), prunedNumber] as const
    return this.#statements.delivered.get(...states, JSON.stringify(protocolIds)) !== undefined
  }

  /** How many metrics of each protocol are due, and how many are settled: delivered, dead or dropped. By their id. */
  byProtocol(): ReadonlyMap<string, { readonly due: number; readonly settled: number }> {
    return new Map(this.#statements.byProtocol.all().map(({ name, due, settled }) => [name, { due, settled }]))
  }

  /** Protocols with due metrics, by their id. */
  dueByProtocol(): ReadonlyMap<string, number> {
    return new Map(this.#statements.dueByProtocol.all().map(({ name, metrics }) => [name, metrics]))
  }

  /** All protocols together. What a person dropped is counted apart: it was taken out of the queue. */
  balance(): Balance {
    const counts = new Map(this.#statements.byState.all().map(({ state, metrics }) => [state, metrics]))
    const of = (number: number) => counts.get(number) ?? 0
    const [due, dead, held] = [of(stateNumber('due')), of(stateNumber('dead')), of(stateNumber('held'))]
    const delivered = of(stateNumber('delivered')) + of(prunedNumber)
    return { enqueued: due + delivered + dead + held, due, delivered, dead, held, dropped: of(stateNumber('dropped')) }
  }
}
