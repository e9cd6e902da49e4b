import { type Hour, hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import { type Sqlite, unsynced } from '../../../sqlite/database.ts'
import type { DeadLetter } from '../../contract/metrics.ts'
import type { MetricVerdicts } from '../../contract/outcome.ts'
import { runMetricsMax } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import type { Writer } from '../file/writer.ts'
import type { Corrections } from './corrections.ts'
import type { DeadAndHeld } from './dead-and-held.ts'
import type { MetricRegistry } from './metric-registry.ts'
import type { MetricRuns } from './metric-runs.ts'
import type { Tally } from './tally.ts'
import type { Unsent } from './unsent.ts'
import type { Warnings } from './warnings.ts'

/** Metrics of one hour and protocol whose numbers are consecutive. */
interface NumbersOfHour {
  readonly hour: number
  readonly protocol: number
  readonly from: number
  to: number
}

/** Dependencies of `Verdicts`. */
interface VerdictsDeps {
  readonly registry: MetricRegistry
  readonly runs: MetricRuns
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
  readonly #write: (what: { readonly verdicts: MetricVerdicts; readonly nowMs: number }) => void

  constructor(database: Sqlite, deps: VerdictsDeps) {
    this.#deps = deps
    this.#write = unsynced(database, ({ verdicts: { delivered, dead, warnings }, nowMs }) => {
      deps.registry.refresh()
      this.#markDelivered(delivered, nowMs)
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

  #markDelivered(metrics: readonly Metric[], nowMs: number): void {
    const { corrections } = this.#deps
    const { current, corrected } = corrections.sorted(metrics)
    this.#mark(current, 'delivered', nowMs)
    corrections.delivered(corrected)
  }

  #markDead({ metric, reason, status, attempts }: DeadLetter, nowMs: number): void {
    const { registry, corrections, deadAndHeld } = this.#deps
    const known = registry.numbersOf(metric)
    const { current } = corrections.sorted([metric])
    if (!known) return
    if (this.#mark(current, 'dead', nowMs) === 0) return
    const hour = hourNumber(metric.hour)
    corrections.remove(hour, known.number)
    deadAndHeld.add({ hour, metric: known.number, kind: 'refused', reason, status, attempts, sinceMs: nowMs })
  }

  /** @returns how many were due */
  #mark(metrics: readonly Metric[], state: 'delivered' | 'dead', nowMs: number): number {
    const { runs, tally, unsent } = this.#deps
    const next = { state: stateNumber(state), deliveredMs: state === 'delivered' ? nowMs : null }
    const moved = new Map<number, Map<number, number>>()
    let all = 0
    for (const { hour, protocol, from, to } of this.#together(metrics)) {
      unsent.remove(hour, { first: from, last: to })
      const marked = runs.move(hour, from, to, stateNumber('due'), next)
      if (marked === 0) continue
      const byHour = moved.get(protocol) ?? new Map<number, number>()
      moved.set(protocol, byHour.set(hour, (byHour.get(hour) ?? 0) + marked))
      all += marked
    }
    for (const [protocol, byHour] of moved) tally.move(protocol, 'due', state, byHour)
    return all
  }

  /** Joins neighbours, up to the length of a run: the numbers of a batch are mostly those of one. */
  #together(metrics: readonly Metric[]): NumbersOfHour[] {
    const all: NumbersOfHour[] = []
    let last: NumbersOfHour | undefined
    let before: Hour | undefined
    for (const metric of metrics) {
      const numbers = this.#deps.registry.numbersOf(metric)
      if (!numbers) continue
      const { number, protocol } = numbers
      const isNext = last?.protocol === protocol && last.to + 1 === number && metric.hour === before
      if (last && isNext && number < last.from + runMetricsMax) last.to = number
      else {
        last = { hour: hourNumber(metric.hour), protocol, from: number, to: number }
        all.push(last)
        before = metric.hour
      }
    }
    return all
  }
}
