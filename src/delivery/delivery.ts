import type { ProtocolConfig } from '../config/config.ts'
import { Loop } from '../edge/loop.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { Batch } from '../model/batch.ts'
import { Fault, faultLine, isOfOutbox } from '../model/fault.ts'
import { endOfTime, type Hour, hourAt, hourText } from '../model/hour.ts'
import { pollMs } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import { foreignFact, isForeign, reasonOf, transientOf } from '../model/verdict.ts'
import { stepFor } from '../model/waiting.ts'
import { registration } from '../model/wire.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { OutboxHealth } from '../outbox/contract/outbox.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import { breakerBaseMs } from './breaker.ts'
import type { Destination } from './destination.ts'
import { Flush, type FlushDeps } from './flush.ts'
import { type FlushOccasion, Gate, type RequestSlots, type ServiceClock } from './gate.ts'
import type { Attempts, NotRegistered, Pushed } from './isolate/pieces.ts'
import { Quarantine } from './isolate/quarantine.ts'
import type { Stop } from './isolate/state.ts'
import { type Plan, type ProbesOf, planFlush, QuarantineProbes } from './plan.ts'
import { BatchSize, type PushDeps, pushBatch } from './push.ts'
import { Recorder, UnconfirmedSends } from './recorder.ts'

/** Dependencies of `Delivery`. */
export interface DeliveryDeps {
  readonly outbox: DeliveryStore
  readonly client: ServiceClient
  readonly destination: Destination
  /** Pacer and clock are shared by all destinations: it is one service. */
  readonly pacer: RequestSlots
  readonly clock: ServiceClock
  /** Concurrent pushes, at most. */
  readonly inFlight: number
  /** Smallest number of metrics worth a push while more are being collected. Default: 1. */
  readonly batchMetricsMin?: () => number
  /** Called with a batch when its push has ended, whatever the outcome. Default: nothing is. */
  readonly onPushed?: (batch: Batch) => void
  readonly log: Log
  readonly redactor: Redactor
  readonly time: Time
  /** Counts pushes and deliveries. Default: nothing is counted. */
  readonly counters?: Counters | undefined
}

/** A flush that the gate has admitted. */
interface AdmittedFlush {
  readonly occasion: FlushOccasion
  readonly key: string
  /** Ends waits. */
  readonly signal: AbortSignal
  /** Aborts requests under way. */
  readonly breakOff: AbortSignal
}

/** Delivers to one destination, a flush at a time: gate, plan, flush, conclude. */
export class Delivery {
  readonly #deps: DeliveryDeps
  readonly #gate: Gate
  readonly #quarantine = new Quarantine()
  readonly #probes: QuarantineProbes
  readonly #unconfirmed: UnconfirmedSends
  readonly #recorder: Recorder
  readonly #batchSize = new BatchSize()
  /** Pushes in this flush. */
  #pushes = 0

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
    const { outbox, pacer } = deps
    this.#gate = new Gate(deps)
    this.#unconfirmed = new UnconfirmedSends(outbox)
    this.#recorder = new Recorder({ ...deps, quarantine: this.#quarantine, unconfirmed: this.#unconfirmed })
    this.#probes = new QuarantineProbes({ ...deps, quarantine: this.#quarantine, intervalMs: pacer.intervalMs })
  }

  /**
   * Pushes all due metrics, unless the gate holds them back. Failures are recorded; a metric without a verdict stays
   * due. Rejects only when the outbox cannot be read or written.
   *
   * @param signal ends it: nothing more is sent
   * @param breakOff aborts requests under way, whose outcome is then unknown; default: the same signal
   */
  async flush(wanted: FlushOccasion, signal: AbortSignal, breakOff = signal): Promise<void> {
    const occasion = await this.#gate.occasion(wanted)
    const newest = await this.#newestDue()
    if (this.#gate.hold(occasion, newest)) return
    this.#pushes = 0
    await this.#quarantine.keepDue(this.#deps.outbox)
    const isDue = newest !== undefined && (await this.#plan(occasion)) !== undefined
    const isWork = isDue || this.#gate.isClockWanted(newest)
    const stop = isWork
      ? await this.#run(occasion, newest, signal, breakOff).catch(error => stopOf(error, signal))
      : undefined
    if (stop?.kind === 'stopped') return
    if (stop || this.#pushes > 0) await this.#conclude(stop)
    else await this.#rest(newest)
  }

  async #run(
    occasion: FlushOccasion,
    newest: Hour | undefined,
    signal: AbortSignal,
    breakOff: AbortSignal,
  ): Promise<Stop | undefined> {
    const entry = await this.#gate.enter(occasion, newest, signal)
    if ('stop' in entry) return entry.stop
    const plan = await this.#plan(occasion)
    return plan && (await new Flush(this.#flushDeps(plan, { ...entry, occasion, signal, breakOff })).run())
  }

  /**
   * The plan of a flush; `undefined` when nothing may be sent now. A person's request sends everything at once. Made before
   * the gate is entered, to ask the service nothing in vain, and again afterwards: its clock may be another one then.
   */
  #plan(occasion: FlushOccasion): Promise<Plan | undefined> {
    const { outbox, clock, time } = this.#deps
    const nowMs = time.nowMs()
    return planFlush({
      outbox,
      protocolIds: this.#protocolIds,
      quarantine: this.#quarantine,
      isAsked: occasion === 'asked',
      latest: clock.latestHour(nowMs),
      nowMs,
      failures: this.#gate.failures,
      chance: time.chance(),
    })
  }

  async #conclude(stop: Stop | undefined): Promise<void> {
    const { destination, log } = this.#deps
    const left = this.#quarantine.sentences
    this.#recorder.logDelivered()
    const newest = await this.#newestDue()
    const state = await this.#gate.flushed({ left, ...(stop && { stop }) }, newest)
    if (stop) {
      const nextAttempt = new Date(Math.max(state.notBeforeMs, state.probeAtMs)).toISOString()
      const facts = { destination: destination.name, reason: state.waiting, nextAttempt }
      log.warn({ ...facts, fix: stepFor(state.cure) }, 'delivery waits')
    } else {
      // Every metric that was due when the process started has had its turn.
      this.#unconfirmed.endFirstFlush()
    }
  }

  /** Records a flush that sent nothing, without a failure. */
  async #rest(newest: Hour | undefined): Promise<void> {
    this.#recorder.logDelivered()
    await this.#gate.rested(this.#quarantine.sentences, newest)
    if (newest === undefined) this.#unconfirmed.endFirstFlush()
  }

  get #protocolIds(): readonly string[] {
    return this.#deps.destination.protocols.map(({ id }) => id)
  }

  #newestDue(): Promise<Hour | undefined> {
    return this.#deps.outbox.dueHour('newest', this.#protocolIds, endOfTime)
  }

  #flushDeps({ newestFirstFrom, probes }: Plan, run: AdmittedFlush): FlushDeps {
    const { outbox, destination, clock, inFlight, batchMetricsMin, time } = this.#deps
    const [recorder, quarantine, protocolIds] = [this.#recorder, this.#quarantine, this.#protocolIds]
    const { protocols } = destination
    const pushDeps = this.#pushDeps(run)
    const read = (ids: readonly string[], limit: number, from = newestFirstFrom) => {
      const latest = clock.latestHour(time.nowMs())
      const wanted = { protocolIds: ids, newestFirstFrom: from, latest }
      return recorder.unrecorded.without(excluded => outbox.due(wanted, limit + excluded))
    }
    const probesOf: ProbesOf = {
      isAsked: run.occasion === 'asked',
      protocolIds,
      due: read,
    }
    return {
      protocols,
      present: metric => outbox.present(metric),
      stillDue: metrics => outbox.stillDue(metrics),
      recorder,
      quarantine,
      free: due => due.filter(metric => quarantine.sendStateOf(metric, time.nowMs(), false) === 'free'),
      newestToProbe: () => this.#probes.newest(probesOf, newestFirstFrom),
      toProbe: this.#probes.of(probesOf),
      newestFirstFrom,
      current: hourAt(time.nowMs()),
      probes,
      inFlight,
      batchSizeMax: () => this.#batchSize.max,
      ...(batchMetricsMin && { batchMetricsMin }),
      due: read,
      earlier: () => this.#earlier(),
      hasDelivered: () => outbox.hasDelivered(protocolIds),
      push: (batch, attempts) => this.#push(batch, attempts, pushDeps),
      register: protocolId => this.#register(protocolId, run),
    }
  }

  /**
   * A metric delivered earlier, to test the service. Without the service's clock a refusal may be about the time, which
   * such a metric cannot show.
   */
  async #earlier(): Promise<Metric | undefined> {
    const { outbox, clock, time } = this.#deps
    if (clock.skewMs === undefined) return undefined
    return await outbox.lastDelivered(this.#protocolIds, hourAt(time.nowMs()))
  }

  /** @returns why the protocol is not registered; `undefined` when it is */
  async #register(protocolId: string, { key, signal }: AdmittedFlush): Promise<NotRegistered | undefined> {
    const { client, destination } = this.#deps
    const protocol = destination.protocols.find(({ id }) => id === protocolId)
    if (!protocol) return { kind: 'refused', reason: 'it is not configured' }
    await this.#gate.requestSlot(signal)
    const refusal = await registerProtocol(client, protocol, key, signal)
    if (refusal?.kind === 'transient') await this.#gate.pushed(refusal, key)
    return refusal
  }

  #pushDeps({ key, signal, breakOff }: AdmittedFlush): PushDeps {
    const { outbox, client, time } = this.#deps
    return { client, outbox, gate: this.#gate, time, key, signal, breakOff }
  }

  async #push(batch: Batch, wanted: Attempts, deps: PushDeps): Promise<Pushed> {
    const { onPushed } = this.#deps
    this.#pushes += 1
    try {
      const pushed = await pushBatch(batch, wanted, deps)
      this.#notePushed(batch, pushed)
      return pushed
    } catch (error) {
      this.#unconfirmed.add(batch)
      throw error
    } finally {
      onPushed?.(batch)
    }
  }

  #notePushed(batch: Batch, { verdict, attempts }: Pushed): void {
    const { log } = this.#deps
    // An earlier attempt may have been stored, whatever the last one was answered.
    if (verdict.kind === 'transient' || (verdict.kind !== 'settled' && attempts > 1)) this.#unconfirmed.add(batch)
    if (verdict.kind === 'settled') {
      this.#unconfirmed.add(verdict.resend)
      if (verdict.delivered.length > 0) this.#batchSize.accepted(batch.length)
    }
    if (verdict.kind === 'refused' && verdict.status === 413) this.#batchSize.refused(batch.length)
    if (log.isLevelEnabled('debug')) {
      log.debug({ metrics: batch.length, first: hourText(batch[0].hour), verdict: verdict.kind, attempts }, 'pushed')
    }
  }
}

/**
 * The reason why a flush that threw ended: it was stopped, or a key could not be read.
 *
 * @throws the error, if it comes from the outbox
 */
export function stopOf(error: unknown, signal: AbortSignal): Stop {
  if (signal.aborted) return { kind: 'stopped', reason: faultLine(error) }
  if (error instanceof Fault && !isOfOutbox(error)) {
    const isKeyMissing = error.code === 'secret-missing' && ({ isKeyMissing: true } as const)
    // The step of a missing key is said where the reason is: once is enough.
    const reason = isKeyMissing
      ? faultLine(new Fault(error.code, error.message, { facts: error.facts }))
      : faultLine(error)
    return { kind: 'transient', reason, ...isKeyMissing }
  }
  throw error
}

/**
 * Registers a protocol with the service.
 *
 * @returns why it is not registered; `undefined` when it is
 */
export async function registerProtocol(
  client: Pick<ServiceClient, 'register'>,
  { id, name, logo, chains }: ProtocolConfig,
  key: string,
  stop?: AbortSignal,
): Promise<NotRegistered | undefined> {
  const body = registration.parse({ id, name, ...(logo && { logo }), ...(chains && { chains }) })
  const answer = await client.register(body, key, stop)
  const transient = transientOf(answer)
  if (transient || answer.kind === 'unanswered') return transient
  if (isForeign(answer)) return { kind: 'refused', reason: `${foreignFact(answer)}: check service.url` }
  if (answer.status >= 200 && answer.status < 300) return undefined
  const isTaken = answer.status === 400
  const reason = `registration refused${isTaken ? ', is the id taken by another key?' : ''} (${reasonOf(answer)})`
  return { kind: 'refused', reason }
}

/**
 * The delivery loop. Each destination flushes once a second, independently of the others, until the loop is stopped; metrics
 * that another process has put into the outbox are found, too.
 */
export class DeliveryLoop {
  readonly #loops: readonly Loop[]

  /** @param health sees the errors of the outbox, and makes room where that helps */
  constructor(deliveries: readonly Delivery[], time: Time, log: Log, health: LoopHealth) {
    this.#loops = deliveries.map(delivery => new Loop(signal => pass(delivery, health, time, log, signal)))
    for (const loop of this.#loops) loop.start()
  }

  /** Resolves when no push is under way any more. Each gets its answer, so that nothing is sent again later. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map(loop => loop.stop()))
  }
}

async function pass(delivery: Delivery, health: LoopHealth, time: Time, log: Log, signal: AbortSignal): Promise<void> {
  // Only the outbox makes a flush reject. It may be mended by the next one.
  const restMs = await delivery.flush('due', signal, neverBrokenOff).then(
    () => pollMs,
    error => {
      const seen = health.recover(error)
      if (seen === 'room-made') return 0
      if (seen === 'other')
        log.error(
          { fault: faultLine(health.explain(error)) },
          'delivery: the outbox cannot be read or written: retrying',
        )
      return breakerBaseMs
    },
  )
  await time.sleep(restMs, signal).catch(() => {})
}

type LoopHealth = Pick<OutboxHealth, 'recover' | 'explain'>

/** A push ends with its own time-out. */
const neverBrokenOff = new AbortController().signal
