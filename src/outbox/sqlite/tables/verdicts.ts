import { hourNumber } from '../../../model/hour.ts'
import { type MetricList, runsOf } from '../../../model/metric-list.ts'
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

/** Consecutive numbers of metrics of one hour and protocol. */
interface SpanOfHour {
  readonly hour: number
  readonly protocol: number
  readonly first: number
  last: number
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

  #markDelivered(metrics: MetricList, nowMs: number): void {
    const { corrections } = this.#deps
    const { current, corrected } = corrections.sorted(metrics)
    this.#mark(current, 'delivered', nowMs)
    corrections.delivered(corrected)
  }

  #markDead({ metric, reason, status, attempts }: DeadLetter, nowMs: number): void {
    const { registry, corrections, deadAndHeld } = this.#deps
    const known = registry.metric(metric.id)
    const { current } = corrections.sorted([metric])
    if (!known) return
    if (this.#mark(current, 'dead', nowMs) === 0) return
    const hour = hourNumber(metric.hour)
    corrections.remove(hour, known.number)
    deadAndHeld.add({ hour, metric: known.number, kind: 'refused', reason, status, attempts, sinceMs: nowMs })
  }

  /** @returns how many were due */
  #mark(metrics: MetricList, state: 'delivered' | 'dead', nowMs: number): number {
    const { runs, tally, unsent } = this.#deps
    const next = { state: stateNumber(state), deliveredMs: state === 'delivered' ? nowMs : null }
    const moved = new Map<number, Map<number, number>>()
    let all = 0
    for (const { hour, protocol, first, last } of this.#spansOf(metrics)) {
      unsent.remove(hour, { first, last })
      const marked = runs.move(hour, first, last, stateNumber('due'), next)
      if (marked === 0) continue
      const byHour = moved.get(protocol) ?? new Map<number, number>()
      moved.set(protocol, byHour.set(hour, (byHour.get(hour) ?? 0) + marked))
      all += marked
    }
    for (const [protocol, byHour] of moved) tally.move(protocol, 'due', state, byHour)
    return all
  }

  /** Neighbours as one, up to the length of a run: a run that was sent in two batches would be divided. */
  #spansOf(metrics: MetricList): SpanOfHour[] {
    const { registry } = this.#deps
    const all: SpanOfHour[] = []
    for (const run of runsOf(metrics)) {
      const hour = hourNumber(run.hour)
      const protocol = registry.protocol(run.protocolId) ?? 0
      for (const { first, last } of registry.spansOf(run)) {
        const before = all.at(-1)
        const isNext = before?.hour === hour && before.protocol === protocol && before.last + 1 === first
        if (before && isNext && last < before.first + runMetricsMax) before.last = last
        else all.push({ hour, protocol, first, last })
      }
    }
    return all
  }
}
