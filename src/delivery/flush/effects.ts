import { batchMetricsMax } from '../../model/limits.ts'
import type { Metric } from '../../model/metric.ts'
import type { MetricList } from '../../model/metric-list.ts'
import type { Verdict } from '../../model/verdict.ts'
import type { FlushAction } from '../isolate/actions.ts'
import type { FlushEvent } from '../isolate/events.ts'
import { attemptsMax } from '../isolate/limits.ts'
import type { FailedPart, NotRegistered, Part, SentPart } from '../isolate/parts.ts'
import type { Confirmation } from '../isolate/state.ts'
import type { FlushDeps } from './deps.ts'
import { pickDissimilar } from './pick-dissimilar.ts'
import { Worklist } from './worklist.ts'

type ActionOf<K extends FlushAction['kind']> = Extract<FlushAction, { kind: K }>

/** Runs the actions of one flush, and reports their results as events. */
export class Effects {
  readonly worklist: Worklist
  readonly #deps: FlushDeps
  readonly #happened: (event: FlushEvent) => Promise<void> | void
  /** The pending question to the service, shared by lanes that ask at the same time. */
  #asking: Promise<Verdict | undefined> | undefined
  readonly #samples = new Map<string, Promise<void>>()
  /** Kept for the whole flush: each protocol is registered once. */
  readonly #registrations = new Map<string, Promise<NotRegistered | undefined>>()
  /** Protocols quarantined by this flush: their metrics are left out, even if one is accepted later. */
  readonly #leftOut = new Set<string>()

  /** @param happened resolves when all consequences of an event are done; returns nothing where there are none */
  constructor(deps: FlushDeps, happened: (event: FlushEvent) => Promise<void> | void) {
    this.#deps = deps
    this.#happened = happened
    this.worklist = new Worklist({
      ...deps,
      due: (limit, except) => deps.due(this.#protocolIds, limit, except),
      // A protocol may have been left out since the read began.
      free: due => this.#withoutLeftOut(deps.free(due)),
    })
  }

  /**
   * Runs an action. The promise, if it takes one, resolves when it and its consequences are done; it rejects with errors of
   * the outbox or a stop.
   */
  run(action: FlushAction): Promise<void> | void {
    switch (action.kind) {
      case 'push':
        return this.#push(action.sent)
      case 'record':
        return this.#record(action)
      case 'next':
        return this.#happened(action.event)
      case 'send-first':
        return this.worklist.putFirst(action.parts)
      case 'send-last':
        return this.worklist.putLast(action.parts)
      case 'try-apart':
        return this.worklist.putFirst(this.#leastFailedFirst(action.parts))
      case 'probe-others':
        return this.#probeOthers(action)
      case 'check':
        return this.#check(action)
      case 'check-earlier':
        return this.#checkEarlier(action)
      case 'confirm':
        return this.#confirm(action.confirmation)
      case 'register':
        return this.#register(action.part)
      case 'narrow':
        return this.#narrow(action.failed)
      case 'sample':
        return this.#sample(action)
      case 'count-failure':
        return this.#deps.quarantine.countFailure(action.protocolId)
      case 'suspect':
        return this.#deps.quarantine.suspect(action.metrics)
      case 'quarantine-rejected':
        if (action.isNew) this.#deps.recorder.quarantineRejected(action.metric, action.status, action.reason)
        return this.worklist.leaveOut(({ protocolId }) => protocolId === action.metric.protocolId)
      case 'quarantine-unregistered':
        this.#deps.recorder.quarantineUnregistered(action.metric, action.reason)
        return this.worklist.leaveOut(({ protocolId }) => protocolId === action.metric.protocolId)
      case 'quarantine-protocol':
        this.#deps.recorder.quarantineProtocol(action.metric, action.reason)
        return this.#leaveOut(action.metric.protocolId)
      case 'quarantine-metric':
        this.#deps.recorder.quarantineMetric(action.metric, action.reason)
        return this.#leaveOut(action.metric.protocolId)
    }
  }

  async #push(sent: SentPart): Promise<void> {
    const { push, hasDelivered, quarantine } = this.#deps
    const pushed = await push(sent.part.batch, sent.attempts)
    const { verdict } = pushed
    const isAddressProven = verdict.kind === 'refused' && verdict.isUnlisted === true && (await hasDelivered())
    await this.#happened({
      kind: 'answered',
      sent,
      pushed,
      isAddressProven,
      isInQuarantine: verdict.kind === 'protocol-refused' && quarantine.hasProtocol(sent.part.batch[0].protocolId),
    })
  }

  async #record({ verdicts, sending }: ActionOf<'record'>): Promise<void> {
    await this.#deps.recorder.record(verdicts, sending)
    this.worklist.release(verdicts.delivered)
    this.worklist.release(verdicts.dead.map(({ metric }) => metric))
  }

  #leastFailedFirst(parts: readonly Part[]): readonly Part[] {
    const failuresOf = ({ batch }: Part) =>
      Math.max(...batch.map(({ protocolId }) => this.#deps.quarantine.failuresOf(protocolId)))
    return parts.toSorted((a, b) => failuresOf(a) - failuresOf(b))
  }

  /** Other protocols are read again: their metrics may stand far behind the page. */
  async #probeOthers({ rejected, countMax }: ActionOf<'probe-others'>): Promise<void> {
    const rejectedIds = new Set(rejected.map(({ protocolId }) => protocolId))
    const otherIds = this.#protocolIds.filter(id => !rejectedIds.has(id))
    const others = () => this.#deps.due(otherIds, batchMetricsMax)
    const count = await this.worklist.bringForward(countMax, others, all => pickDissimilar(all, rejected, countMax))
    await this.#happened({ kind: 'probing', count })
  }

  async #check({ metric, sentAt, why }: ActionOf<'check'>): Promise<void> {
    const verdict = await this.#ask(metric, sentAt)
    await this.#happened({ kind: 'checked', why, ...(verdict && { verdict }) })
  }

  async #checkEarlier({ sentAt }: ActionOf<'check-earlier'>): Promise<void> {
    const metric = await this.#deps.earlier()
    if (metric) await this.#ask(metric, sentAt)
  }

  #ask(metric: Metric, sentAt: number): Promise<Verdict | undefined> {
    this.#asking ??= this.#askOnce(metric, sentAt).finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  /** Sends a metric with its present value: an old value would overwrite a correction at the service. */
  async #askOnce(metric: Metric, sentAt: number): Promise<Verdict | undefined> {
    const present = await this.#deps.outbox.present(metric)
    if (!present) {
      await this.#happened({ kind: 'known-good-gone' })
      return undefined
    }
    const { verdict } = await this.#deps.push([present], { attemptsMax, isKnownGood: true })
    await this.#happened({ kind: 'known-good-answered', verdict, sentAt })
    return verdict
  }

  async #confirm(confirmation: Confirmation): Promise<void> {
    const { metrics } = await this.#deps.outbox.stillDue([confirmation.deadLetter.metric])
    const [metric] = metrics
    if (!metric) return
    const pushed = await this.#deps.push([metric], { attemptsMax })
    await this.#happened({ kind: 'confirmed', confirmation, pushed })
  }

  async #register(part: Part): Promise<void> {
    const { protocolId } = part.batch[0]
    const running = this.#registrations.get(protocolId) ?? this.#deps.register(protocolId)
    this.#registrations.set(protocolId, running)
    const refusal = await running
    const isInQuarantine = this.#deps.quarantine.hasProtocol(protocolId)
    await this.#happened({ kind: 'registered', part, isInQuarantine, ...(refusal !== undefined && { refusal }) })
  }

  async #narrow(failed: FailedPart): Promise<void> {
    const { outbox, quarantine } = this.#deps
    const { batch } = failed.part
    const { metrics: due } = await outbox.stillDue([...batch])
    const isInQuarantine = quarantine.hasProtocol(batch[0].protocolId)
    await this.#happened({ kind: 'narrowing', failed, due, isInQuarantine })
  }

  /** Samples a protocol, once at a time however many of its pushes fail together. */
  async #sample({ sample, rest }: ActionOf<'sample'>): Promise<void> {
    const { protocolId } = sample.batch[0]
    const running = this.#samples.get(protocolId)
    if (running) this.worklist.putLast([{ ...sample, attemptsMax: 1 }])
    const sampling =
      running ??
      Promise.resolve(this.#happened({ kind: 'taken', part: sample })).finally(() => this.#samples.delete(protocolId))
    this.#samples.set(protocolId, sampling)
    await sampling
    await this.#happened({ kind: 'sampled', rest, isInQuarantine: this.#deps.quarantine.hasProtocol(protocolId) })
  }

  get #protocolIds(): readonly string[] {
    return this.#deps.protocols.map(({ id }) => id).filter(id => !this.#isLeftOut(id))
  }

  #withoutLeftOut(metrics: MetricList): MetricList {
    // Mostly none is, and there are many metrics.
    if (this.#deps.protocols.every(({ id }) => !this.#isLeftOut(id))) return metrics
    return metrics.filter(({ protocolId }) => !this.#isLeftOut(protocolId))
  }

  #isLeftOut(protocolId: string): boolean {
    return this.#leftOut.has(protocolId) || this.#deps.quarantine.hasProtocol(protocolId)
  }

  /** A quarantined metric may have taken its protocol with it. */
  #leaveOut(protocolId: string): void {
    const { quarantine } = this.#deps
    if (quarantine.hasProtocol(protocolId)) this.#leftOut.add(protocolId)
    this.worklist.leaveOut(metric => quarantine.hasProtocol(metric.protocolId))
  }
}
