import type { Time } from '../../edge/time.ts'
import { hourText } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { Outbox, Settlement } from '../../outbox/outbox.ts'
import type { Log } from '../../telemetry/log.ts'
import type { ServiceClock } from '../gate/service-clock.ts'
import type { Sending } from '../isolate/actions.ts'
import type { Quarantine } from '../isolate/quarantine.ts'
import { AckGroup } from './ack-group.ts'
import type { Doubt } from './doubt.ts'
import { loggedWarningsMax, unrecordedMax } from './limits.ts'
import { failingSentence, protocolFix, protocolSentence } from './sentences.ts'

/** What settling works with. */
export interface SettlingOptions {
  readonly outbox: Outbox
  readonly clock: ServiceClock
  readonly quarantine: Quarantine
  readonly doubt: Doubt
  readonly log: Log
  readonly time: Time
}

/** Records what the service said, in the outbox and in the log, and what it means for later flushes. */
export class Settling {
  readonly #options: SettlingOptions
  readonly #acks: AckGroup
  readonly #unrecorded = new MetricSet()

  constructor(options: SettlingOptions) {
    this.#options = options
    const { outbox, time } = options
    this.#acks = new AckGroup((settlement, onDelay) =>
      outbox.writer.whenFree(() => outbox.settle(settlement, time.nowMs()), onDelay),
    )
  }

  /** Metrics whose verdict is not in the outbox yet, where they are still due. */
  get unrecorded(): Pick<MetricSet, 'has' | 'size'> {
    return this.#unrecorded
  }

  /**
   * Resolves when it is recorded. While another process has the outbox's lock, pushes go on: a bounded number of verdicts
   * waits in memory. After a crash those metrics are sent again, which only updates.
   */
  async settle({ delivered, dead, warnings }: Settlement, sending: Sending): Promise<void> {
    const { clock, doubt, time } = this.#options
    const latest = clock.latestHour(time.nowMs())
    // What was refused because this machine's clock is ahead is sent again in its time.
    const deadNow = dead.filter(({ metric }) => metric.hour <= latest)
    const settlement = { delivered, dead: deadNow, warnings: doubt.news(warnings, sending, delivered) }
    const delayed = Promise.withResolvers<void>()
    const recorded = this.#record(settlement, delayed.resolve)
    await (this.#unrecorded.size > unrecordedMax ? recorded : Promise.race([recorded, delayed.promise]))
    // Of one that fails later its metrics are still due: it is told when they are sent again.
    recorded.catch(() => {})
  }

  async #record(settlement: Settlement, onDelay: () => void): Promise<void> {
    const { quarantine, doubt } = this.#options
    const { delivered, dead } = settlement
    const metrics = [...delivered, ...dead.map(({ metric }) => metric)]
    for (const metric of metrics) this.#unrecorded.add(metric)
    try {
      await this.#acks.add(settlement, onDelay)
    } catch (error) {
      // The service has them, and the outbox does not know: they are sent again.
      doubt.add(delivered)
      throw error
    } finally {
      for (const metric of metrics) this.#unrecorded.delete(metric)
    }
    doubt.settled(delivered)
    quarantine.delivered(delivered)
    for (const { metric } of dead) quarantine.dead(metric)
    this.#tell(settlement)
  }

  /** The service rejects a protocol. */
  quarantineRejected(id: string, status: number, reason: string): void {
    this.#quarantine(id, protocolSentence(id, status, reason))
    const fix = protocolFix(id, status)
    this.#options.log.error({ protocol: id, status, reason, fix }, 'protocol refused: its metrics stay due')
  }

  /** The service fails on a protocol. */
  quarantineProtocol(protocolId: string, reason: string): void {
    this.#quarantine(protocolId, failingSentence(protocolId, reason))
    this.#options.log.error({ protocol: protocolId, reason }, 'the service fails on a protocol: its metrics stay due')
  }

  /** The service fails on a metric, and on its protocol where it does so on several. */
  quarantineMetric(metric: Metric, reason: string): void {
    const { quarantine, log, time } = this.#options
    const isProtocol = quarantine.addMetric(metric, reason, time.nowMs(), time.chance())
    log.error({ metric: metric.id, hour: hourText(metric.hour), reason }, 'the service fails on a metric: it stays due')
    if (isProtocol) this.quarantineProtocol(metric.protocolId, reason)
  }

  #quarantine(protocolId: string, sentence: string): void {
    const { quarantine, time } = this.#options
    quarantine.addProtocol(protocolId, sentence, time.nowMs(), time.chance())
  }

  #tell({ delivered, dead, warnings }: Settlement): void {
    const { log } = this.#options
    for (const { metric, reason, status, attempts } of dead) {
      const facts = { metric: metric.id, hour: hourText(metric.hour), status, attempts, reason }
      log.error(facts, 'metric refused by the service: kept as dead, see tidegauge dead')
    }
    for (const { metric, text } of warnings.slice(0, loggedWarningsMax)) {
      log.warn({ metric: metric?.id, warning: text }, 'warning of the service')
    }
    const more = warnings.length - loggedWarningsMax
    if (more > 0) log.warn({ more }, 'warnings of the service: the rest is in tidegauge warnings')
    if (delivered.length > 0) log.info({ metrics: delivered.length }, 'delivered')
  }
}
