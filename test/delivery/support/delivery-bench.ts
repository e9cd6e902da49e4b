import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Delivery } from '../../../src/delivery/delivery.ts'
import type { Destination } from '../../../src/delivery/destination.ts'
import { type ClockComparison, type FlushOccasion, Pacer, ServiceClock } from '../../../src/delivery/gate.ts'
import { dice } from '../../../src/devchain/dice.ts'
import type { ServiceClient } from '../../../src/edge/service-client.ts'
import type { Time } from '../../../src/edge/time.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { DeliveryStore, DestinationState } from '../../../src/outbox/contract/delivery-store.ts'
import type { Balance, Warning } from '../../../src/outbox/contract/metrics.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { allWarnings, destinationStates } from '../../../src/outbox/store/notes.ts'
import { backlogOf } from '../../../src/outbox/store/values.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { slowOutbox, someTurns } from '../../outbox/support/slow-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { silentLog } from '../../support/log.ts'
import { anHour } from '../../support/metrics.ts'
import { atOnce, expectHoursNow } from '../../support/stored-hours.ts'
import { protocol } from './protocol.ts'

/** A minute after `anHour`. */
export const startMs = anHour + 60_000

/** The outbox of a test that must hold however late the outbox answers: one that does at once, and one that does not. */
export const storeTurnsEach = [0, 3] as const

/** Options of a bench that differ from the usual. */
export interface DeliveryBenchOptions {
  readonly client: ServiceClient
  readonly time: Time
  /** One, `service`, of the protocols `vault` and `other`, when absent. */
  readonly destinations?: readonly Destination[]
  readonly pacePerSecond?: number
  readonly inFlight?: number
  /** The service's clock was seen already, and is as this machine's: it need not be asked for. */
  readonly isClockKnown?: boolean
  /** RequestSlots of the event loop until the outbox is asked, and again until its answer is there, at most; default: none. */
  readonly storeTurns?: number
  /** The outbox as the deliveries see it; default: as it is. */
  readonly asSeen?: (store: DeliveryStore) => DeliveryStore
  /** Who compares this machine's clock. Default: no one. */
  readonly comparison?: ClockComparison
}

/** Deliveries on a real outbox on disk. */
export class DeliveryBench {
  readonly file = join(temporaryFolder(), 'outbox.db')
  key = 'the-first-key'
  outbox: SqliteOutbox
  readonly #options: DeliveryBenchOptions
  #deliveries: ReadonlyMap<string, Delivery>

  constructor(options: DeliveryBenchOptions) {
    this.#options = options
    this.outbox = this.#open()
    this.#deliveries = this.#newDeliveries()
    onTestFinished(() => this.outbox.close())
  }

  get destinations(): readonly Destination[] {
    const usual = { name: 'service', readKey: () => this.key, protocols: [protocol('vault'), protocol('other')] }
    return this.#options.destinations ?? [usual]
  }

  #open(): SqliteOutbox {
    const outbox = new SqliteOutbox(this.file)
    for (const { protocols } of this.destinations) {
      for (const { id } of protocols) expectHoursNow(outbox, `${id}/c`, anHour)
    }
    return outbox
  }

  #newDeliveries(): ReadonlyMap<string, Delivery> {
    const { client, time, pacePerSecond = 1_000, inFlight = 4, isClockKnown = false } = this.#options
    const clock = new ServiceClock(this.#options.comparison)
    if (isClockKnown) clock.observe({ kind: 'answered', status: 200, body: undefined, skewMs: 0 })
    const pacer = new Pacer(time, pacePerSecond)
    const parts = {
      outbox: this.#store,
      client,
      pacer,
      clock,
      inFlight,
      log: silentLog,
      redactor: new Redactor(),
      time,
    }
    return new Map(this.destinations.map(destination => [destination.name, new Delivery({ ...parts, destination })]))
  }

  get #store(): DeliveryStore {
    const { storeTurns = 0, asSeen = store => store } = this.#options
    if (storeTurns === 0) return asSeen(this.outbox.delivery)
    const { roll } = dice(storeTurns)
    return slowOutbox(this.outbox, () => someTurns(roll, storeTurns)).delivery
  }

  /** As a new process: nothing is remembered but what is on the disk. */
  restart(): void {
    this.outbox.close()
    this.outbox = this.#open()
    this.#deliveries = this.#newDeliveries()
  }

  /** New deliveries of the same process, on the same outbox. */
  renew(): void {
    this.#deliveries = this.#newDeliveries()
  }

  async store(stored: readonly Metric[]): Promise<void> {
    const groups = Map.groupBy(stored, ({ protocolId, hour }) => `${protocolId} ${hour}`).values()
    const record = async (metrics: readonly Metric[]) => {
      const [first] = metrics
      if (!first) return
      const accepted = metrics.map(metric => ({ metric }))
      const collector = `${first.protocolId}/c`
      await this.outbox.intake.record(
        { collector, hour: first.hour, acceptedValues: accepted },
        this.#options.time.nowMs(),
      )
    }
    await Promise.all([...groups].map(record))
  }

  async flush(occasion: FlushOccasion = 'due', signal = new AbortController().signal): Promise<void> {
    await Promise.all([...this.#deliveries.values()].map(delivery => delivery.flush(occasion, signal)))
  }

  async flushOne(name: string, occasion: FlushOccasion = 'due'): Promise<void> {
    await this.#deliveries.get(name)?.flush(occasion, new AbortController().signal)
  }

  /** For a loop. */
  get deliveries(): readonly Delivery[] {
    return [...this.#deliveries.values()]
  }

  state(name = 'service'): DestinationState {
    return atOnce(this.outbox, () => destinationStates([name]))[0] as DestinationState
  }

  /** When the breaker or the service lets the next flush begin. */
  get nextMs(): number {
    const { notBeforeMs, probeAtMs } = this.state()
    return Math.max(notBeforeMs, probeAtMs)
  }

  get balance(): Balance {
    return atOnce(this.outbox, backlogOf).balance
  }

  get warnings(): Warning[] {
    return atOnce(this.outbox, allWarnings)
  }
}
