import { type Hour, hourText } from '../../src/model/hour.ts'
import type { CollectionOutcome } from '../../src/outbox/outbox.ts'
import type { MetricState } from '../../src/outbox/states.ts'
import type { Facts } from './facts.ts'
import type { Look, Row } from './look.ts'
import type { Script } from './script.ts'
import type { Service } from './service.ts'

/** Metrics the outbox has promised to keep, and what it must be found to say of them. */
export class Ledger {
  readonly #script: Script
  readonly #facts: Facts
  readonly #service: Service
  /** Values by metric and hour. */
  readonly #kept = new Map<string, number>()
  readonly #states = new Map<string, MetricState>()

  constructor(script: Script, facts: Facts, service: Service) {
    this.#script = script
    this.#facts = facts
    this.#service = service
  }

  /** The outbox has promised to keep them; the first value of a metric and hour stands. */
  accepted({ accepted }: CollectionOutcome): void {
    for (const { metric } of accepted) {
      const key = `${metric.id} ${hourText(metric.hour)}`
      if (!this.#kept.has(key)) this.#kept.set(key, metric.value)
    }
  }

  /** A power cut may have taken verdicts back. */
  powerWasCut(): void {
    this.#states.clear()
  }

  /** What is found in the outbox must be what was promised. */
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
    return rows
  }

  /** An hour is collected together with its metrics, never without them. */
  #checkCollected(look: Look, found: ReadonlySet<string>, nowMs: number): void {
    for (const { collector, hour, state } of look.collections()) {
      const script = this.#script.collectors.find(({ id }) => id === collector)
      if (state !== 1 || !script) continue
      const keys = Object.keys(script.metrics).map(label => `${script.protocolId}___${label} ${hourText(hour)}`)
      const missing = keys.find(key => !found.has(key) && !this.#isPruned(key, nowMs))
      if (missing !== undefined) this.#facts.broken(`${collector} was collected without ${missing}`)
    }
  }

  /** What was delivered, or dropped, long ago need not be kept. */
  #isPruned(key: string, nowMs: number): boolean {
    const hour = Date.parse(key.split(' ')[1] ?? '')
    const mayGo = this.#service.stored.has(key) || this.#script.person.some(({ act }) => act === 'drop')
    return mayGo && hour < nowMs - this.#script.keepMs
  }

  /** The counts must be those of the rows. */
  checkBalance(look: Look): void {
    const [counted, told] = [look.counted(), look.told()]
    if (counted !== told) this.#facts.broken(`the outbox counts ${told}, there are ${counted}`)
  }

  #checkRow(key: string, { value, state, protocolId }: Row): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) this.#kept.set(key, value)
    else if (kept !== value) this.#facts.broken(`${key} was ${kept} and is ${value}`)
    const sent = this.#facts.allSent.get(key) ?? value
    if (sent !== value) this.#facts.broken(`${key} is ${value} and was sent with ${sent}`)
    if (state === 'delivered' && this.#service.stored.get(key) !== value) {
      this.#facts.broken(`${key} is delivered, and the service has ${this.#service.stored.get(key)}`)
    }
    if (state === 'dead' && !this.#service.refused.has(key)) this.#facts.broken(`${key} is dead and was not refused`)
    if (state === 'dropped' && this.#script.person.length === 0) this.#facts.broken(`${key} was dropped by nobody`)
    this.#checkMove(key, state)
    if (!this.#script.protocols.some(({ id }) => id === protocolId)) this.#facts.broken(`${key} is of no protocol`)
  }

  #checkMove(key: string, state: MetricState): void {
    const before = this.#states.get(key) ?? 'due'
    this.#states.set(key, state)
    const mayLeave = before === 'due' || before === state || (before !== 'delivered' && this.#script.person.length > 0)
    if (!mayLeave) this.#facts.broken(`${key} was ${before} and is ${state}`)
  }
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
    // When nothing but bad ones is left, it cannot be told whether it is the metrics.
    if (service.refused.has(key) && look.waiting().some(sentence => sentence.includes('every metric is refused')))
      continue
    facts.broken(`still due: ${key}`)
  }
  for (const { collector, hour, state } of look.collections()) {
    const { history = false } = script.collectors.find(({ id }) => id === collector) ?? {}
    if (history && hour <= lastHour && state !== 1) facts.broken(`${collector} has no values of ${hourText(hour)}`)
  }
}
