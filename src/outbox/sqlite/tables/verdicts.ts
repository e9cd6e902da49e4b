import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import { type Sqlite, unsynced } from '../../../sqlite/database.ts'
import type { DeadLetter } from '../../contract/metrics.ts'
import type { MetricVerdicts } from '../../contract/outcome.ts'
import type { Writer } from '../file/writer.ts'
import type { Corrections } from './corrections.ts'
import type { DeadAndHeld } from './dead-and-held.ts'
import type { MetricRegistry } from './metric-registry.ts'
import { stateNumber } from './states.ts'
import type { CountByHour, Tally } from './tally.ts'
import type { Unsent } from './unsent.ts'
import type { Warnings } from './warnings.ts'

/** Rows of one hour whose metric numbers are consecutive. */
interface NumberRun {
  readonly hour: number
  readonly from: number
  to: number
}

/** Dependencies of `Verdicts`. */
interface VerdictsDeps {
  readonly registry: MetricRegistry
  readonly tally: Tally
  readonly corrections: Corrections
  readonly deadAndHeld: DeadAndHeld
  readonly unsent: Unsent
  readonly warnings: Warnings
  readonly writer: Writer
}

/** Records verdicts on due metrics; metrics in other states do not change. */
export class Verdicts {
  readonly #deps: VerdictsDeps
  readonly #mark
  readonly #write: (what: { readonly verdicts: MetricVerdicts; readonly nowMs: number }) => void

  constructor(database: Sqlite, deps: VerdictsDeps) {
    this.#deps = deps
    // One statement for consecutive numbers costs a third of one for each.
    this.#mark = database.prepare<[number, number, number, number]>(
      'UPDATE outbox SET state = ? WHERE hour = ? AND metric BETWEEN ? AND ? AND state = 0',
    )
    this.#write = unsynced(database, ({ verdicts: { delivered, dead, warnings }, nowMs }) => {
      deps.registry.refresh()
      this.#markDelivered(delivered)
      for (const entry of dead) this.#markDead(entry, nowMs)
      deps.warnings.record(warnings, nowMs)
    })
  }

  /** Records verdicts in one commit. A metric corrected since it was sent stays due. */
  record(verdicts: MetricVerdicts, nowMs: number): void {
    const { registry, writer } = this.#deps
    try {
      this.#write({ verdicts, nowMs })
    } catch (error) {
      registry.forget()
      // A full disk must not keep a delivery from being recorded.
      if (!writer.isAgain(error)) throw error
      this.#write({ verdicts, nowMs })
    }
  }

  #markDelivered(metrics: readonly Metric[]): void {
    const { registry, tally, corrections } = this.#deps
    const { current, corrected } = corrections.sorted(metrics)
    for (const [protocolId, own] of Map.groupBy(current, ({ protocolId }) => protocolId)) {
      tally.move(registry.protocol(protocolId) ?? 0, 'due', 'delivered', this.#marked(own, 'delivered'))
    }
    corrections.delivered(corrected)
  }

  #markDead({ metric, reason, status, attempts }: DeadLetter, nowMs: number): void {
    const { registry, tally, corrections, deadAndHeld } = this.#deps
    const known = registry.metric(metric.id)
    const { current } = corrections.sorted([metric])
    if (!known) return
    const marked = this.#marked(current, 'dead')
    if (marked.size === 0) return
    const hour = hourNumber(metric.hour)
    corrections.remove(hour, known.number)
    tally.move(known.protocol, 'due', 'dead', marked)
    deadAndHeld.add({ hour, metric: known.number, kind: 'refused', reason, status, attempts, sinceMs: nowMs })
  }

  /** @returns how many were due */
  #marked(metrics: readonly Metric[], state: 'delivered' | 'dead'): CountByHour {
    const marked = new Map<number, number>()
    for (const { hour, from, to } of this.#runs(metrics)) {
      const { changes } = this.#mark.run(stateNumber(state), hour, from, to)
      if (changes > 0) marked.set(hour, (marked.get(hour) ?? 0) + changes)
    }
    return marked
  }

  /** Splits metrics into runs; the numbers of a batch are mostly consecutive. */
  #runs(metrics: readonly Metric[]): NumberRun[] {
    const runs: NumberRun[] = []
    let last: NumberRun | undefined
    for (const metric of metrics) {
      const number = this.#deps.registry.metric(metric.id)?.number
      if (number === undefined) continue
      const hour = hourNumber(metric.hour)
      if (last?.hour === hour && last.to + 1 === number) last.to = number
      else {
        last = { hour, from: number, to: number }
        runs.push(last)
      }
    }
    for (const { hour, from, to } of runs) this.#deps.unsent.removeRun(hour, from, to)
    return runs
  }
}
