import type { ProtocolConfig } from '../config/config.ts'
import { isYetToCome } from '../model/backoff.ts'
import type { Batch } from '../model/batch.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { clockAskMs, hourMs } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { Answer } from '../model/verdict.ts'
import { Breaker, type FlushOccasion } from './breaker.ts'
import type { DeliveryOptions } from './delivery-options.ts'
import { Doubt } from './doubt.ts'
import { Flush } from './flush.ts'
import { KeyWatch, type ValidateKey, waitOf } from './key-watch.ts'
import { Pacer } from './pacer.ts'
import { type Plan, planFlush } from './plan.ts'
import type { FlushPorts, Stop } from './ports.ts'
import { type Attempts, type Pushed, pushBatch } from './push.ts'
import { Quarantine } from './quarantine.ts'
import { QuarantineProbes } from './quarantine-probes.ts'
import { Quiet } from './quiet.ts'
import { registerProtocol } from './register.ts'
import { aheadSentence } from './sentences.ts'
import { Settling } from './settling.ts'
import { stopOf } from './stop-of.ts'

/** Later than any hour. */
const never = hourAt(8.64e15)

/** Delivers to one destination: flush after flush, as long as there is something due and nothing to wait for. */
export class Delivery {
  readonly #options: DeliveryOptions
  readonly #quarantine = new Quarantine()
  readonly #probes: QuarantineProbes
  readonly #doubt: Doubt
  readonly #keyWatch = new KeyWatch()
  readonly #quiet: Quiet
  readonly #ownPacer: Pacer
  readonly #breaker: Breaker
  readonly #settling: Settling
  #clockAskedMs: number | undefined
  #breakOff: AbortSignal | undefined
  /** Pushes in this flush. */
  #pushes = 0

  constructor(options: DeliveryOptions) {
    this.#options = options
    this.#breaker = new Breaker({ ...options, name: options.destination.name })
    this.#quiet = new Quiet(untilMs => this.#breaker.wished(untilMs))
    this.#doubt = new Doubt(options.outbox)
    this.#settling = new Settling({ ...options, quarantine: this.#quarantine, doubt: this.#doubt })
    const { intervalMs } = options.pacer
    this.#ownPacer = new Pacer(options.time, 1_000 / intervalMs)
    this.#probes = new QuarantineProbes({ ...options, quarantine: this.#quarantine, intervalMs })
  }

  /**
   * Pushes all that is due, unless the destination has to wait. What goes wrong is recorded, and what is not settled
   * stays due. Rejects only when the outbox cannot be read or written.
   *
   * @param signal ends it: nothing more is sent
   * @param breakOff breaks off requests under way, whose outcome is then not known; default: the same signal
   */
  async flush(wanted: FlushOccasion, signal: AbortSignal, breakOff = signal): Promise<void> {
    const occasion = this.#breaker.takeHurry() ? 'asked' : wanted
    this.#breakOff = breakOff
    const isKeyNew = this.#keyWatch.hasNew(this.#options.destination.readKey)
    // The breaker's memory is on the disk, which may be full.
    const isQuiet = this.#quiet.untilMs(this.#options.time.nowMs()) > 0
    if (isQuiet || this.#breaker.isOpen(isKeyNew ? 'asked' : occasion)) return
    this.#pushes = 0
    this.#quarantine.keepDue(this.#options.outbox)
    const isWork = this.#plan(occasion) !== undefined || this.#isClockWanted()
    const stop = isWork ? await this.#run(occasion, signal).catch(error => stopOf(error, signal)) : undefined
    if (stop?.kind === 'stopped') return
    if (stop || this.#pushes > 0) this.#conclude(stop)
    else this.#rest()
  }

  /** Nothing was sent. */
  #rest(): void {
    this.#breaker.idle(this.#left())
    if (this.#newestDue() === undefined) this.#doubt.flushed()
  }

  /** What may be sent now; `undefined` when nothing may. A person who asks wants all of it, at once. */
  #plan(occasion: FlushOccasion): Plan | undefined {
    const { outbox, destination, clock, time } = this.#options
    const nowMs = time.nowMs()
    return planFlush({
      outbox,
      protocolIds: destination.protocols.map(({ id }) => id).filter(id => !this.#quarantine.hasProtocol(id)),
      quarantine: this.#quarantine,
      isAsked: occasion === 'asked',
      latest: clock.latestHour(nowMs),
      nowMs,
      failures: this.#breaker.failures,
      chance: time.chance(),
    })
  }

  async #run(occasion: FlushOccasion, signal: AbortSignal): Promise<Stop | undefined> {
    const key = this.#options.destination.readKey()
    this.#options.redactor.add([key])
    const validate = (asked: string) => this.#validate(asked, signal)
    const objection = await this.#keyWatch.objection(key, validate, this.#options.time.nowMs(), occasion === 'asked')
    if (objection) return objection
    const hindrance = this.#isClockWanted() ? await this.#askClock(key, validate) : undefined
    if (hindrance) return hindrance
    const plan = this.#plan(occasion)
    return plan && (await new Flush(this.#ports(plan, occasion, key, signal)).run())
  }

  /**
   * What lies in the service's future would be refused: its clock is asked for once, before the first push, and again
   * while something seems to lie there; seldom where it lies so far ahead that no clock being set will help soon. It is
   * asked for, too, while this machine's clock is doubted.
   */
  #isClockWanted(): boolean {
    const { clock, time } = this.#options
    if (clock.isWanted) return true
    const nowMs = time.nowMs()
    const newest = this.#newestDue()
    if (newest === undefined) return false
    if (this.#clockAskedMs === undefined && clock.skewMs === undefined) return true
    const aheadMs = newest - clock.latestHour(nowMs)
    const restMs = aheadMs > hourMs ? hourMs : clockAskMs
    return aheadMs > 0 && !isYetToCome((this.#clockAskedMs ?? 0) + restMs, nowMs, restMs)
  }

  /** @returns why nothing may be sent: the key is refused, or the service wants to be left alone */
  async #askClock(key: string, validate: ValidateKey): Promise<Stop | undefined> {
    const { clock, time } = this.#options
    this.#clockAskedMs = time.nowMs()
    clock.asked()
    const answer = await validate(key)
    if (answer.kind === 'answered' && answer.status === 401) {
      this.#keyWatch.refused(key, this.#options.time.nowMs())
      return { kind: 'key-refused', reason: '401' }
    }
    const wait = waitOf(answer)
    return wait?.notBeforeMs === undefined ? undefined : wait
  }

  #newestDue(): Hour | undefined {
    const { outbox, destination } = this.#options
    const ids = destination.protocols.map(({ id }) => id)
    return outbox.due.hour('newest', ids, never)
  }

  async #validate(key: string, signal: AbortSignal): Promise<Answer> {
    const { client, pacer, clock } = this.#options
    await pacer.turn(signal)
    const answer = await client.validateKey(key, signal)
    clock.observe(answer)
    this.#quiet.keep(waitOf(answer)?.notBeforeMs ?? 0)
    return answer
  }

  #ports({ fresh, probe }: Plan, occasion: FlushOccasion, key: string, signal: AbortSignal): FlushPorts {
    const { outbox, client, destination, clock, pacer, inFlight, fewest, time } = this.#options
    const [settling, quarantine] = [this.#settling, this.#quarantine]
    const { protocols } = destination
    const protocolIds = protocols.map(({ id }) => id)
    const due: FlushPorts['due'] = (ids, limit) =>
      outbox.due
        .read({ protocolIds: ids, fresh, latest: clock.latestHour(time.nowMs()) }, limit + settling.unrecorded.size)
        .filter(metric => !settling.unrecorded.has(metric))
    return {
      protocols,
      isInQuarantine: id => quarantine.hasProtocol(id),
      stillDue: metrics => outbox.due.still(metrics),
      dueVersion: () => outbox.due.version,
      isFree: metric => quarantine.standing(metric, time.nowMs(), false) === 'free',
      toProbe: this.#probes.of({ isAsked: occasion === 'asked', protocolIds, due }),
      ...(probe && { probe }),
      inFlight,
      ...(fewest && { fewest }),
      due,
      earlier: () => this.#earlier(protocols),
      present: metric => outbox.metrics.present(metric),
      hasDelivered: () => outbox.tally.hasDelivered(protocolIds),
      push: (batch, attempts) => this.#push(batch, attempts, key, signal),
      settle: (settlement, sending) => settling.settle(settlement, sending),
      register: async protocol => {
        await pacer.turn(signal)
        return registerProtocol(client, protocol, key, signal)
      },
      isolated: (protocol, status, reason) => settling.isolate(protocol, status, reason),
      failed: (protocolId, reason) => settling.failed(protocolId, reason),
      setAside: (metric, reason) => settling.setAside(metric, reason),
      doubted: protocolId => quarantine.addDoubt(protocolId),
      doubtOf: protocolId => quarantine.doubtOf(protocolId),
    }
  }

  /** Without the service's clock a refusal may be about the time, which an earlier metric knows nothing of. */
  #earlier(protocols: readonly ProtocolConfig[]): Metric | undefined {
    const { outbox, clock, time } = this.#options
    if (clock.skewMs === undefined) return undefined
    const protocolIds = protocols.map(({ id }) => id)
    return outbox.metrics.lastDelivered(protocolIds, hourAt(time.nowMs()))
  }

  async #push(batch: Batch, wanted: Attempts, key: string, signal: AbortSignal): Promise<Pushed> {
    const { outbox, client, pacer, clock, time, log } = this.#options
    const [quiet, isKeyRefused] = [this.#quiet, () => this.#keyWatch.isRefused(key)]
    this.#pushes += 1
    const [ownPacer, breakOff] = [this.#ownPacer, this.#breakOff ?? signal]
    const hasWithdrawn = (some: Batch) => outbox.due.hasWithdrawn(some)
    const context = { client, key, isKeyRefused, hasWithdrawn, pacer, ownPacer, quiet, clock, time, signal, breakOff }
    const pushed = await pushBatch(batch, wanted, context).catch(error => {
      this.#doubt.add(batch)
      throw error
    })
    const { verdict, attempts } = pushed
    if (verdict.kind === 'key-refused') this.#keyWatch.refused(key, this.#options.time.nowMs())
    // An earlier attempt may have been stored, whatever the last one was answered.
    if (verdict.kind === 'transient' || (verdict.kind !== 'settled' && attempts > 1)) this.#doubt.add(batch)
    if (verdict.kind === 'settled') this.#doubt.add(verdict.resend)
    log.debug({ metrics: batch.length, first: hourText(batch[0].hour), verdict: verdict.kind, attempts }, 'pushed')
    return pushed
  }

  #conclude(stop: Stop | undefined): void {
    const { destination, log } = this.#options
    const { notBeforeMs, probeAtMs, waiting } = this.#breaker.flushed({ ...this.#left(), ...(stop && { stop }) })
    if (stop) {
      const nextAttempt = new Date(Math.max(notBeforeMs, probeAtMs)).toISOString()
      log.warn({ destination: destination.name, reason: waiting, nextAttempt }, 'delivery waits')
    } else {
      // Everything that was due when the process started has had its turn.
      this.#doubt.flushed()
    }
  }

  /** What is due and not sent although nothing has failed, and the clock that may be why. */
  #left(): { readonly left: readonly string[]; readonly skewMs?: number } {
    const { clock, time } = this.#options
    const newest = this.#newestDue()
    const isAhead = newest !== undefined && newest > clock.latestHour(time.nowMs())
    const { skewMs } = clock
    const left = [...this.#quarantine.sentences, ...(isAhead ? [aheadSentence(newest, skewMs ?? 0)] : [])]
    return skewMs === undefined ? { left } : { left, skewMs }
  }
}
