import { isBatch } from '../model/batch.ts'
import { batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { MetricSet } from '../model/metric-set.ts'
import type { Verdict } from '../model/verdict.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Destination } from './destination.ts'
import {
  attemptsMax,
  type FailedPiece,
  fresh,
  type NotRegistered,
  type Piece,
  type SentPiece,
} from './isolate/pieces.ts'
import type { Quarantine } from './isolate/quarantine.ts'
import { reduce } from './isolate/reduce.ts'
import {
  areAttemptsUsed,
  type FlushAction,
  type FlushEvent,
  type FlushState,
  initialState,
  type Stop,
} from './isolate/state.ts'
import type { FlushPlan, QuarantineProbes } from './plan.ts'
import type { Sender } from './push.ts'
import type { Recorder } from './recorder.ts'
import { type PushLimits, Worklist } from './worklist.ts'

/** The parts of a delivery that its flushes work with. */
export interface FlushDeps extends PushLimits {
  readonly outbox: Pick<DeliveryStore, 'present' | 'stillDue' | 'hasDelivered'>
  readonly destination: Pick<Destination, 'protocols'>
  readonly recorder: Pick<
    Recorder,
    'record' | 'quarantineRejected' | 'quarantineUnregistered' | 'quarantineProtocol' | 'quarantineMetric'
  >
  readonly quarantine: Pick<Quarantine, 'hasProtocol' | 'countFailure' | 'failuresOf' | 'suspect'>
  readonly quarantineProbes: Pick<QuarantineProbes, 'newest' | 'of'>
}

type ActionOf<K extends FlushAction['kind']> = Extract<FlushAction, { kind: K }>

/**
 * One flush of one destination: pushes all due metrics, a bounded number at a time. `reduce` decides what an answer means
 * for the rest; the push that was answered executes it. Pushes under way are known in memory only: the outbox stores
 * verdicts.
 */
export class Flush {
  readonly #deps: FlushDeps
  readonly #plan: FlushPlan
  readonly #sender: Pick<Sender, 'push' | 'register' | 'batchSizeMax'>
  readonly #worklist: Worklist
  #state: FlushState
  /** Pushes under way of pieces that go after everything else. */
  #lastUnderWay = 0
  /** Metrics sent as probes, and those of the newest hour tried out of quarantine: none is sent twice for that. */
  readonly #probed = new MetricSet()
  /** The pending question to the service, shared by pushes that ask at the same time. */
  #asking: Promise<Verdict | undefined> | undefined
  readonly #samples = new Map<string, Promise<void>>()
  /** Kept for the whole flush: each protocol is registered once. */
  readonly #registrations = new Map<string, Promise<NotRegistered | undefined>>()
  #failure: { readonly error: unknown } | undefined

  constructor(plan: FlushPlan, sender: Pick<Sender, 'push' | 'register' | 'batchSizeMax'>, deps: FlushDeps) {
    this.#plan = plan
    this.#sender = sender
    this.#deps = deps
    this.#worklist = new Worklist(plan, sender, deps.outbox, deps)
    this.#state = initialState({
      registrable: deps.destination.protocols.filter(({ register }) => register).map(({ id }) => id),
      attemptsMax: plan.probes.length || attemptsMax,
      isSplit: plan.probes.length > 0,
    })
  }

  /**
   * Runs the flush. Rejects with errors of the outbox or a stop, once no push is under way.
   *
   * @returns why it stopped; `undefined` when nothing was left to send
   */
  async run(): Promise<Stop | undefined> {
    const { probes } = this.#plan
    const nextProbe = this.#deps.quarantineProbes.of(this.#plan)
    for (const probe of probes) this.#probed.add(...probe)
    await this.#probeNewest()
    for (const probe of probes) {
      if (this.#state.knownGood) break
      this.#worklist.putFirst([fresh(probe, 1)])
      await this.#sendNext()
    }
    // Pushes go one by one until one is accepted: that tests whether the service is up and accepts metrics at all.
    // After a failure others are sent concurrently, as the service may fail, slowly, on this one alone.
    while (!this.#state.knownGood && this.#state.attempts.used === 0) {
      if (!(await this.#sendNext())) break
    }
    await this.#drain()
    while (!this.#state.stop) {
      const metric = await nextProbe()
      if (!metric) break
      await this.#send(asProbe(metric))
      await this.#drain()
    }
    if (!this.#state.stop) await this.#tell({ kind: 'concluding' })
    await this.#tell({ kind: 'ending' })
    if (this.#failure) throw this.#failure.error
    return this.#state.stop
  }

  /** Sends one piece. Resolves to whether there was one. */
  async #sendNext(): Promise<boolean> {
    const piece = await this.#take()
    if (piece) await this.#send(piece)
    return piece !== undefined
  }

  /** Sends everything, then the pieces that had to wait. */
  async #drain(): Promise<void> {
    for (;;) {
      await this.#sendAll()
      if (this.#state.stop || this.#state.undecided.length === 0) return
      await this.#tell({ kind: 'drained' })
    }
  }

  /**
   * Sends, with at most `inFlight` pushes under way, until nothing is left and nothing is under way. After each answer
   * comes the next piece, or one of those that a piece was split into.
   */
  async #sendAll(): Promise<void> {
    const pushes = new Set<Promise<void>>()
    let endings = 0
    for (;;) {
      const endedBefore = endings
      const piece = pushes.size < this.#deps.inFlight ? await this.#take() : undefined
      if (piece) {
        const push = this.#send(piece).finally(() => {
          pushes.delete(push)
          endings += 1
        })
        pushes.add(push)
      } else if (pushes.size > 0) await Promise.race(pushes)
      // A push that ended while the next piece was looked for may have put some back.
      else if (endings === endedBefore) return
    }
  }

  /** Takes the next piece, unless nothing more may be sent. */
  async #take(): Promise<Piece | undefined> {
    if (this.#isOver) return undefined
    // One push is reserved for fresh metrics.
    const lastMax = Math.max(1, this.#deps.inFlight - 1)
    try {
      const piece = await this.#worklist.take(this.#lastUnderWay < lastMax)
      if (!piece || !this.#isOver) return piece
      this.#worklist.putBack([piece])
    } catch (error) {
      await this.#fail(error)
    }
    return undefined
  }

  get #isOver(): boolean {
    return this.#state.stop !== undefined || areAttemptsUsed(this.#state)
  }

  async #send(piece: Piece): Promise<void> {
    if (piece.isLast) this.#lastUnderWay += 1
    await this.#tell({ kind: 'taken', piece })
    if (piece.isLast) this.#lastUnderWay -= 1
    // A protocol may have left quarantine, and of its metrics some are still in it.
    if (piece.isProbe) await this.#probeNewest()
  }

  /** Metrics of the newest hour in quarantine are tried before older hours, each once. */
  async #probeNewest(): Promise<void> {
    try {
      const found = await this.#deps.quarantineProbes.newest(this.#plan)
      const newest = found.filter(metric => !this.#probed.has(metric))
      this.#probed.add(...newest)
      this.#worklist.putBeforeOlder(newest.map(asProbe))
    } catch (error) {
      await this.#fail(error)
    }
  }

  /** Reports an event, and executes its consequences. */
  async #tell(event: FlushEvent): Promise<void> {
    try {
      await this.#happened(event)
    } catch (error) {
      await this.#fail(error)
    }
  }

  /** Ends the flush once the other pushes have ended: nothing may be under way when it rejects. */
  async #fail(error: unknown): Promise<void> {
    this.#failure ??= { error }
    await this.#happened({ kind: 'broken', stop: { kind: 'stopped', reason: 'the flush failed' } })
  }

  /** Resolves when all consequences of an event are done, one after the other. */
  async #happened(event: FlushEvent): Promise<void> {
    const { state, actions } = reduce(this.#state, event)
    this.#state = state
    for (const action of actions) await this.#execute(action)
  }

  async #execute(action: FlushAction): Promise<void> {
    const { recorder, quarantine } = this.#deps
    const worklist = this.#worklist
    switch (action.kind) {
      case 'push':
        return await this.#push(action.sent)
      case 'record':
        return await this.#record(action)
      case 'next':
        return await this.#happened(action.event)
      case 'send-first':
        return worklist.putFirst(action.pieces)
      case 'send-last':
        return worklist.putLast(action.pieces)
      case 'send-separately':
        return worklist.putFirst(this.#leastFailedFirst(action.pieces))
      case 'probe-others':
        return await this.#probeOthers(action)
      case 'check':
        return await this.#check(action)
      case 'check-earlier':
        return await this.#checkEarlier(action)
      case 'confirm':
        return await this.#confirm(action)
      case 'register':
        return await this.#register(action.piece)
      case 'narrow':
        return await this.#narrow(action.failed)
      case 'sample':
        return await this.#sample(action)
      case 'count-failure':
        return quarantine.countFailure(action.protocolId)
      case 'suspect':
        return quarantine.suspect(action.metrics)
      case 'quarantine-rejected':
        if (action.isNew) recorder.quarantineRejected(action.metric, action.status, action.reason)
        return worklist.leaveOut(({ protocolId }) => protocolId === action.metric.protocolId)
      case 'quarantine-unregistered':
        recorder.quarantineUnregistered(action.metric, action.reason)
        return worklist.leaveOut(({ protocolId }) => protocolId === action.metric.protocolId)
      case 'quarantine-protocol':
        recorder.quarantineProtocol(action.metric, action.reason)
        return this.#leaveOut(action.metric.protocolId)
      case 'quarantine-metric':
        recorder.quarantineMetric(action.metric, action.reason)
        return this.#leaveOut(action.metric.protocolId)
    }
  }

  async #push(sentPiece: SentPiece): Promise<void> {
    const { outbox, quarantine } = this.#deps
    const pushAnswer = await this.#sender.push(sentPiece.piece.batch, sentPiece.attempts)
    const { verdict } = pushAnswer
    const isUnlisted = verdict.kind === 'refused' && verdict.isUnlisted === true
    await this.#happened({
      kind: 'answered',
      sent: sentPiece,
      pushed: pushAnswer,
      isAddressProven: isUnlisted && (await outbox.hasDelivered(this.#plan.protocolIds)),
      isInQuarantine:
        verdict.kind === 'protocol-refused' && quarantine.hasProtocol(sentPiece.piece.batch[0].protocolId),
    })
  }

  async #record({ verdicts, sending }: ActionOf<'record'>): Promise<void> {
    await this.#deps.recorder.record(verdicts, sending)
    this.#worklist.release([...verdicts.delivered, ...verdicts.dead.map(({ metric }) => metric)])
  }

  #leastFailedFirst(pieces: readonly Piece[]): readonly Piece[] {
    const failuresOf = ({ batch }: Piece) =>
      Math.max(...batch.map(({ protocolId }) => this.#deps.quarantine.failuresOf(protocolId)))
    return pieces.toSorted((a, b) => failuresOf(a) - failuresOf(b))
  }

  /** Other protocols are read again: their metrics may stand far behind those that were read. */
  async #probeOthers({ rejected, countMax }: ActionOf<'probe-others'>): Promise<void> {
    const rejectedIds = new Set(rejected.map(({ protocolId }) => protocolId))
    const otherIds = this.#plan.openIds.filter(id => !rejectedIds.has(id))
    const others = () => this.#plan.due(batchMetricsMax, otherIds)
    const count = await this.#worklist.bringForward(others, all => dissimilar(all, rejectedIds, countMax))
    await this.#happened({ kind: 'probing', count })
  }

  async #check({ metric, sentAt, why }: ActionOf<'check'>): Promise<void> {
    const verdict = await this.#ask(metric, sentAt)
    await this.#happened({ kind: 'checked', why, ...(verdict && { verdict }) })
  }

  async #checkEarlier({ sentAt }: ActionOf<'check-earlier'>): Promise<void> {
    const metric = await this.#plan.earlier()
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
    const presentMetric = await this.#deps.outbox.present(metric)
    if (!presentMetric) {
      await this.#happened({ kind: 'known-good-gone' })
      return undefined
    }
    const { verdict } = await this.#sender.push([presentMetric], { attemptsMax, isKnownGood: true })
    await this.#happened({ kind: 'known-good-answered', verdict, sentAt })
    return verdict
  }

  async #confirm({ deadLetter }: ActionOf<'confirm'>): Promise<void> {
    const due = await this.#deps.outbox.stillDue([deadLetter.metric])
    if (!isBatch(due)) return
    const pushed = await this.#sender.push(due, { attemptsMax })
    await this.#happened({ kind: 'confirmed', deadLetter, pushed })
  }

  async #register(piece: Piece): Promise<void> {
    const { protocolId } = piece.batch[0]
    const running = this.#registrations.get(protocolId) ?? this.#sender.register(protocolId)
    this.#registrations.set(protocolId, running)
    const refusal = await running
    const isInQuarantine = this.#deps.quarantine.hasProtocol(protocolId)
    await this.#happened({ kind: 'registered', piece, isInQuarantine, ...(refusal !== undefined && { refusal }) })
  }

  async #narrow(failure: FailedPiece): Promise<void> {
    const { batch } = failure.piece
    const dueMetrics = await this.#deps.outbox.stillDue(batch)
    const isInQuarantine = this.#deps.quarantine.hasProtocol(batch[0].protocolId)
    await this.#happened({ kind: 'narrowing', failed: failure, dueMetrics, isInQuarantine })
  }

  /** Samples a protocol, once at a time however many of its pushes fail together. */
  async #sample({ sample, otherPieces }: ActionOf<'sample'>): Promise<void> {
    const { protocolId } = sample.batch[0]
    const sampleUnderWay = this.#samples.get(protocolId)
    if (sampleUnderWay) this.#worklist.putLast([{ ...sample, attemptsMax: 1 }])
    const sampleEnd =
      sampleUnderWay ?? this.#happened({ kind: 'taken', piece: sample }).finally(() => this.#samples.delete(protocolId))
    this.#samples.set(protocolId, sampleEnd)
    await sampleEnd
    const isInQuarantine = this.#deps.quarantine.hasProtocol(protocolId)
    await this.#happened({ kind: 'sampled', otherPieces, isInQuarantine })
  }

  /** A quarantined metric may have taken its protocol with it. */
  #leaveOut(protocolId: string): void {
    const { quarantine } = this.#deps
    this.#plan.leaveOut(protocolId)
    this.#worklist.leaveOut(metric => quarantine.hasProtocol(metric.protocolId))
  }
}

/** A piece that tries a metric out of quarantine. */
function asProbe(metric: Metric): Piece {
  return { ...fresh([metric], 1), isProbe: true }
}

/**
 * Picks metrics that are as unlike the rejected ones as can be: one of each other protocol first, then from the far end and
 * the middle. If even they are rejected, no metric is at fault.
 *
 * @param candidates in the order of delivery, without the rejected ones
 * @param rejectedIds protocols of the rejected ones
 */
function dissimilar(candidates: readonly Metric[], rejectedIds: ReadonlySet<string>, count: number): Metric[] {
  const byProtocol = Map.groupBy(candidates, ({ protocolId }) => protocolId)
  const ofOthers = [...byProtocol].filter(([id]) => !rejectedIds.has(id)).flatMap(([, [first]]) => first ?? [])
  const far = [candidates.at(-1), candidates[Math.floor(candidates.length / 2)], candidates[0]]
  return [...new Set([...ofOthers, ...far])].filter(metric => metric !== undefined).slice(0, count)
}
