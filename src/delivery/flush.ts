import type { Batch } from '../model/batch.ts'
import { attemptsMax, batchMetricsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { Verdict } from '../model/verdict.ts'
import { type FailedPart, Failures } from './failures.ts'
import type { FlushPorts } from './ports.ts'
import { ProtocolRefusals } from './protocol-refusals.ts'
import type { Pushed } from './push.ts'
import type { Stop } from './stop.ts'
import { Suspects } from './suspects.ts'
import { Tries, triesOf } from './tries.ts'
import { isAccepted, Witness } from './witness.ts'
import { fresh, halvesOf, type Part, Worklist } from './worklist.ts'

/** How things stood when a push was sent. */
interface Before {
  /** Pushes of which something had been accepted. */
  readonly accepted: number
  readonly moment: number
}

type VerdictOf<K extends Verdict['kind']> = Extract<Verdict, { kind: K }>

/**
 * One flush of one destination: everything due is pushed, bad metrics are found by halving, bad protocols are set aside.
 * What is under way is kept in memory only; the outbox knows nothing but verdicts.
 */
export class Flush {
  readonly #ports: FlushPorts
  readonly #worklist: Worklist
  readonly #witness: Witness
  readonly #suspects: Suspects
  readonly #tries: Tries
  readonly #refusals: ProtocolRefusals
  readonly #failures: Failures
  #acceptedCount = 0
  /** Pushes under way of what the service failed on before. */
  #suspicious = 0
  #stop: Stop | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(ports: FlushPorts) {
    this.#ports = ports
    const due = (limit: number) => ports.due(this.#protocolIds, limit)
    this.#worklist = new Worklist({ ...ports, due })
    this.#tries = new Tries(ports.probe ? 1 : attemptsMax)
    this.#refusals = new ProtocolRefusals(ports, this.#worklist)
    this.#failures = new Failures({
      ports,
      worklist: this.#worklist,
      tries: this.#tries,
      send: part => this.#send(part),
    })
    this.#witness = new Witness(batch => this.#ask(batch), ports)
    this.#suspects = new Suspects({
      witness: this.#witness,
      worklist: this.#worklist,
      othersThan: protocolIds =>
        ports
          .due(
            this.#protocolIds.filter(id => !protocolIds.includes(id)),
            batchMetricsMax,
          )
          .filter(metric => ports.isFree(metric)),
      stillDue: ports.stillDue,
      confirm: metric => this.#confirm(metric),
      bury: dead => ports.settle({ delivered: [], dead, warnings: [] }, 'again'),
      stop: stop => {
        this.#stop ??= stop
      },
    })
  }

  /**
   * Rejects, once nothing is under way any more, with what the outbox or a stop threw.
   *
   * @returns why it stopped; `undefined` when nothing was left to send
   */
  async run(): Promise<Stop | undefined> {
    if (this.#ports.probe) this.#worklist.putFirst([fresh(this.#ports.probe, 1)])
    // Pushes go one by one until something is accepted: that probes a service that may be down, and shows whether
    // metrics are accepted at all. Once one has failed, others are tried beside each other, as the service may fail on
    // this one alone, and slowly.
    while (!this.#witness.isKnown && this.#tries.isFirst) {
      const part = this.#next()
      if (!part) break
      await this.#send(part)
    }
    await this.#drain()
    while (!this.#stop) {
      const metric = this.#ports.toProbe()
      if (!metric) break
      await this.#send({ ...fresh([metric], 1), isProbe: true })
      await this.#drain()
    }
    if (!this.#stop) await this.#suspects.conclude()
    await this.#caught(() => this.#suspects.end(!this.#stop))
    if (this.#failure) throw this.#failure.error
    return this.#stop
  }

  async #drain(): Promise<void> {
    for (;;) {
      while (!this.#isSpent && !this.#stop && this.#worklist.hasMore()) await this.#sendAll()
      const failed = this.#stop ? undefined : this.#failures.nextUndecided()
      if (!failed) return
      if (this.#witness.isKnown) await this.#caught(() => this.#failures.isolate(failed))
      else this.#stop = failed.verdict
    }
  }

  /** As many at a time as may be under way: each that comes back makes room, also for what it was split into. */
  async #sendAll(): Promise<void> {
    const underWay = new Set<Promise<void>>()
    const start = () => {
      while (underWay.size < this.#ports.inFlight) {
        const part = this.#next()
        if (!part) return
        const push = this.#send(part).finally(() => {
          underWay.delete(push)
          start()
        })
        underWay.add(push)
      }
    }
    start()
    while (underWay.size > 0) await Promise.race(underWay)
  }

  /** Nothing was accepted with all tries. */
  get #isSpent(): boolean {
    return !this.#witness.isKnown && this.#tries.areSpent
  }

  get #protocolIds(): readonly string[] {
    return this.#ports.protocols.map(({ id }) => id).filter(id => !this.#failures.isLeftOut(id))
  }

  #next(): Part | undefined {
    if (this.#stop || this.#isSpent) return undefined
    // One of those under way at a time is kept for what is fresh.
    return this.#worklist.next(this.#suspicious < Math.max(1, this.#ports.inFlight - 1))
  }

  async #send(part: Part): Promise<void> {
    const before = { accepted: this.#acceptedCount, moment: this.#suspects.sending() }
    this.#suspicious += part.isSuspicious ? 1 : 0
    await this.#caught(async () => {
      const tried = this.#witness.isKnown || part.isProbe ? undefined : this.#tries.take(triesOf(part))
      const { verdict, attempts, isSlow = false } = await this.#ports.push(part.batch, tried ?? part)
      const failed = verdict.kind === 'transient' ? attempts : 0
      if (tried) this.#tries.giveBack(tried.attemptsMax - failed)
      await this.#act(verdict, { ...part, sent: part.sent + attempts }, before, isSlow)
    })
    this.#suspicious -= part.isSuspicious ? 1 : 0
  }

  async #caught(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The other lanes end by themselves: nothing may be under way when this flush rejects. */
  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#stop ??= { kind: 'stopped', reason: 'the flush failed' }
  }

  /** Sends a witness. */
  async #ask(batch: Batch): Promise<Verdict> {
    const moment = this.#suspects.sending()
    const { verdict } = await this.#ports.push(batch, { attemptsMax })
    if (isAccepted(verdict)) await this.#suspects.accepted(moment)
    return verdict
  }

  /** What is accepted at last is delivered; what fails is kept for a later flush. */
  async #confirm(metric: Metric): Promise<Pushed> {
    const pushed = await this.#ports.push([metric], { attemptsMax })
    const { verdict } = pushed
    if (verdict.kind === 'key-refused') this.#stop ??= verdict
    if (verdict.kind !== 'settled') return pushed
    const { delivered, warnings } = verdict
    await this.#ports.settle({ delivered, dead: [], warnings }, 'again')
    this.#worklist.settled(delivered)
    return pushed
  }

  async #act(verdict: Verdict, part: Part, before: Before, isSlow: boolean): Promise<void> {
    switch (verdict.kind) {
      case 'settled':
        return this.#settled(verdict, part, before)
      case 'refused':
        if (!verdict.isUnlisted || this.#acceptedCount > 0 || this.#ports.hasDelivered())
          return this.#refused(verdict, part)
        this.#stop ??= { kind: 'misdirected', reason: verdict.reason }
        return
      case 'protocol-refused':
        return this.#refusals.refused(part, verdict)
      case 'transient':
        return this.#failed({ part, verdict, isSlow }, before)
      case 'key-refused':
      case 'misdirected':
        this.#stop ??= verdict
        return
    }
  }

  async #settled(verdict: VerdictOf<'settled'>, part: Part, { moment }: Before): Promise<void> {
    const { delivered, dead, resend, warnings } = verdict
    const letters = dead.map(entry => ({ ...entry, attempts: part.sent }))
    await this.#ports.settle({ delivered, dead: letters, warnings }, part.sent > 1 ? 'again' : 'first')
    this.#worklist.settled([...delivered, ...dead.map(({ metric }) => metric)])
    if (delivered[0]) {
      this.#acceptedCount += 1
      this.#failures.accepted(delivered)
      this.#witness.isNow(delivered[0])
      this.#suspects.acceptedOf(part.batch.length)
      await this.#suspects.accepted(moment)
      if (part.pairedWith) await this.#suspects.convict(part.batch[0], part.pairedWith)
    }
    this.#worklist.putFirst(halvesOf(part, resend))
    if (!delivered[0]) await this.#suspects.refused()
  }

  async #refused({ status, reason }: VerdictOf<'refused'>, part: Part): Promise<void> {
    if (part.batch.length > 1) this.#worklist.putFirst(halvesOf(part, part.batch))
    else await this.#suspects.add({ metric: part.batch[0], attempts: part.sent, status, reason })
    await this.#suspects.refused()
  }

  /** A failure that may pass ends the flush, unless the service takes others: then it is these metrics it fails on. */
  async #failed(failed: FailedPart, { accepted }: Before): Promise<void> {
    const { part, verdict } = failed
    const isWish = verdict.status === 429 || verdict.notBeforeMs !== undefined
    if (isWish) this.#stop ??= verdict
    else if (part.isProbe || (await this.#isUp(accepted))) await this.#failures.isolate(failed)
    else if (this.#witness.isKnown) this.#stop ??= verdict
    else this.#failures.tryApart(failed)
  }

  async #isUp(acceptedBefore: number): Promise<boolean> {
    if (this.#acceptedCount > acceptedBefore) return true
    return isAccepted(await this.#witness.hear())
  }
}
