import { BatchScheduler } from '../edge/batch-scheduler.ts'
import type { Time } from '../edge/time.ts'
import { hourText } from '../model/hour.ts'
import { commitRowsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet, metricKey } from '../model/metric-set.ts'
import { type Remark, warningKind } from '../model/remarks.ts'
import { isOfPage } from '../model/verdict.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { MetricVerdicts } from '../outbox/contract/hours.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { ServiceClock } from './gate.ts'
import type { Quarantine } from './isolate/quarantine.ts'
import type { Sending } from './isolate/state.ts'
import { ExcludedMetrics } from './plan.ts'

/** Warnings of one push that are logged singly; all are kept. */
const loggedWarningsMax = 10

/** Milliseconds of a long flush between two lines of the log that say how much was delivered. */
const deliveredLogMs = 1_000

/** Metrics whose verdict waits for the lock above which pushes stop; after a crash they are sent again. */
const unrecordedMax = 5_000

/** Verdicts to be recorded. */
interface Unrecorded {
  readonly verdicts: MetricVerdicts
  /** As `DeliveryStore.recordVerdicts`. */
  readonly onDelayed: () => void
}

interface RecorderDeps {
  readonly outbox: Pick<DeliveryStore, 'recordVerdicts'>
  readonly clock: ServiceClock
  readonly quarantine: Quarantine
  readonly unconfirmedSends: UnconfirmedSends
  readonly log: Log
  readonly time: Time
  /** Counts what is delivered. Default: nothing is counted. */
  readonly counters?: Counters | undefined
}

const failingFix = 'nothing is lost, and the others are delivered: if that goes on, ask who runs the service'

/** Records verdicts in the outbox and in the log, and what they mean for later flushes: quarantine, unconfirmed sends. */
export class Recorder {
  readonly #deps: RecorderDeps
  /** Verdicts of one tick of the event loop share a commit. */
  readonly #commits: BatchScheduler<Unrecorded, void>
  /** Metrics whose verdict waits for the outbox's lock: they are still due in it. */
  readonly unrecordedMetrics = new ExcludedMetrics()
  /** Delivered since the last line about it. */
  #delivered: { metrics: number; readonly sinceMs: number } | undefined

  constructor(deps: RecorderDeps) {
    this.#deps = deps
    const { outbox, time } = deps
    this.#commits = new BatchScheduler<Unrecorded, void>(
      async jobs => {
        const onDelayed = () => jobs.forEach(({ request }) => void request.onDelayed())
        await outbox.recordVerdicts(joined(jobs.map(({ request }) => request.verdicts)), time.nowMs(), onDelayed)
        for (const { resolve } of jobs) resolve()
      },
      { sizeOf: ({ verdicts }) => rowsOf(verdicts), sizeMax: commitRowsMax },
    )
  }

  /**
   * Records verdicts. Resolves when they are in the outbox, so that no more is sent twice after a crash than was under way.
   * While another process has the outbox's lock, pushes go on: a bounded number of verdicts waits in memory.
   */
  async record(verdicts: MetricVerdicts, sendKind: Sending): Promise<void> {
    const { dead, warnings } = verdicts
    const current = dead.length === 0 && warnings.length === 0 ? verdicts : await this.#wanted(verdicts, sendKind)
    const isRoom = this.unrecordedMetrics.size <= unrecordedMax
    await new Promise<void>((resolve, reject) => {
      const onDelayed = () => (isRoom ? resolve() : undefined)
      // If writing fails after a delay, the metrics are still due: the failure shows when they are sent again.
      this.#write(current, onDelayed).then(resolve, reject)
    })
  }

  /** The verdicts to be recorded: without warnings that were expected. */
  async #wanted(verdicts: MetricVerdicts, sendKind: Sending): Promise<MetricVerdicts> {
    const { clock, unconfirmedSends, time } = this.#deps
    const latest = clock.latestHour(time.nowMs())
    // A metric rejected because this machine's clock is ahead is sent again in its time.
    const dead = verdicts.dead.filter(({ metric }) => metric.hour <= latest)
    const warnings = await unconfirmedSends.unexpectedWarnings(verdicts.warnings, sendKind, verdicts.delivered)
    return { delivered: verdicts.delivered, dead, warnings }
  }

  async #write(verdicts: MetricVerdicts, onDelayed: () => void): Promise<void> {
    const { quarantine, unconfirmedSends } = this.#deps
    const { delivered: deliveredMetrics, dead: deadLetters } = verdicts
    const metrics = [...deliveredMetrics, ...deadLetters.map(({ metric }) => metric)]
    const exclude = () => {
      this.unrecordedMetrics.add(metrics)
      onDelayed()
    }
    try {
      await this.#commits.schedule({ verdicts, onDelayed: exclude })
    } catch (error) {
      // The service has them, and the outbox does not know: they are sent again.
      unconfirmedSends.add(deliveredMetrics)
      throw error
    } finally {
      this.unrecordedMetrics.delete(metrics)
    }
    if (this.#deps.counters) this.#deps.counters.delivered += deliveredMetrics.length
    unconfirmedSends.remove(deliveredMetrics)
    quarantine.delivered(deliveredMetrics)
    for (const { metric } of deadLetters) quarantine.dead(metric)
    this.#log(verdicts)
  }

  /** The service rejects a metric for its protocol. */
  quarantineRejected(metric: Metric, status: number, reason: string): void {
    const id = metric.protocolId
    this.#quarantine(metric, protocolSentence(id, status, reason))
    const fix = protocolFix(id, status, reason)
    this.#deps.log.error(
      { protocol: id, status, reason, fix },
      'protocol refused: its metrics stay due, and are tried again',
    )
  }

  /** The service cannot register a metric's protocol now. */
  quarantineUnregistered(metric: Metric, reason: string): void {
    const { protocolId } = metric
    this.#quarantine(metric, unregisteredSentence(protocolId, reason))
    this.#deps.log.warn(
      { protocol: protocolId, reason },
      'protocol not registered yet: its metrics stay due, and that is tried again',
    )
  }

  /** The service fails on a metric as on all of its protocol. */
  quarantineProtocol(metric: Metric, reason: string): void {
    const { protocolId } = metric
    this.#quarantine(metric, failingSentence(protocolId, reason))
    this.#deps.log.error(
      { protocol: protocolId, reason, fix: failingFix },
      'the service fails on a protocol: its metrics stay due, and are tried again',
    )
  }

  /** The service fails on a metric, and on its protocol where it does so on several. */
  quarantineMetric(metric: Metric, reason: string): void {
    const { quarantine, log, time } = this.#deps
    const isProtocol = quarantine.addMetric(metric, reason, time.nowMs(), time.chance())
    log.error(
      { metric: metric.id, hour: hourText(metric.hour), reason, fix: failingFix },
      'the service fails on a metric: it stays due, and is tried again',
    )
    if (isProtocol) this.quarantineProtocol(metric, reason)
  }

  #quarantine({ protocolId, hour }: Metric, sentence: string): void {
    const { quarantine, time } = this.#deps
    quarantine.addProtocol(protocolId, hour, sentence, time.nowMs(), time.chance())
  }

  #log({ delivered: deliveredMetrics, dead: deadLetters, warnings }: MetricVerdicts): void {
    const { log, time } = this.#deps
    for (const { metric, reason, status, attempts } of deadLetters) {
      const facts = { metric: metric.id, hour: hourText(metric.hour), status, attempts, reason }
      log.error(facts, 'metric refused by the service: kept as dead, see tidegauge dead ls')
    }
    for (const { metric, text } of warnings.slice(0, loggedWarningsMax)) {
      log.warn({ metric: metric?.id, warning: text }, 'warning of the service')
    }
    const more = warnings.length - loggedWarningsMax
    if (more > 0) log.warn({ more }, 'warnings of the service: the rest is in tidegauge warnings')
    this.#delivered ??= { metrics: 0, sinceMs: time.steadyMs() }
    this.#delivered.metrics += deliveredMetrics.length
    if (time.steadyMs() - this.#delivered.sinceMs >= deliveredLogMs) this.logDelivered()
  }

  /** Logs what was delivered since the last such line: at the end of a flush, and once a second of a long one. */
  logDelivered(): void {
    const metrics = this.#delivered?.metrics ?? 0
    this.#delivered = undefined
    if (metrics > 0) this.#deps.log.info({ metrics }, 'delivered')
  }
}

function rowsOf({ delivered, dead, warnings }: MetricVerdicts): number {
  return delivered.length + dead.length + warnings.length
}

function joined(verdicts: readonly MetricVerdicts[]): MetricVerdicts {
  return {
    delivered: verdicts.flatMap(({ delivered }) => delivered),
    dead: verdicts.flatMap(({ dead }) => dead),
    warnings: verdicts.flatMap(({ warnings }) => warnings),
  }
}

/**
 * Metrics that the service may have: sends whose outcome is unknown, sends of an earlier process, and values corrected
 * since they were sent. "Already exists" is expected of them and is not news. Metrics enqueued by this process cannot
 * have been sent before.
 */
export class UnconfirmedSends {
  readonly #sent = new MetricSet()
  readonly #outbox: Pick<DeliveryStore, 'sentBefore' | 'maybeSent'>
  #isFirstFlush = true

  constructor(outbox: Pick<DeliveryStore, 'sentBefore' | 'maybeSent'>) {
    this.#outbox = outbox
  }

  /** Adds metrics that were sent with an unknown outcome. */
  add(metrics: readonly Metric[]): void {
    this.#sent.add(...metrics)
    this.#outbox.maybeSent(metrics)
  }

  /** Removes metrics whose outcome is recorded. */
  remove(metrics: readonly Metric[]): void {
    this.#sent.delete(...metrics)
  }

  /** Ends the first flush: every metric that was due when the process started has had its turn. */
  endFirstFlush(): void {
    this.#isFirstFlush = false
  }

  /**
   * The unexpected remarks about a push. Wait for them before its verdicts are recorded.
   *
   * @param deliveredMetrics the delivered metrics: a remark without a metric may be about any of them
   */
  async unexpectedWarnings(
    remarks: readonly Remark[],
    sendKind: Sending,
    deliveredMetrics: readonly Metric[],
  ): Promise<readonly Remark[]> {
    const existingRemarks = new Set(remarks.filter(({ text }) => warningKind(text) === 'already-exists'))
    if (existingRemarks.size === 0) return remarks
    if (sendKind === 'again') return remarks.filter(remark => !existingRemarks.has(remark))
    const unconfirmedKeys = await this.#unconfirmedOf(
      [...existingRemarks].flatMap(({ metric }) => metric ?? deliveredMetrics),
    )
    const isUnconfirmed = (metric: Metric) => unconfirmedKeys.has(metricKey(metric))
    const isExpected = ({ metric }: Remark) => (metric ? isUnconfirmed(metric) : deliveredMetrics.some(isUnconfirmed))
    return remarks.filter(remark => !existingRemarks.has(remark) || !isExpected(remark))
  }

  /** Keys of the given metrics that the service may have had before. */
  async #unconfirmedOf(metrics: readonly Metric[]): Promise<ReadonlySet<string>> {
    const isFirstFlush = this.#isFirstFlush
    const [sentMetrics, otherMetrics] = [
      metrics.filter(one => this.#sent.has(one)),
      metrics.filter(one => !this.#sent.has(one)),
    ]
    const answers = otherMetrics.length === 0 ? [] : await this.#outbox.sentBefore(otherMetrics)
    const mayHave = (place: number) => answers[place] === 'corrected' || (isFirstFlush && answers[place] === 'unknown')
    return new Set([...sentMetrics, ...otherMetrics.filter((_, place) => mayHave(place))].map(metricKey))
  }
}

/** Why a protocol is left out, and what to do about it. */
function protocolSentence(id: string, status: number, reason: string): string {
  return `protocol ${id} is refused (${reason}): ${protocolFix(id, status, reason)}`
}

/** Why a protocol is left out that could not be registered, which is not its fault. */
function unregisteredSentence(id: string, reason: string): string {
  return `protocol ${id} is not registered yet, as the service answers ${reason}: nothing is lost, and it is tried again`
}

/** Why a protocol is left out that the service fails on while it takes others. */
function failingSentence(id: string, reason: string): string {
  return `the service fails on protocol ${id} (${reason}): one of its metrics is tried every few minutes`
}

/** Instruction for a protocol that is refused with a status. */
function protocolFix(id: string, status: number, reason: string): string {
  if (isOfPage(reason)) return 'that is a page, and not the service’s answer; check service.url, and what is in between'
  return status === 404 ? `register it with tidegauge register ${id}` : 'use the key that owns it'
}
