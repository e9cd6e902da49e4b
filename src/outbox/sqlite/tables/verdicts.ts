import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { DeadLetter } from '../../contract/metrics.ts'
import type { Corrections } from './corrections.ts'
import type { MetricRegistry } from './metric-registry.ts'
import { stateNumber } from './states.ts'
import type { CountByHour, Tally } from './tally.ts'
import type { Unsent } from './unsent.ts'

/** Rows of one hour whose metric numbers are consecutive. */
interface NumberRun {
  readonly hour: number
  readonly from: number
  to: number
}

/** Records verdicts on due metrics; metrics in other states do not change. */
export class Verdicts {
  readonly #registry: MetricRegistry
  readonly #tally: Tally
  readonly #corrections: Corrections
  readonly #unsent: Unsent
  readonly #statements

  constructor(database: Sqlite, registry: MetricRegistry, tally: Tally, corrections: Corrections, unsent: Unsent) {
    this.#registry = registry
    this.#tally = tally
    this.#corrections = corrections
    this.#unsent = unsent
    this.#statements = {
      // One statement for consecutive numbers costs a third of one for each.
      mark: database.prepare<[number, number, number, number]>(
        'UPDATE outbox SET state = ? WHERE hour = ? AND metric BETWEEN ? AND ? AND state = 0',
      ),
      detain: database.prepare<[number, number, string, number | null, number, number]>(
        `INSERT INTO detained (hour, metric, kind, reason, status, attempts, at_ms) VALUES (?, ?, 'refused', ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      ),
    }
  }

  /** Marks metrics delivered; one whose value has changed since stays due. Within a transaction. */
  markDelivered(metrics: readonly Metric[]): void {
    const { current, corrected } = this.#corrections.sorted(metrics)
    for (const [protocolId, own] of Map.groupBy(current, ({ protocolId }) => protocolId)) {
      this.#tally.move(this.#registry.protocol(protocolId) ?? 0, 'due', 'delivered', this.#mark(own, 'delivered'))
    }
    this.#corrections.delivered(corrected)
  }

  /** Marks a metric dead and keeps it for a person. Within a transaction. */
  markDead({ metric, reason, status, attempts }: DeadLetter, nowMs: number): void {
    const known = this.#registry.metric(metric.id)
    const { current } = this.#corrections.sorted([metric])
    if (!known) return
    const marked = this.#mark(current, 'dead')
    if (marked.size === 0) return
    this.#corrections.remove(hourNumber(metric.hour), known.number)
    this.#tally.move(known.protocol, 'due', 'dead', marked)
    this.#statements.detain.run(hourNumber(metric.hour), known.number, reason, status ?? null, attempts, nowMs)
  }

  /** @returns how many were due */
  #mark(metrics: readonly Metric[], state: 'delivered' | 'dead'): CountByHour {
    const marked = new Map<number, number>()
    for (const { hour, from, to } of this.#runs(metrics)) {
      const { changes } = this.#statements.mark.run(stateNumber(state), hour, from, to)
      if (changes > 0) marked.set(hour, (marked.get(hour) ?? 0) + changes)
    }
    return marked
  }

  /** Splits metrics into runs; the numbers of a batch are mostly consecutive. */
  #runs(metrics: readonly Metric[]): NumberRun[] {
    const runs: NumberRun[] = []
    for (const metric of metrics) {
      const number = this.#registry.metric(metric.id)?.number
      if (number === undefined) continue
      const hour = hourNumber(metric.hour)
      this.#unsent.remove(hour, number)
      const last = runs.at(-1)
      if (last?.hour === hour && last.to + 1 === number) last.to = number
      else runs.push({ hour, from: number, to: number })
    }
    return runs
  }
}
