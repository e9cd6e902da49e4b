import { nextTurn } from '../../../edge/next-turn.ts'
import { hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { DueSelection } from '../../contract/selections.ts'
import { metricAt } from '../../rows/metric-at.ts'
import { valueAt } from '../../rows/run-values.ts'
import { splitWhere } from '../../rows/runs-of.ts'
import { stateNumber } from '../../rows/states.ts'
import type { Corrections } from './corrections.ts'
import type { MetricRegistry, NumberSpan } from './metric-registry.ts'
import type { MetricRuns, RunOfHour } from './metric-runs.ts'
import type { Tally } from './tally.ts'

interface SelectedRun extends RunOfHour {
  readonly bytes: Buffer
}

/** Selected due metrics of one run with consecutive numbers. */
interface SelectedSpan extends NumberSpan {
  readonly run: SelectedRun
}

interface DueSelectionRow {
  readonly ids: string | null
  readonly protocols: string | null
  readonly hour: number | null
}

/** Dependencies of `DueSelections`. */
interface DueSelectionsDeps {
  readonly registry: MetricRegistry
  readonly runs: MetricRuns
  readonly tally: Tally
  readonly corrections: Corrections
}

/** Lists and drops due metrics for a person, and sends delivered ones again, whichever process delivers them. */
export class DueSelections {
  readonly #deps: DueSelectionsDeps
  readonly #runs
  readonly #numbers
  readonly #drop
  readonly #resend

  constructor(database: Sqlite, deps: DueSelectionsDeps) {
    this.#deps = deps
    const ofProtocols = (table: string) =>
      `(@protocols IS NULL OR ${table}.protocol IN (SELECT id FROM protocol WHERE name IN (SELECT value FROM json_each(@protocols))))`
    this.#runs = database.prepare<DueSelectionRow, SelectedRun>(
      `SELECT hour, first, metrics, outbox.protocol, state, metric_values AS bytes FROM outbox
       WHERE hour IN (SELECT hour FROM due_count WHERE hour = coalesce(@hour, hour) AND ${ofProtocols('due_count')})
         AND state = 0 AND ${ofProtocols('outbox')}
         AND (@ids IS NULL OR EXISTS (SELECT 1 FROM metric JOIN protocol ON protocol.id = metric.protocol
           WHERE metric.id BETWEEN first AND first + metrics - 1 AND (metric.name IN (SELECT value FROM json_each(@ids))
             OR protocol.name IN (SELECT value FROM json_each(@ids)))))
       ORDER BY hour, first`,
    )
    this.#numbers = database
      .prepare<{ ids: string | null }, number>(
        `SELECT metric.id FROM metric JOIN protocol ON protocol.id = metric.protocol
         WHERE metric.name IN (SELECT value FROM json_each(@ids)) OR protocol.name IN (SELECT value FROM json_each(@ids))`,
      )
      .pluck()
    this.#drop = database.transaction((spans: readonly SelectedSpan[]) =>
      spans.reduce((dropped, span) => dropped + this.#dropSpan(span), 0),
    )
    this.#resend = database.transaction((metrics: readonly MetricKey[]) => {
      deps.registry.refresh()
      return metrics.filter(metric => this.#resendOne(metric)).length
    })
  }

  /** The selected metrics, by hour. */
  list(selection: DueSelection): Metric[] {
    const { registry } = this.#deps
    return registry.reading(() =>
      this.#spans(selection).flatMap(({ first, last, run }) =>
        numbersOf(first, last).map(number => {
          return metricAt(registry.numbered(number), run.hour, valueAt(run.bytes, number - run.first))
        }),
      ),
    )
  }

  /** As `OperatorStore.dropDue`. Uses several commits, so that a daemon that writes to the same file is not blocked. */
  async drop(selection: DueSelection): Promise<number> {
    let dropped = 0
    for (const some of commitsOf(this.#deps.registry.reading(() => this.#spans(selection)))) {
      dropped += this.#drop.immediate(some)
      await nextTurn()
    }
    return dropped
  }

  /** As `OperatorStore.resend`. Uses several commits, as `drop` does. */
  async resend(metrics: readonly MetricKey[]): Promise<number> {
    let resent = 0
    for (let at = 0; at < metrics.length; at += commitRowsMax) {
      resent += this.#resend.immediate(metrics.slice(at, at + commitRowsMax))
      await nextTurn()
    }
    return resent
  }

  #resendOne({ id, hour }: MetricKey): boolean {
    const { registry, runs, tally } = this.#deps
    const known = registry.metric(id)
    const [at, number] = [hourNumber(hour), known?.number ?? 0]
    const moved = runs.move(at, number, number, stateNumber('delivered'), { state: stateNumber('due') })
    if (known && moved > 0) tally.move(known.protocol, 'delivered', 'due', new Map([[at, moved]]))
    return moved > 0
  }

  #spans({ ids, protocolIds, hour }: DueSelection): SelectedSpan[] {
    const bound = {
      ids: ids ? JSON.stringify(ids) : null,
      protocols: protocolIds ? JSON.stringify(protocolIds) : null,
      hour: hour === undefined ? null : hourNumber(hour),
    }
    const selected = ids && new Set(this.#numbers.all(bound))
    return this.#runs.all(bound).flatMap(run => {
      const last = run.first + run.metrics - 1
      if (!selected) return { first: run.first, last, run }
      const own = numbersOf(run.first, last).filter(number => selected.has(number))
      return spansOf(own).map(span => ({ ...span, run }))
    })
  }

  /** Drops those that are still due. @returns how many */
  #dropSpan({ first, last, run }: SelectedSpan): number {
    const { runs, tally, corrections } = this.#deps
    const { hour, protocol } = run
    const dropped = runs.move(hour, first, last, stateNumber('due'), { state: stateNumber('dropped') })
    if (dropped === 0) return 0
    tally.move(protocol, 'due', 'dropped', new Map([[hour, dropped]]))
    for (const number of corrections.areThere ? numbersOf(first, last) : []) {
      if (runs.at(hour, number)?.state === stateNumber('dropped')) corrections.remove(hour, number)
    }
    return dropped
  }
}

function numbersOf(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place)
}

function spansOf(numbers: readonly number[]): NumberSpan[] {
  return splitWhere(numbers, (before, number) => before + 1 !== number).map(some => ({
    first: some[0] ?? 0,
    last: some.at(-1) ?? 0,
  }))
}

/** Splits spans into the parts of several commits. */
function commitsOf(spans: readonly SelectedSpan[]): SelectedSpan[][] {
  const commits: SelectedSpan[][] = []
  let room = 0
  for (const span of spans) {
    const metrics = span.last - span.first + 1
    if (room < metrics) {
      commits.push([])
      room = commitRowsMax
    }
    commits.at(-1)?.push(span)
    room -= metrics
  }
  return commits
}
