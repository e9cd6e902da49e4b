import type { Config } from '../../src/config/config.ts'
import type { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAt, hourText } from '../../src/model/hour.ts'
import { futureMsMax, hourMs } from '../../src/model/limits.ts'
import type { CollectionOutcome } from '../../src/outbox/contract/hours.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { WorldChain } from './chain.ts'
import { checkChain, givesUp, mayBeGap } from './chain-check.ts'
import { Clock, type Idleness } from './clock.ts'
import { Disk } from './disk.ts'
import { Facts } from './facts.ts'
import { Keys } from './keys.ts'
import { checkEnd, Ledger } from './ledger.ts'
import { configOf, Life } from './life.ts'
import { Look } from './look.ts'
import { type EndScript, type Script, scriptOf } from './script.ts'
import { Service, wishMsMax } from './service.ts'
import { Steps } from './steps.ts'

/** A promise that was broken in a world. */
export class BrokenPromise extends Error {}

/** Longest a person, or anything else, may have to wait for the rest once everything is well. */
const restMs = wishMsMax + 2 * hourMs

/** A service's clock counts whole seconds, and is seen from afar. */
const dateBlurMs = 2_000

/** Longest sleep of a loop while the clock is doubted. */
const doubtRestMsMax = 5_000

/** After the last hour's look-up, in which the hour before is seen to be final. */
const chainRestMs = 30 * 60_000

/** One world: clock, service, collectors, keys and disk by the script of its seed, and the lives of a process in it. */
export class World {
  readonly script: Script
  readonly clock: Clock
  readonly chain: WorldChain | undefined
  readonly keys: Keys
  readonly service: Service
  readonly facts: Facts
  readonly ledger: Ledger
  readonly disk: Disk
  readonly config: Config
  readonly #steps: Steps
  readonly #log: Log
  readonly #changesMs: readonly number[]
  #look: Look | undefined
  #life: Life | undefined
  #lives = 0

  constructor(seed: number, log: Log, trace?: (line: string) => void) {
    this.script = scriptOf(seed)
    this.clock = new Clock(this.script.startMs)
    this.chain = this.script.chain && new WorldChain(this.script.chain)
    this.keys = new Keys(this.script, this.clock)
    this.service = new Service(this.script, this.clock, this.keys)
    const { person, collectors } = this.script
    this.facts = new Facts(person.length > 0 && collectors.some(({ unitChange }) => unitChange !== undefined), trace)
    this.ledger = new Ledger(this.script, this.facts, this.service)
    this.disk = new Disk(seed)
    this.config = configOf(this.script)
    this.#log = log
    this.#changesMs = changesOf(this.script)
    this.#steps = new Steps(this.script, this.clock, this.facts, this.disk, {
      kill: () => this.#life?.end(),
      look: () => this.ledger.checkBalance(this.#eyes()),
    })
  }

  /** Lead of the machine's clock. */
  get machineAheadMs(): number {
    const nowMs = this.clock.nowMs()
    return this.script.wrongClocks.find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)?.aheadMs ?? 0
  }

  /** A value that was read for an hour stays as it is. */
  givesUp(collector: string, hour: Hour): void {
    givesUp(this, collector, hour)
  }

  /** An hour is about to become a gap. */
  checkGap(collector: string, hour: Hour, fault: Fault): void {
    if (!mayBeGap(this, hour, fault.code)) this.facts.broken(`${collector} of ${hour} becomes a gap: ${fault.message}`)
  }

  /** A value read "now" is stored under the hour it was read in. */
  checkHour({ collector, hour, acceptedValues }: CollectionOutcome): void {
    const readAtMs = this.facts.readAtMs.get(`${collector} ${hour}`)
    if (acceptedValues.length === 0 || readAtMs === undefined) return
    const isInHour = hourAt(readAtMs) === hour || hourAt(readAtMs - dateBlurMs) === hour
    if (!isInHour)
      this.facts.broken(`${collector} of ${hourText(hour)} was read at ${new Date(readAtMs).toISOString()}`)
  }

  /**
   * Longest sleep of a loop that has to do with so much.
   *
   * @param isDoubted whether the process does not know how late it is
   */
  idleness(activity: () => number, isDoubted: () => boolean): Idleness {
    const { script, clock } = this
    const isWell = () => clock.nowMs() >= script.healthyMs
    const restMsMax = () => (isDoubted() ? doubtRestMsMax : isWell() ? 300_000 : script.restMsMax)
    return {
      activity: () => (script.isLong && !isWell() ? 0 : activity()),
      changesAtMs: afterMs => this.#changesAtMs(afterMs),
      get restMsMax() {
        return restMsMax()
      },
    }
  }

  #changesAtMs(afterMs: number): number {
    const wishes = this.script.owners.flatMap(({ name }) => [this.facts.wishMs(name) - 1, this.facts.wishMs(name)])
    const next = (instants: readonly number[]) =>
      instants.find(instant => instant > afterMs) ?? Number.POSITIVE_INFINITY
    return Math.min(next(this.#changesMs), next(wishes.toSorted((a, b) => a - b)))
  }

  /** Whose key a protocol is written with. */
  ownerOf(protocolId: string): string {
    return this.script.protocols.find(({ id }) => id === protocolId)?.owner ?? ''
  }

  /** Newest due hour of an owner that the service would take if its clock were so much ahead. */
  newestDue(owner: string, skewMs: number): number | undefined {
    const ids = this.script.protocols.filter(protocol => protocol.owner === owner).map(({ id }) => id)
    return this.#eyes().newestDue(ids, this.clock.nowMs() + skewMs + futureMsMax)
  }

  /** From the first start to the last stop. @throws BrokenPromise */
  async run(): Promise<void> {
    try {
      await this.#live()
      this.#lookAfterwards()
    } finally {
      this.#life?.end()
      this.#closeEyes()
      this.disk.remove()
    }
    this.#throwBroken()
  }

  async #live(): Promise<void> {
    const { healthyMs, ends, person, backfills } = this.script
    backfills.forEach((fill, index) => {
      this.clock.at(fill.atMs, () => this.#life?.isAlive && this.#life.fillIn(fill, 100 + index))
    })
    for (const { atMs, act } of person) this.clock.at(atMs, () => void this.#visit(act))
    for (const end of ends) await this.#liveUntil(end)
    this.#start(undefined)
    const wellMs = Math.max(healthyMs, this.clock.nowMs()) + hourMs + (this.chain ? chainRestMs : 0)
    await this.#run(() => this.clock.nowMs() >= wellMs)
    this.#steps.isWell = true
    await this.#until(this.#life?.stopCollecting())
    const lastMs = this.clock.nowMs() + restMs
    await this.#run(() => this.clock.nowMs() >= lastMs || this.#eyes().due() === 0)
    await this.#until(this.#life?.stop())
    this.#life?.end()
  }

  async #liveUntil(end: EndScript): Promise<void> {
    if (this.clock.nowMs() >= this.script.healthyMs) return
    this.#start(end)
    await this.#run(() => !this.#life?.isAlive || this.clock.nowMs() >= this.script.healthyMs)
    this.#life?.end()
    this.#life = undefined
    this.facts.tell('the process is gone')
    this.facts.lifeIsOver(this.clock.nowMs())
    if (end.isPowerCut) this.#cutPower()
    this.ledger.check(this.#eyes(), this.clock.nowMs())
    const upMs = this.clock.nowMs() + end.downMs
    this.clock.at(upMs, () => {})
    await this.#run(() => this.clock.nowMs() >= upMs)
  }

  #cutPower(): void {
    this.#closeEyes()
    this.disk.cutPower()
    this.ledger.powerWasCut()
    this.facts.tell('the power was cut')
  }

  #start(end: EndScript | undefined): void {
    this.facts.tell(`life ${this.#lives} begins`)
    this.#steps.begin(end)
    try {
      this.#life = new Life(this, this.#lives, this.#log)
    } catch (error) {
      if (!this.#steps.isOver) throw error
    }
    this.#lives += 1
    const life = this.#life
    // Killed while it started: no command knew it then.
    if (this.#steps.isOver) life?.end()
    const endAfter = (ms: number) => this.clock.after(ms, () => life?.end())
    const { at } = end ?? {}
    if (at?.kind === 'instant') endAfter(at.afterMs)
    this.facts.wished = () => (at?.kind === 'wish' ? endAfter(at.afterMs) : undefined)
  }

  /** As upkeep makes it. @returns whether it is there */
  keepBallast(): boolean {
    if (!this.#steps.isFull) this.disk.makeBallast()
    return this.disk.hasBallast
  }

  async #visit(act: 'release' | 'retry' | 'drop'): Promise<void> {
    const deadAndHeld = this.#life?.isAlive ? this.#life.outbox.operators : undefined
    this.facts.tell(`a person wants to ${act}`)
    const visit = {
      release: () => deadAndHeld?.release({ state: 'held' }, 'changed'),
      retry: () => deadAndHeld?.release({ state: 'dead' }, 'locked'),
      drop: () => deadAndHeld?.drop({ state: 'held' }),
    }
    // The process may end meanwhile.
    await visit[act]()?.catch(() => {})
  }

  async #run(isOver: () => boolean): Promise<void> {
    await this.clock.run(() => this.facts.violation !== undefined || isOver())
    this.#throwBroken()
  }

  async #until(end: Promise<void> | undefined): Promise<void> {
    let isOver = false
    const ending = end?.finally(() => {
      isOver = true
    })
    await this.#run(() => isOver)
    if (!isOver) this.facts.broken('it does not stop')
    this.#throwBroken()
    await ending
  }

  #lookAfterwards(): void {
    const rows = this.ledger.check(this.#eyes(), this.clock.nowMs())
    this.facts.lastMs = this.clock.nowMs()
    const lastHour = hourAt(this.script.healthyMs)
    checkEnd(this, rows, this.#eyes(), lastHour)
    checkChain(this, rows, this.#eyes(), lastHour)
  }

  #throwBroken(): void {
    if (this.facts.violation !== undefined) throw new BrokenPromise(this.facts.violation)
  }

  #eyes(): Look {
    this.#look ??= new Look(this.disk.file)
    return this.#look
  }

  #closeEyes(): void {
    this.#look?.close()
    this.#look = undefined
  }
}

/** When something changes that an idle loop must not sleep through. */
function changesOf({ service, healthyMs, owners, protocols, wrongClocks }: Script): number[] {
  const changes = [
    healthyMs,
    ...wrongClocks.flatMap(({ fromMs, toMs }) => [fromMs, toMs]),
    ...service.troubles.flatMap(({ fromMs, toMs }) => [fromMs, toMs]),
    ...service.skews.map(({ fromMs }) => fromMs),
    ...owners.flatMap(({ rotations }) => rotations.flatMap(({ atServiceMs, inFileMs }) => [atServiceMs, inFileMs])),
    ...protocols.map(({ registeredMs }) => registeredMs),
  ]
  return changes.sort((a, b) => a - b)
}
