import type Database from 'better-sqlite3'
import { Fortune } from './chance.ts'
import type { Clock } from './clock.ts'
import { type Disk, diskIsFull, isSynced, type StepWatch } from './disk.ts'
import type { Facts } from './facts.ts'
import type { EndScript, Script } from './script.ts'

type Sqlite = Database.Database

/** Thrown at the durable step at which a process ends. */
class Killed extends Error {}

/** Consequences of a durable step. */
interface Effects {
  kill(): void
  look(): void
}

const pagesMax = 1_073_741_823
/** Room once the ballast is gone. */
const ballastPages = 20

/** The durable steps of a process: where it is stopped, where the disk is full, and what of them a power cut takes back. */
export class Steps implements StepWatch {
  /** Whether the process has been stopped at a step. */
  isOver = false
  /** From now on it is not stopped any more. */
  isWell = false
  readonly #script: Script
  readonly #clock: Clock
  readonly #facts: Facts
  readonly #disk: Disk
  readonly #effects: Effects
  readonly #chance: Fortune
  #end: EndScript | undefined
  #count = 0
  /** Pages by which the file may grow; absent when there is room. */
  #pagesMore: number | undefined

  constructor(script: Script, clock: Clock, facts: Facts, disk: Disk, effects: Effects) {
    this.#script = script
    this.#clock = clock
    this.#facts = facts
    this.#disk = disk
    this.#effects = effects
    this.#chance = new Fortune(script.seed + 4)
    disk.watch(this)
  }

  /** A life begins, and ends like this. */
  begin(end: EndScript | undefined): void {
    this.#end = end
    this.#count = 0
    this.isOver = false
    this.#pagesMore = undefined
    if (end?.isPowerCut) this.#disk.sync()
  }

  before(database: Sqlite): void {
    if (this.isOver) throw new Killed('the process is gone')
    this.#count += 1
    if (this.#isLast('before')) this.#kill()
    this.#fill(database)
  }

  after(database: Sqlite): void {
    if (this.#facts.isTraced) this.#facts.tell(`step ${this.#count}`)
    // Writes that were not waited for may be on the disk, too.
    if (this.#end?.isPowerCut && (isSynced(database) || this.#chance.is(0.3))) this.#disk.sync()
    if (this.#isLast('after')) this.#kill()
    if (this.#chance.is(0.1)) this.#effects.look()
  }

  #isLast(side: 'before' | 'after'): boolean {
    const at = this.#end?.at
    return !this.isWell && at?.kind === 'step' && at.step === this.#count && at.side === side
  }

  #kill(): void {
    this.isOver = true
    this.#facts.tell(`killed at step ${this.#count}`)
    this.#effects.kill()
    throw new Killed('the process is gone')
  }

  /** Whether there is no room on the disk for anything but what the ballast gives way to. */
  get isFull(): boolean {
    return this.#full !== undefined
  }

  get #full(): Script['fullDisks'][number] | undefined {
    const nowMs = this.#clock.nowMs()
    return this.#script.fullDisks.find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)
  }

  #fill(database: Sqlite): void {
    const full = this.#full
    const hasGivenWay = !this.#disk.hasBallast
    if (full?.kind === 'commits' && this.#chance.is(hasGivenWay ? 0.3 : 0.6)) throw diskIsFull()
    const pagesMore = full?.kind !== 'pages' ? undefined : hasGivenWay ? ballastPages : 0
    if (pagesMore === this.#pagesMore) return
    const pages = Number(database.pragma('page_count', { simple: true }))
    database.pragma(`max_page_count = ${pagesMore === undefined ? pagesMax : pages + pagesMore}`)
    this.#pagesMore = pagesMore
  }
}
