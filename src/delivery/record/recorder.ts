import type { Time } from '../../edge/time.ts'
import { hourText } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import type { DeliveryStore } from '../../outbox/contract/delivery-store.ts'
import type { MetricVerdicts } from '../../outbox/contract/outcome.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Log } from '../../telemetry/log.ts'
import type { ServiceClock } from '../gate/service-clock.ts'
import type { Sending } from '../isolate/actions.ts'
import type { Quarantine } from '../isolate/quarantine.ts'
import { PushesUnderWay } from './pushes-under-way.ts'
import { failingSentence, protocolFix, protocolSentence, unregisteredSentence } from './sentences.ts'
import type { UnconfirmedSends } from './unconfirmed-sends.ts'
import { VerdictScheduler, type WriteVerdicts } from './verdict-scheduler.ts'
import { WithheldMetrics } from './withheld-metrics.ts'

/** Warnings of one push that are logged singly; all are kept. */
const loggedWarningsMax = 10

/** Milliseconds of a long flush between two lines of the log that say how much was delivered. */
const deliveredLogMs = 1_000

/** Metrics whose verdict waits for the lock above which pushes stop; after a crash they are sent again. */
const unrecordedMax = 5_000

/** Dependencies of `Recorder`. */
export interface RecorderDeps {
  readonly outbox: Pick<DeliveryStore, 'recordVerdicts'>
  readonly clock: ServiceClock
  readonly quarantine: Quarantine
  readonly unconfirmed: UnconfirmedSends
  readonly log: Log
  readonly time: Time
  /** Counts what is delivered. Default: nothing is counted. */
  readonly counters?: Counters | undefined
}

/** Records verdicts in the outbox and in the log, and what they mean for later flushes: quarantine, unconfirmed sends. */
export class Recorder {
  readonly #deps: RecorderDeps
  readonly #verdicts: VerdictScheduler
  /** Pushes whose answers may be recorded together. */
  readonly underWay: PushesUnderWay
  /** Metrics whose verdict waits for the outbox's lock: they are still due in it. */
  readonly unrecorded = new WithheldMetrics()
  /** Delivered since the last line about it. */
  #delivered: { metrics: number; readonly sinceMs: number } | undefined

  constructor(deps: RecorderDeps) {
    this.#deps = deps
    const { outbox, time } = deps
    this.underWay = new PushesUnderWay(time)
    const write: WriteVerdicts = (verdicts, onDelay) => outbox.recordVerdicts(verdicts, time.nowMs(), onDelay)
    this.#verdicts = new VerdictScheduler(write, turns => this.underWay.areMoreSoon(turns))
  }

  /**
   * Resolves when the verdicts are recorded. While another process has the outbox's lock, pushes go on: a bounded number
   * of verdicts waits in memory. After a crash those metrics are sent again, which only updates.
   */
  async record(verdicts: MetricVerdicts, sending: Sending): Promise<void> {
    const { dead, warnings } = verdicts
    const wanted = dead.length === 0 && warnings.length === 0 ? verdicts : await this.#wanted(verdicts, sending)
    const isRoom = this.unrecorded.size <= unrecordedMax
    await new Promise<void>((resolve, reject) => {
      const onDelay = () => (isRoom ? resolve() : undefined)
      // If writing fails after a delay, the metrics are still due: the failure shows when they are sent again.
      this.#write(wanted, onDelay).then(resolve, reject)
    })
  }

  /** The verdicts to be recorded: without warnings that were expected. */
  async #wanted({ delivered, dead, warnings }: MetricVerdicts, sending: Sending): Promise<MetricVerdicts> {
    const { clock, unconfirmed, time } = this.#deps
    const latest = clock.latestHour(time.nowMs())
    // A metric rejected because this machine's clock is ahead is sent again in its time.
    const deadNow = dead.filter(({ metric }) => metric.hour <= latest)
    return { delivered, dead: deadNow, warnings: await unconfirmed.unexpectedWarnings(warnings, sending, delivered) }
  }

  async #write(verdicts: MetricVerdicts, onDelay: () => void): Promise<void> {
    const { quarantine, unconfirmed } = this.#deps
    const { delivered, dead } = verdicts
    let withheld: MetricList = []
    // Until then the flush knows them as under way.
    const withhold = () => {
      // Each attempt to write says that it is delayed.
      if (withheld.length > 0) return
      withheld = [...delivered, ...dead.map(({ metric }) => metric)]
      this.unrecorded.add(withheld)
      onDelay()
    }
    try {
      await this.#verdicts.record(verdicts, withhold)
    } catch (error) {
      // The service has them, and the outbox does not know: they are sent again.
      unconfirmed.add(delivered)
      throw error
    } finally {
      this.unrecorded.delete(withheld)
    }
    if (this.#deps.counters) this.#deps.counters.delivered += delivered.length
    unconfirmed.remove(delivered)
    quarantine.delivered(delivered)
    for (const { metric } of dead) quarantine.dead(metric)
    this.#log(verdicts)
  }

  /** The service rejects a metric for its protocol. */
  quarantineRejected(metric: Metric, status: number, reason: string): void {
    const id = metric.protocolId
    this.#quarantine(metric, protocolSentence(id, status, reason))
    const fix = protocolFix(id, status)
    this.#deps.log.error({ protocol: id, status, reason, fix }, 'protocol refused: its metrics stay due')
  }

  /** The service cannot register a metric's protocol now. */
  quarantineUnregistered(metric: Metric, reason: string): void {
    const { protocolId } = metric
    this.#quarantine(metric, unregisteredSentence(protocolId, reason))
    this.#deps.log.warn({ protocol: protocolId, reason }, 'protocol not registered yet: its metrics stay due')
  }

  /** The service fails on a metric as on all of its protocol. */
  quarantineProtocol(metric: Metric, reason: string): void {
    const { protocolId } = metric
    this.#quarantine(metric, failingSentence(protocolId, reason))
    this.#deps.log.error({ protocol: protocolId, reason }, 'the service fails on a protocol: its metrics stay due')
  }

  /** The service fails on a metric, and on its protocol where it does so on several. */
  quarantineMetric(metric: Metric, reason: string): void {
    const { quarantine, log, time } = this.#deps
    const isProtocol = quarantine.addMetric(metric, reason, time.nowMs(), time.chance())
    log.error({ metric: metric.id, hour: hourText(metric.hour), reason }, 'the service fails on a metric: it stays due')
    if (isProtocol) this.quarantineProtocol(metric, reason)
  }

  #quarantine({ protocolId, hour }: Metric, sentence: string): void {
    const { quarantine, time } = this.#deps
    quarantine.addProtocol(protocolId, hour, sentence, time.nowMs(), time.chance())
  }

  #log({ delivered, dead, warnings }: MetricVerdicts): void {
    const { log, time } = this.#deps
    for (const { metric, reason, status, attempts } of dead) {
      const facts = { metric: metric.id, hour: hourText(metric.hour), status, attempts, reason }
      log.error(facts, 'metric refused by the service: kept as dead, see tidegauge dead ls')
    }
    for (const { metric, text } of warnings.slice(0, loggedWarningsMax)) {
      log.warn({ metric: metric?.id, warning: text }, 'warning of the service')
    }
    const more = warnings.length - loggedWarningsMax
    if (more > 0) log.warn({ more }, 'warnings of the service: the rest is in tidegauge warnings')
    this.#delivered ??= { metrics: 0, sinceMs: time.steadyMs() }
    this.#delivered.metrics += delivered.length
    if (time.steadyMs() - this.#delivered.sinceMs >= deliveredLogMs) this.logDelivered()
  }

  /** Logs what was delivered since the last such line: at the end of a flush, and once a second of a long one. */
  logDelivered(): void {
    const metrics = this.#delivered?.metrics ?? 0
    this.#delivered = undefined
    if (metrics > 0) this.#deps.log.info({ metrics }, 'delivered')
  }
}
