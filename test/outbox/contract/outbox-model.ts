import type { Hour } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { CollectionOutcome, CollectionState, Recorded } from '../../../src/outbox/contract/hours.ts'
import type { Balance, MetricState } from '../../../src/outbox/contract/metrics.ts'

interface ModelMetric {
  readonly metric: Metric
  readonly state: MetricState
}

interface ModelHour {
  readonly collector: string
  readonly hour: Hour
  readonly state: CollectionState
  readonly attempts: number
  /** Code of its fault; absent without one. */
  readonly code?: string
}

const keyOf = ({ id, hour }: Pick<Metric, 'id' | 'hour'>) => `${hour} ${id}`
const hourKey = (collector: string, hour: Hour) => `${hour} ${collector}`

/** The promises of an outbox as plain maps: without units, and for collectors that start at one hour. */
export class OutboxModel {
  readonly #start: Hour
  readonly #metrics = new Map<string, ModelMetric>()
  readonly #hours = new Map<string, ModelHour>()

  /** @param start first hour of every collector */
  constructor(start: Hour) {
    this.#start = start
  }

  plan(collector: string, current: Hour, oldest: Hour): number {
    for (const row of this.#own(collector)) {
      if (row.hour > current && row.state !== 'collected') this.#hours.delete(hourKey(collector, row.hour))
    }
    for (let hour = this.#start; hour <= current; hour = (hour + hourMs) as Hour) {
      if (!this.#hours.has(hourKey(collector, hour))) this.#set({ collector, hour, state: 'due', attempts: 0 })
    }
    for (const { code, ...row } of this.#own(collector)) {
      const isReopened = row.hour === current || (row.hour >= oldest && code === 'hour-too-old')
      if (row.state === 'gap' && isReopened) this.#set({ ...row, state: 'due' })
    }
    const tooOld = this.#own(collector).filter(({ state, hour }) => state === 'due' && hour < oldest)
    for (const row of tooOld) this.#set({ code: 'hour-too-old', ...row, state: 'gap' })
    return tooOld.length
  }

  record({ collector, hour, acceptedValues, mode, failure }: CollectionOutcome): Recorded {
    let [added, corrected] = [0, 0]
    for (const { metric, hold } of acceptedValues) {
      const key = keyOf(metric)
      const stored = this.#metrics.get(key)
      if (!stored) {
        this.#metrics.set(key, { metric, state: hold ? 'held' : 'due' })
        added += 1
      } else if (mode === 'correct' && stored.metric.value !== metric.value && stored.state !== 'dropped') {
        this.#metrics.set(key, { metric, state: hold || stored.state === 'held' ? 'held' : 'due' })
        corrected += 1
      }
    }
    this.#end(collector, hour, failure?.fault.code)
    return { added, corrected }
  }

  recordGap(collector: string, hour: Hour, code: string): void {
    const { state = 'due', attempts = 0 } = this.#hours.get(hourKey(collector, hour)) ?? {}
    if (state === 'due') this.#set({ collector, hour, state: 'gap', attempts: attempts + 1, code })
  }

  /** A verdict counts for a metric that is due with the value that was sent. */
  verdict(sent: readonly Metric[], state: 'delivered' | 'dead'): void {
    for (const metric of sent) {
      const stored = this.#metrics.get(keyOf(metric))
      if (stored?.state === 'due' && stored.metric.value === metric.value) this.#move(stored, state)
    }
  }

  /** Moves the metrics of some protocols, or all, from one state to another. @returns how many */
  decide(from: MetricState, to: MetricState, protocolIds: readonly string[] | undefined): number {
    const chosen = this.#in(from).filter(({ metric }) => protocolIds?.includes(metric.protocolId) ?? true)
    for (const one of chosen) this.#move(one, to)
    return chosen.length
  }

  /** Keys of the metrics in a state. */
  keysIn(state: MetricState): ReadonlySet<string> {
    return new Set(this.#in(state).map(({ metric }) => keyOf(metric)))
  }

  /** Every metric that is not dropped. */
  get metrics(): readonly string[] {
    const shown = [...this.#metrics.values()].filter(({ state }) => state !== 'dropped')
    return shown.map(({ metric, state }) => metricLine(metric, state)).toSorted()
  }

  get hours(): readonly ModelHour[] {
    return [...this.#hours.values()].toSorted((a, b) => a.hour - b.hour || (a.collector < b.collector ? -1 : 1))
  }

  get balance(): Balance {
    const count = (state: MetricState) => this.#in(state).length
    const [delivered, dead, held, due] = [count('delivered'), count('dead'), count('held'), count('due')]
    return {
      enqueued: delivered + dead + held + due,
      delivered,
      dead,
      held,
      due,
      dropped: count('dropped'),
      private: count('private'),
    }
  }

  countsOf(protocolId: string): { readonly due: number; readonly finished: number } {
    const of = (state: MetricState) => this.#in(state).filter(({ metric }) => metric.protocolId === protocolId).length
    return { due: of('due'), finished: of('delivered') + of('dead') + of('dropped') }
  }

  #end(collector: string, hour: Hour, code: string | undefined): void {
    const row = this.#hours.get(hourKey(collector, hour))
    const attempts = (row?.attempts ?? 0) + 1
    if (code === undefined) {
      if (row?.state !== 'collected') this.#set({ collector, hour, state: 'collected', attempts })
    } else if (row?.state === 'due') this.#set({ ...row, attempts, code })
  }

  #move({ metric }: ModelMetric, state: MetricState): void {
    this.#metrics.set(keyOf(metric), { metric, state })
  }

  #in(state: MetricState): ModelMetric[] {
    return [...this.#metrics.values()].filter(one => one.state === state)
  }

  #own(collector: string): ModelHour[] {
    return [...this.#hours.values()].filter(row => row.collector === collector)
  }

  #set(row: ModelHour): void {
    this.#hours.set(hourKey(row.collector, row.hour), row)
  }
}

/** A metric in one line, to compare. */
export function metricLine(metric: Metric, state: MetricState): string {
  return `${keyOf(metric)} ${metric.value} ${state}`
}

/** Key of a metric, as in the model. */
export const modelKey = keyOf
