import type { Metric } from '../model/metric.ts'
import type { Verdict } from '../model/verdict.ts'
import type { DeadLetter } from '../outbox/tables/metrics.ts'
import { MetricSet } from './metric-set.ts'
import type { Pushed } from './push.ts'
import { spread } from './spread.ts'
import type { Stop } from './stop.ts'
import { isAccepted, type Witness } from './witness.ts'
import type { Worklist } from './worklist.ts'

/** Single metrics refused in a row after which it is asked whether it is the metrics at all. */
const suspectsMin = 3

/** Metrics from elsewhere that are tried then, while nothing has been accepted in this flush. */
const probesMax = 3

/** Pushes refused in a row, in whatever size, after which it is asked the same: more than one bad metric costs. */
const refusalsMax = 16

/** Metrics that wait for the end of the flush to be dead; more of them do not. */
const condemnedMax = 50

/** Pushes that one bad metric has refused on the way from a full batch to itself alone. */
const searchRefusalsMax = 6

/** Refusals in a row that make the first metric of a flush dead, where it is not the only one. */
const firstTimes = 6

/** Refusals in a row that make a metric dead at a service that refuses and accepts the same. */
const erraticTimes = 12

/** What judging works with. */
export interface Court {
  readonly witness: Witness
  readonly worklist: Worklist
  /** Due metrics of other protocols than these. */
  othersThan(protocolIds: readonly string[]): readonly Metric[]
  /** Those of some metrics that nobody has dropped meanwhile. */
  stillDue(metrics: readonly Metric[]): readonly Metric[]
  /** Sends one that was refused once more, alone. */
  confirm(metric: Metric): Promise<Pushed>
  /** They are dead. */
  bury(dead: readonly DeadLetter[]): Promise<void>
  stop(stop: Stop): void
}

/** A metric that was refused alone, and when. */
interface Suspect {
  readonly letter: DeadLetter
  readonly moment: number
}

/** One that was refused again when it was sent once more. */
interface Condemned {
  readonly letter: DeadLetter
  readonly refusals: number
}

/**
 * Metrics that were refused alone. Each is dead once something is accepted that was sent after it was refused, and it is
 * refused again; when everything is refused, it is not the metrics, and all are kept. None is dead before the end of the
 * flush, or before there are many: until then it may show that the service refuses and accepts the same. Something that was sent before may have been accepted
 * before, too, and proves nothing.
 */
export class Suspects {
  readonly #court: Court
  #suspects: readonly Suspect[] = []
  /** Of each of these the other half of a refused pair was accepted: if it is refused as well, it is the bad one. */
  readonly #convicted = new MetricSet()
  #condemned: readonly Condemned[] = []
  #isFirstDeath = true
  /** The service refuses and accepts the same: a part of its instances may refuse everything. */
  #isErratic = false
  #acceptedSizeMax = 0
  /** Metrics from elsewhere that were put first, to find out whether anything is accepted. */
  #probes = 0
  #refusals = 0
  /** Pushes refused in this flush. */
  #refusedCount = 0
  #hearing: Promise<void> | undefined
  #moment = 0

  constructor(court: Court) {
    this.#court = court
  }

  /** A push is being sent. @returns the moment, for `accepted` */
  sending(): number {
    this.#moment += 1
    return this.#moment
  }

  /** Something was accepted that was sent at a moment: what was refused before then was refused for its own sake. */
  async accepted(sentMoment: number): Promise<void> {
    this.#probes = 0
    this.#refusals = 0
    await this.#bury(({ moment }) => moment < sentMoment)
  }

  /** Of how many metrics an accepted batch was: both of a refused pair may be accepted because they are fewer. */
  acceptedOf(size: number): void {
    this.#acceptedSizeMax = Math.max(this.#acceptedSizeMax, size)
  }

  /** One half of a refused pair was accepted. */
  async convict(accepted: Metric, other: Metric): Promise<void> {
    if (this.#convicted.has(accepted) && this.#acceptedSizeMax > 1) this.#isErratic = true
    this.#convicted.add(other)
    await this.#bury(({ letter }) => this.#convicted.has(letter.metric))
  }

  /** Nothing of a push was accepted. */
  async refused(): Promise<void> {
    this.#refusals += 1
    this.#refusedCount += 1
    if (this.#refusals >= refusalsMax && this.#court.witness.isKnown) await this.#hearWitness()
  }

  /** A metric was refused alone. */
  async add({ metric, reason, status, attempts }: DeadLetter): Promise<void> {
    const letter = { metric, reason, attempts, ...(status === undefined ? {} : { status }) }
    this.#suspects = [...this.#suspects, { letter, moment: this.sending() }]
    if (this.#convicted.has(metric)) await this.#bury(suspect => suspect.letter === letter)
    if (this.#suspects.length < suspectsMin) return
    if (this.#court.witness.isKnown) await this.#hearWitness()
    else if (this.#probes === 0) this.#putProbesFirst()
    else if (this.#suspects.length >= suspectsMin + this.#probes) this.#stopSystemic()
  }

  /** A few refused at the very end: only a witness can tell whether anything is accepted still. */
  async conclude(): Promise<void> {
    if (this.#suspects.length === 0) return
    if (this.#court.witness.isKnown) await this.#hearWitness()
    // One or two are not "every metric": one that was delivered before is asked for. More of them are kept, to be safe.
    else if (this.#suspects.length < suspectsMin) await this.#court.witness.hearEarlier()
    if (this.#suspects.length > 0) this.#stopSystemic()
  }

  /** Whoever has something refused meanwhile waits for it, too. */
  async #hearWitness(): Promise<void> {
    this.#hearing ??= this.#judge().finally(() => {
      this.#hearing = undefined
    })
    await this.#hearing
  }

  /** A witness that is accepted shows itself as anything else that is: what is left to be done is when it is not. */
  async #judge(): Promise<void> {
    const verdict = await this.#court.witness.hear()
    if (verdict === undefined || verdict.kind === 'protocol-refused' || isAccepted(verdict)) return
    if (verdict.kind === 'settled' || verdict.kind === 'refused') this.#stopSystemic(verdict)
    else this.#court.stop(verdict)
  }

  #putProbesFirst(): void {
    const { worklist } = this.#court
    const suspects = this.#suspects.map(({ letter }) => letter.metric)
    const ofOthers = this.#court.othersThan([...new Set(suspects.map(({ protocolId }) => protocolId))])
    const probes = spread(worklist.upcoming(probesMax, ofOthers), suspects, probesMax)
    this.#probes = probes.length
    if (probes.length === 0) this.#stopSystemic()
    else worklist.bringForward(probes)
  }

  async #bury(isJudged: (suspect: Suspect) => boolean): Promise<void> {
    const judged = this.#suspects.filter(isJudged).map(({ letter }) => letter)
    if (judged.length === 0) return
    this.#suspects = this.#suspects.filter(suspect => !isJudged(suspect))
    for (const letter of judged) {
      if (this.#court.stillDue([letter.metric]).length === 0) continue
      const condemned = await this.#confirmed({ letter, refusals: 0 }, this.#isErratic ? erraticTimes : 1)
      if (condemned) this.#condemned = [...this.#condemned, condemned]
    }
    if (this.#condemned.length > condemnedMax) await this.end()
  }

  /**
   * Nothing else is sent in this flush: those that were refused again are dead.
   *
   * @param mayAsk whether the service may still be asked
   */
  async end(mayAsk = true): Promise<void> {
    const condemned = this.#condemned
    this.#condemned = []
    const dead: DeadLetter[] = []
    for (const one of condemned) {
      const times = this.#isErratic ? erraticTimes : mayAsk && this.#isFirstDeath ? this.#timesForFirst(one) : 1
      const confirmed = mayAsk || one.refusals >= times ? await this.#confirmed(one, times) : undefined
      if (!confirmed) continue
      this.#isFirstDeath = false
      dead.push(confirmed.letter)
    }
    if (dead.length > 0) await this.#court.bury(dead)
    this.#court.worklist.settled(dead.map(({ metric }) => metric))
  }

  /**
   * The first one shows whether the service is consistent. It is asked about often where there were more refusals than one
   * bad metric explains, else as often as its search was cheap.
   */
  #timesForFirst({ letter: { attempts }, refusals }: Condemned): number {
    if (this.#refusedCount > searchRefusalsMax) return firstTimes
    return Math.max(1, 2 * (searchRefusalsMax + refusals - attempts))
  }

  /** A refusal may have been another instance's, or have ended meanwhile: it is dead only if it is refused once more. */
  async #confirmed({ letter, refusals }: Condemned, times: number): Promise<Condemned | undefined> {
    let [count, { attempts }] = [refusals, letter]
    for (; count < times; count += 1) {
      const pushed = await this.#court.confirm(letter.metric)
      attempts += pushed.attempts
      if (isAccepted(pushed.verdict)) this.#isErratic = true
      if (pushed.verdict.kind !== 'refused') return undefined
    }
    return { letter: { ...letter, attempts }, refusals: count }
  }

  #stopSystemic(verdict?: Verdict): void {
    // What was accepted before is refused now: what was refused is not bad for that.
    this.#isErratic = true
    const said = verdict?.kind === 'refused' ? verdict.reason : ''
    const reason = `every metric is refused, so it is not the metrics: ${this.#suspects[0]?.letter.reason ?? said}`
    this.#court.stop({ kind: 'systemic', reason })
  }
}
