import { Loop } from '../edge/loop.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { Batch } from '../model/batch.ts'
import { Fault, faultLine, isOfOutbox } from '../model/fault.ts'
import { endOfTime, type Hour } from '../model/hour.ts'
import { pollMs } from '../model/limits.ts'
import { nextAttemptAt, stepFor } from '../model/waiting.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { OutboxHealth } from '../outbox/contract/outbox.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import { breakerBaseMs } from './breaker.ts'
import type { Destination } from './destination.ts'
import { Flush, type FlushDeps } from './flush.ts'
import { type FlushOccasion, Gate, type RequestSlots, type ServiceClock } from './gate.ts'
import { Quarantine } from './isolate/quarantine.ts'
import type { Stop } from './isolate/state.ts'
import { type FlushPlan, type PlanDeps, planFlush, QuarantineProbes } from './plan.ts'
import { BatchSize, Sender, type SenderDeps } from './push.ts'
import { Recorder, UnconfirmedSends } from './recorder.ts'

/** Dependencies of `Delivery`. */
export interface DeliveryDeps {
  readonly outbox: DeliveryStore
  readonly client: ServiceClient
  readonly destination: Destination
  /** Pacer and clock are shared by all destinations: it is one service. */
  readonly pacer: RequestSlots
  readonly clock: ServiceClock
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

/** Delivers to one destination, a flush at a time: gate, plan, flush, conclude. */
export class Delivery {
  readonly #deps: DeliveryDeps
  readonly #gate: Gate
  readonly #quarantine = new Quarantine()
  readonly #unconfirmed: UnconfirmedSends
  readonly #recorder: Recorder
  /** The parts that live as long as the delivery, for its plans, senders and flushes. */
  readonly #parts: FlushDeps & SenderDeps & PlanDeps
  /** Pushes in this flush. */
  #pushes = 0

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
    const { outbox, destination, pacer, time, onPushed } = deps
    const [gate, quarantine, unconfirmedSends] = [new Gate(deps), this.#quarantine, new UnconfirmedSends(outbox)]
    const recorder = new Recorder({ ...deps, quarantine, unconfirmedSends })
    this.#gate = gate
    this.#unconfirmed = unconfirmedSends
    this.#recorder = recorder
    this.#parts = {
      ...{ ...deps, gate, quarantine, unconfirmedSends, recorder },
      unrecordedMetrics: recorder.unrecordedMetrics,
      protocolIds: destination.protocols.map(({ id }) => id),
      quarantineProbes: new QuarantineProbes(quarantine, time, pacer.intervalMs),
      batchSize: new BatchSize(),
      onPushed: batch => {
        this.#pushes += 1
        onPushed?.(batch)
      },
    }
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
    const newestHour = await this.#newestDue()
    if (this.#gate.hold(occasion, newestHour)) return
    this.#pushes = 0
    await this.#quarantine.keepDue(this.#deps.outbox)
    const isDue = newestHour !== undefined && (await this.#plan(occasion)) !== undefined
    const isWork = isDue || this.#gate.isClockWanted(newestHour)
    const stop = isWork
      ? await this.#run(occasion, newestHour, signal, breakOff).catch(error => stopOf(error, signal))
      : undefined
    if (stop?.kind === 'stopped') return
    if (stop || this.#pushes > 0) await this.#conclude(stop)
    else await this.#rest(newestHour)
  }

  async #run(
    occasion: FlushOccasion,
    newestHour: Hour | undefined,
    signal: AbortSignal,
    breakOff: AbortSignal,
  ): Promise<Stop | undefined> {
    const entry = await this.#gate.enter(occasion, newestHour, signal)
    if ('stop' in entry) return entry.stop
    const plan = await this.#plan(occasion)
    return plan && (await new Flush(plan, new Sender(this.#parts, { ...entry, signal, breakOff }), this.#parts).run())
  }

  /**
   * The plan of a flush; `undefined` when nothing may be sent now. A person's request sends everything at once. Made before
   * the gate is entered, to ask the service nothing in vain, and again afterwards: its clock may be another one then.
   */
  #plan(occasion: FlushOccasion): Promise<FlushPlan | undefined> {
    return planFlush(this.#parts, occasion === 'asked', this.#gate.failures)
  }

  async #conclude(stop: Stop | undefined): Promise<void> {
    const { destination, log } = this.#deps
    const sentences = this.#quarantine.sentences
    this.#recorder.logDelivered()
    const newestHour = await this.#newestDue()
    const state = await this.#gate.flushed({ left: sentences, ...(stop && { stop }) }, newestHour)
    if (stop) {
      const attemptMs = nextAttemptAt(state)
      const nextAttempt = attemptMs === undefined ? undefined : new Date(attemptMs).toISOString()
      const facts = { destination: destination.name, reason: state.waiting, nextAttempt }
      log.warn({ ...facts, fix: stepFor(state.cure) }, 'delivery waits')
    } else {
      // Every metric that was due when the process started has had its turn.
      this.#unconfirmed.endFirstFlush()
    }
  }

  /** Records a flush that sent nothing, without a failure. */
  async #rest(newestHour: Hour | undefined): Promise<void> {
    this.#recorder.logDelivered()
    await this.#gate.rested(this.#quarantine.sentences, newestHour)
    if (newestHour === undefined) this.#unconfirmed.endFirstFlush()
  }

  #newestDue(): Promise<Hour | undefined> {
    return this.#deps.outbox.dueHour('newest', this.#parts.protocolIds, endOfTime)
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
      const outcome = health.recover(error)
      if (outcome === 'room-made') return 0
      const isLost = error instanceof Fault && error.code === 'lease-lost'
      if (outcome === 'other' && !isLost)
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
