import type { ProtocolConfig } from '../config/config.ts'
import { type Batch, batchesOf } from '../model/batch.ts'
import { attemptsMax, batchMetricsMax, troubledAttemptsMax } from '../model/limits.ts'
import type { Verdict } from '../model/verdict.ts'
import type { FlushPorts, Stop } from './ports.ts'
import { Suspects } from './suspects.ts'
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
  readonly #isolated = new Set<string>()
  readonly #registrations = new Map<string, Promise<string | undefined>>()
  readonly #sentAfterRegistration = new WeakSet<Part['batch']>()
  /** Pushes of which something was accepted. */
  #acceptedCount = 0
  #stop: Stop | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(ports: FlushPorts) {
    this.#ports = ports
    const left = [...ports.aside, ...ports.troubled]
    this.#worklist = new Worklist(limit => ports.due(this.#protocolIds, limit), left, ports.fewest)
    this.#witness = new Witness(batch => this.#ask(batch), ports.earlier)
    this.#suspects = new Suspects({
      witness: this.#witness,
      worklist: this.#worklist,
      othersThan: protocolIds => ports.due(others(this.#protocolIds, protocolIds), batchMetricsMax),
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
    // metrics are accepted at all.
    for (let part = this.#next(); part; part = this.#witness.isKnown ? undefined : this.#next()) await this.#send(part)
    await this.#drain()
    for (const metric of this.#ports.troubled) {
      if (!this.#stop) await this.#send({ ...fresh([metric], troubledAttemptsMax), isTroubled: true })
    }
    await this.#drain()
    if (!this.#stop) await this.#suspects.conclude()
    if (this.#failure) throw this.#failure.error
    return this.#stop
  }

  async #drain(): Promise<void> {
    const lane = async () => {
      for (let part = this.#next(); part; part = this.#next()) await this.#send(part)
    }
    while (!this.#stop && this.#worklist.hasMore()) {
      await Promise.all(Array.from({ length: this.#ports.inFlight }, lane))
    }
  }

  get #protocolIds(): readonly string[] {
    return this.#ports.protocols.map(({ id }) => id).filter(id => !this.#isolated.has(id))
  }

  #next(): Part | undefined {
    return this.#stop ? undefined : this.#worklist.next()
  }

  async #send(part: Part): Promise<void> {
    const before = { accepted: this.#acceptedCount, moment: this.#suspects.sending() }
    try {
      const { verdict, attempts } = await this.#ports.push(part.batch, part.attemptsMax)
      await this.#act(verdict, { ...part, sent: part.sent + attempts }, before)
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
    const { verdict } = await this.#ports.push(batch, attemptsMax)
    if (isAccepted(verdict)) await this.#suspects.accepted(moment)
    return verdict
  }

  async #act(verdict: Verdict, part: Part, before: Before): Promise<void> {
    switch (verdict.kind) {
      case 'settled':
        return this.#settled(verdict, part, before)
      case 'refused':
        if (verdict.isUnlisted && this.#acceptedCount === 0 && !this.#ports.hasDelivered()) {
          this.#stop ??= { kind: 'misdirected', reason: verdict.reason }
          return
        }
        return this.#refused(verdict, part)
      case 'protocol-refused':
        return this.#protocolRefused(part, verdict)
      case 'transient':
        return this.#failed(part, verdict, before)
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
    this.#worklist.settled(delivered)
    this.#worklist.settled(dead.map(({ metric }) => metric))
    if (delivered[0]) {
      this.#acceptedCount += 1
      this.#witness.isNow(delivered[0])
      await this.#suspects.accepted(moment)
      if (part.pairedWith) await this.#suspects.convict(part.pairedWith)
    }
    this.#worklist.putFirst(halvesOf(part, resend))
    if (!delivered[0]) await this.#suspects.refused()
  }

  async #refused({ status, reason }: VerdictOf<'refused'>, part: Part): Promise<void> {
    if (part.batch.length > 1) this.#worklist.putFirst(halvesOf(part, part.batch))
    else await this.#suspects.add({ metric: part.batch[0], attempts: part.sent, status, reason })
    await this.#suspects.refused()
  }

  /**
   * A failure that may pass ends the flush, unless the service takes others: then it is these metrics that it fails on,
   * and they are split until the bad one stands alone and is set aside.
   */
  async #failed(part: Part, verdict: VerdictOf<'transient'>, { accepted }: Before): Promise<void> {
    const isWish = verdict.status === 429 || verdict.notBeforeMs !== undefined
    if (isWish || !(part.isTroubled || (await this.#isUp(accepted)))) {
      this.#stop ??= verdict
    } else if (part.batch.length > 1) {
      this.#worklist.putFirst(halvesOf({ ...part, attemptsMax: troubledAttemptsMax }, part.batch))
    } else {
      this.#ports.setAside(part.batch[0], verdict.reason)
    }
  }

  async #isUp(acceptedBefore: number): Promise<boolean> {
    if (this.#acceptedCount > acceptedBefore) return true
    return isAccepted(await this.#witness.hear())
  }

  async #protocolRefused(part: Part, { status, reason }: VerdictOf<'protocol-refused'>): Promise<void> {
    const { batch } = part
    const byProtocol = [...Map.groupBy(batch, ({ protocolId }) => protocolId).values()]
    if (byProtocol.length > 1) {
      const parts = byProtocol.flatMap(own => batchesOf(own, batchMetricsMax)).map(own => ({ ...part, batch: own }))
      return this.#worklist.putFirst(parts)
    }
    const protocol = this.#ports.protocols.find(({ id }) => id === batch[0].protocolId)
    if (!protocol) return
    const mayRegister = status === 404 && protocol.register && !this.#sentAfterRegistration.has(batch)
    const refusal = mayRegister ? await this.#register(protocol) : reason
    if (refusal === undefined) {
      this.#sentAfterRegistration.add(batch)
      this.#worklist.putFirst([part])
    } else {
      this.#isolate(protocol, status, refusal)
    }
  }

  /** Once a flush and protocol, however many pushes find it unknown at the same time. */
  #register(protocol: ProtocolConfig): Promise<string | undefined> {
    const running = this.#registrations.get(protocol.id) ?? this.#ports.register(protocol)
    this.#registrations.set(protocol.id, running)
    return running
  }

  #isolate(protocol: ProtocolConfig, status: number, reason: string): void {
    if (!this.#isolated.has(protocol.id)) this.#ports.isolated(protocol, status, reason)
    this.#isolated.add(protocol.id)
    this.#worklist.leaveOut(({ protocolId }) => protocolId === protocol.id)
  }
}

function others(all: readonly string[], than: readonly string[]): string[] {
  return all.filter(id => !than.includes(id))
}
