import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../../src/model/hour.ts'
import type { Metric } from '../../src/model/metric.ts'
import type { CollectionOutcome } from '../../src/outbox/contract/hours.ts'
import type { MetricState } from '../../src/outbox/contract/metrics.ts'
import type { Facts } from './facts.ts'
import type { Look, Row } from './look.ts'
import type { Script } from './script.ts'
import type { Service } from './service.ts'

/** Metrics the outbox has promised to keep, and what it must be found to say of them. */
export class Ledger {
  readonly #script: Script
  readonly #facts: Facts
  readonly #service: Service
  /** By metric and hour, what its value may be found to be. */
  readonly #kept = new Map<string, ReadonlySet<number>>()
  /** Every value it ever had, or may have had. */
  readonly #ever = new Map<string, Set<number>>()
  /** Corrections that may be there, though no answer said so. */
  readonly #offered = new Map<string, Set<number>>()
  /** Changes of its value so far. */
  readonly #changes = new Map<string, number>()
  readonly #states = new Map<string, { readonly state: MetricState; readonly changes: number }>()
  /** Values that are known to be delivered. */
  readonly #delivered = new Map<string, number>()

  constructor(script: Script, facts: Facts, service: Service) {
    this.#script = script
    this.#facts = facts
    this.#service = service
  }

  /** The outbox is asked to keep them. */
  offered({ acceptedValues, mode }: CollectionOutcome): void {
    for (const { metric } of acceptedValues) {
      const key = keyOf(metric)
      if (mode === 'correct') added(this.#offered, key, metric.value)
      if (mode === 'correct' || !this.#kept.has(key)) added(this.#ever, key, metric.value)
    }
  }

  /** The outbox has promised to keep them; the first value of a metric and hour stands unless it is corrected. */
  accepted({ acceptedValues, mode }: CollectionOutcome): void {
    for (const { metric } of acceptedValues) {
      const key = keyOf(metric)
      const kept = this.#kept.get(key)
      if (!kept) this.#kept.set(key, new Set([metric.value]))
      if (!kept || mode !== 'correct' || (kept.size === 1 && kept.has(metric.value))) continue
      // A metric that a person has dropped stays as it is.
      this.#changed(key, this.#mayDrop ? [...kept, metric.value] : [metric.value])
    }
  }

  #changed(key: string, values: readonly number[]): void {
    this.#kept.set(key, new Set(values))
    this.#changes.set(key, (this.#changes.get(key) ?? 0) + 1)
    this.#delivered.delete(key)
  }

  get #mayDrop(): boolean {
    return this.#script.person.some(({ act }) => act === 'drop')
  }

  /** A metric goes out. */
  sends(key: string, value: number, isAlone: boolean): void {
    const ever = this.#ever.get(key)
    if (ever && !ever.has(value)) this.#facts.broken(`${key} is sent with ${value} and was ${[...ever]}`)
    // One that stands alone may be a witness.
    if (!isAlone && this.#delivered.get(key) === value) this.#facts.broken(`${key} is delivered and sent again`)
  }

  /** The outbox knows that they are delivered. */
  delivered(metrics: readonly Metric[]): void {
    for (const metric of metrics) this.#delivered.set(keyOf(metric), metric.value)
  }

  /** A power cut may have taken verdicts back. */
  powerWasCut(): void {
    this.#states.clear()
    this.#delivered.clear()
  }

  /** Compares the outbox with what was promised. */
  check(look: Look, nowMs: number): readonly Row[] {
    this.checkBalance(look)
    const rows = look.rows()
    const found = new Set<string>()
    for (const row of rows) {
      const key = `${row.id} ${hourText(row.hour)}`
      found.add(key)
      this.#checkRow(key, row)
    }
    const isGone = (key: string) => !found.has(key) && !this.#isPruned(key, nowMs)
    for (const key of this.#kept.keys()) if (isGone(key)) this.#facts.broken(`lost: ${key}`)
    for (const key of this.#facts.allSent.keys())
      if (isGone(key)) this.#facts.broken(`was sent and is not there: ${key}`)
    this.#checkCollected(look, found, nowMs)
    // No one is left who could report it.
    this.#offered.clear()
    return rows
  }

  /** An hour is collected together with its metrics, never without them. */
  #checkCollected(look: Look, found: ReadonlySet<string>, nowMs: number): void {
    for (const { collector, hour, state } of look.expectedHours()) {
      const script = this.#script.collectors.find(({ id }) => id === collector)
      if (state !== 1 || !script) continue
      const keys = Object.keys(script.metrics).map(label => `${script.protocolId}___${label} ${hourText(hour)}`)
      const missing = keys.find(key => !found.has(key) && !this.#isPruned(key, nowMs))
      if (missing !== undefined) this.#facts.broken(`${collector} was collected without ${missing}`)
    }
  }

  /** Metrics delivered or dropped long ago need not be kept. */
  #isPruned(key: string, nowMs: number): boolean {
    const hour = Date.parse(key.split(' ')[1] ?? '')
    const mayGo = this.#service.stored.has(key) || this.#script.person.some(({ act }) => act === 'drop')
    return mayGo && hour < nowMs - this.#script.keepMs
  }

  /** The counts must be those of the rows. */
  checkBalance(look: Look): void {
    const [counted, tallied] = [look.counted(), look.tallied()]
    if (counted !== tallied) this.#facts.broken(`the outbox counts ${tallied}, there are ${counted}`)
  }

  #checkRow(key: string, { value, state, protocolId }: Row): void {
    this.#checkValue(key, value)
    const sent = this.#facts.allSent.get(key) ?? value
    const isCorrected = this.#changes.has(key) && state !== 'delivered'
    if (sent !== value && !isCorrected) this.#facts.broken(`${key} is ${value} and was sent with ${sent}`)
    if (state === 'delivered' && this.#service.stored.get(key) !== value) {
      this.#facts.broken(`${key} is delivered, and the service has ${this.#service.stored.get(key)}`)
    }
    if (state === 'dead' && !this.#service.refused.has(key)) this.#facts.broken(`${key} is dead and was not refused`)
    if (state === 'dropped' && this.#script.person.length === 0)
      this.#facts.broken(`${key} was dropped, and by no person`)
    this.#checkMove(key, state)
    if (!this.#script.protocols.some(({ id }) => id === protocolId)) this.#facts.broken(`${key} is of no protocol`)
  }

  #checkValue(key: string, value: number): void {
    const kept = this.#kept.get(key)
    added(this.#ever, key, value)
    if (kept?.has(value)) this.#kept.set(key, new Set([value]))
    else if (!kept) this.#kept.set(key, new Set([value]))
    else if (this.#offered.get(key)?.has(value)) this.#changed(key, [value])
    else this.#facts.broken(`${key} was ${[...kept]} and is ${value}`)
  }

  #checkMove(key: string, state: MetricState): void {
    const changes = this.#changes.get(key) ?? 0
    const before = this.#states.get(key) ?? { state: 'due', changes }
    this.#states.set(key, { state, changes })
    const isMovedByPerson = before.state !== 'delivered' && this.#script.person.length > 0
    const mayLeave = ['due', state].includes(before.state) || before.changes < changes || isMovedByPerson
    if (!mayLeave) this.#facts.broken(`${key} was ${before.state} and is ${state}`)
  }
}

function keyOf({ id, hour }: Pick<Metric, 'id' | 'hour'>): string {
  return `${id} ${hourText(hour)}`
}

function added(sets: Map<string, Set<number>>, key: string, value: number): void {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set.add(value))
}

/** Everything a world knows in the end. */
export interface Ending {
  readonly script: Script
  readonly facts: Facts
  readonly service: Service
}

/** After the service was healthy for long enough, nothing is due that it would take, and no hour that can be had is missing. */
export function checkEnd({ script, facts, service }: Ending, rows: readonly Row[], look: Look, lastHour: Hour): void {
  const { isPoisonMended } = script.service
  for (const { id, hour, state } of rows) {
    const key = `${id} ${hourText(hour)}`
    if (state !== 'due' || (!isPoisonMended && service.isPoison(key))) continue
    // When only bad ones are left, the metrics cannot be known to be at fault.
    if (
      service.refused.has(key) &&
      look.waiting().some(sentence => sentence.includes('the service rejects every metric'))
    )
      continue
    facts.broken(`still due: ${key}`)
  }
  checkExpected(script, facts, look, lastHour)
  checkPlanned(script, facts, look)
  for (const { collector, hour, state } of look.expectedHours()) {
    const { history = false, reads } = script.collectors.find(({ id }) => id === collector) ?? {}
    const isTooOld = state === 2 && hour < lastHour - script.catchUpMs
    if (history && !reads && hour <= lastHour && state !== 1 && !isTooOld)
      facts.broken(`${collector} has no values of ${hourText(hour)}`)
  }
}

/** No clock that was wrong has left hours that are not expected. */
function checkPlanned(script: Script, facts: Facts, look: Look): void {
  const since = script.collectors.map(own => own.since ?? hourAt(script.startMs))
  const filled = script.backfills.map(({ atMs, hours }) => hourAfter(hourAt(atMs), -hours))
  const first = Math.min(...since, ...filled)
  const last = hourAt(facts.lastMs)
  for (const { collector, hour } of look.expectedHours()) {
    if (hour < first || hour > last) facts.broken(`${collector} has a row of ${hourText(hour)}, which is not expected`)
  }
}

/** Every hour that has passed is collected, or a gap that says why. */
function checkExpected(script: Script, facts: Facts, look: Look, lastHour: Hour): void {
  const byCollector = Map.groupBy(look.expectedHours(), ({ collector }) => collector)
  for (const { collector, since } of look.since()) {
    const own = new Map(byCollector.get(collector)?.map(seen => [seen.hour, seen]))
    const first = Math.max(since, hourAt(script.startMs)) as Hour
    for (const hour of hoursFrom(first, lastHour)) {
      const { state = 0, code } = own.get(hour) ?? {}
      const isKnown = state === 1 || (state === 2 && code !== undefined)
      if (!isKnown) facts.broken(`${collector} of ${hourText(hour)} is neither collected nor a gap with a reason`)
    }
  }
}
