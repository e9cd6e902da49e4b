import type { Sqlite } from '../../../sqlite/database.ts'
import type { Balance } from '../../contract/balance.ts'
import type { MetricState } from '../../contract/metrics.ts'
import { metricStates, stateNumber } from '../../rows/states.ts'

/** Slot for delivered metrics whose rows were pruned, so that the count of delivered metrics never falls. */
const prunedNumber = metricStates.length

/** Slot for all metrics that are stored, whatever their state. */
const storedNumber = prunedNumber + 1

/** States with a slot of their own. Due metrics are counted by the hour, and delivered ones are the rest. */
const slotStates: ReadonlySet<MetricState> = new Set(['dead', 'held', 'dropped'])

/** Numbers of metrics by their hour, in hours since 1970. */
export type CountByHour = ReadonlyMap<number, number>

/**
 * Number of metrics of each protocol and state, and of those due by their hour, updated with each change, so that a million rows are not counted.
 * Written in the same commits as the rows.
 */
export class Tally {
  readonly #statements
  #changes = 0

  constructor(database: Sqlite) {
    const isAdded = `state IN (${prunedNumber}, ${storedNumber})`
    const due = '(SELECT coalesce(sum(metrics), 0) FROM due_count WHERE due_count.protocol = tally.protocol)'
    this.#statements = {
      // Mostly there is a row: to update it takes less than an INSERT that finds that out.
      add: database.prepare<[number, number, number]>(
        'UPDATE tally SET metrics = metrics + ? WHERE protocol = ? AND state = ?',
      ),
      first: database.prepare<[number, number, number]>(
        'INSERT INTO tally (metrics, protocol, state) VALUES (?, ?, ?)',
      ),
      addDue: database.prepare<[number, number, number]>(
        'UPDATE due_count SET metrics = metrics + ? WHERE protocol = ? AND hour = ?',
      ),
      firstDue: database.prepare<[number, number, number]>(
        'INSERT INTO due_count (metrics, protocol, hour) VALUES (?, ?, ?)',
      ),
      fewerDue: database.prepare<[number, number, number, number]>(
        'UPDATE due_count SET metrics = metrics - ? WHERE protocol = ? AND hour = ? AND metrics > ?',
      ),
      noneDue: database.prepare<[number, number]>(
        'DELETE FROM due_count WHERE protocol = ? AND hour = ? AND metrics = 0',
      ),
      isDue: database.prepare<[number], number>('SELECT 1 FROM due_count WHERE protocol = ? LIMIT 1').pluck(),
      byState: database.prepare<[], { state: number; metrics: number }>(
        `SELECT state, sum(metrics) AS metrics FROM tally GROUP BY state
         UNION ALL SELECT ${stateNumber('due')}, coalesce(sum(metrics), 0) FROM due_count`,
      ),
      delivered: database
        .prepare<[string], number>(
          `SELECT 1 FROM tally JOIN protocol ON protocol.id = protocol WHERE name IN (SELECT value FROM json_each(?))
           GROUP BY protocol HAVING sum(iif(${isAdded}, metrics, -metrics)) > ${due} LIMIT 1`,
        )
        .pluck(),
      byProtocol: database.prepare<[], { name: string; due: number; finished: number }>(
        `SELECT name, coalesce(due, 0) AS due, unheld - coalesce(due, 0) AS finished FROM (
           SELECT protocol, sum(CASE WHEN ${isAdded} THEN metrics WHEN state = ${stateNumber('held')} THEN -metrics ELSE 0 END) AS unheld
           FROM tally GROUP BY protocol) JOIN protocol ON protocol.id = protocol
         LEFT JOIN (SELECT protocol AS of, sum(metrics) AS due FROM due_count GROUP BY protocol) ON of = protocol`,
      ),
    }
  }

  /** Adds new metrics to a state. Within a transaction. */
  enter(protocol: number, state: MetricState, added: CountByHour): void {
    const metrics = sum(added)
    this.#add(protocol, storedNumber, metrics)
    this.#addToState(protocol, state, metrics)
    if (state === 'due') this.#becameDue(protocol, added)
  }

  /** Number of times that metrics became due, or were held or dropped while due, in this process. */
  get changesOfDue(): number {
    return this.#changes
  }

  /** Moves metrics from one state to another. Within a transaction. */
  move(protocol: number, from: MetricState, to: MetricState, moved: CountByHour): void {
    const metrics = sum(moved)
    this.#addToState(protocol, from, -metrics)
    this.#addToState(protocol, to, metrics)
    if (to === 'due') this.#becameDue(protocol, moved)
    if (from !== 'due') return
    if (to === 'held' || to === 'dropped') this.#changes += 1
    for (const [hour, due] of moved) this.#removeDue(protocol, hour, due)
  }

  /** Records the deletion of delivered or dropped metrics. Within a transaction. */
  prune(protocol: number, state: 'delivered' | 'dropped', metrics: number): void {
    this.#add(protocol, storedNumber, -metrics)
    if (state === 'delivered') this.#add(protocol, prunedNumber, metrics)
    else this.#addToState(protocol, state, -metrics)
  }

  #addToState(protocol: number, state: MetricState, metrics: number): void {
    if (slotStates.has(state)) this.#add(protocol, stateNumber(state), metrics)
  }

  #add(protocol: number, slot: number, metrics: number): void {
    if (metrics === 0) return
    const { add, first } = this.#statements
    if (add.run(metrics, protocol, slot).changes === 0) first.run(Math.max(0, metrics), protocol, slot)
  }

  #becameDue(protocol: number, added: CountByHour): void {
    this.#changes += 1
    for (const [hour, metrics] of added) this.#addDue(protocol, hour, metrics)
  }

  #addDue(protocol: number, hour: number, metrics: number): void {
    if (metrics === 0) return
    const { addDue, firstDue } = this.#statements
    if (addDue.run(metrics, protocol, hour).changes === 0) firstDue.run(metrics, protocol, hour)
  }

  #removeDue(protocol: number, hour: number, metrics: number): void {
    const { fewerDue, addDue, noneDue } = this.#statements
    // Mostly some are left, and one statement is enough.
    if (metrics === 0 || fewerDue.run(metrics, protocol, hour, metrics).changes > 0) return
    addDue.run(-metrics, protocol, hour)
    noneDue.run(protocol, hour)
  }

  /** Whether any metric of a protocol is due. */
  isDue(protocol: number): boolean {
    return this.#statements.isDue.get(protocol) !== undefined
  }

  /** Whether any metric of some protocols was ever delivered, pruned ones included. */
  hasDelivered(protocolIds: readonly string[]): boolean {
    return this.#statements.delivered.get(JSON.stringify(protocolIds)) !== undefined
  }

  /** Number of due and of finished (delivered, dead or dropped) metrics of each protocol, by its id. */
  byProtocol(): ReadonlyMap<string, { readonly due: number; readonly finished: number }> {
    return new Map(this.#statements.byProtocol.all().map(({ name, due, finished }) => [name, { due, finished }]))
  }

  /** Counts of all protocols together. Dropped metrics are not part of `enqueued`. */
  balance(): Balance {
    const counts = new Map(this.#statements.byState.all().map(({ state, metrics }) => [state, metrics]))
    const of = (number: number) => counts.get(number) ?? 0
    const [due, dead, held] = [of(stateNumber('due')), of(stateNumber('dead')), of(stateNumber('held'))]
    const dropped = of(stateNumber('dropped'))
    const enqueued = of(storedNumber) + of(prunedNumber) - dropped
    return { enqueued, due, delivered: enqueued - due - dead - held, dead, held, dropped }
  }
}

function sum(counts: CountByHour): number {
  let all = 0
  for (const metrics of counts.values()) all += metrics
  return all
}

/** Numbers of the metrics of some runs by their hour. */
export function countByHour(runs: readonly { readonly hour: number; readonly metrics: number }[]): CountByHour {
  const counts = new Map<number, number>()
  for (const { hour, metrics } of runs) counts.set(hour, (counts.get(hour) ?? 0) + metrics)
  return counts
}
