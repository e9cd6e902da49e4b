import type { Fault } from '../model/fault.ts'
import { type Hour, hourNumber } from '../model/hour.ts'
import { commitRowsMax } from '../model/limits.ts'
import type { Metric } from '../model/metric.ts'
import type { Remark } from '../model/remarks.ts'
import { type Sqlite, unsynced } from '../sqlite/database.ts'
import { groupCommit } from '../sqlite/group-commit.ts'
import { Collections } from './collections.ts'
import { Destinations } from './destinations.ts'
import { Detained } from './detained.ts'
import { Disk } from './disk.ts'
import { Due } from './due.ts'
import { type Accepted, type DeadLetter, Metrics } from './metrics.ts'
import { Names } from './names.ts'
import { openFile } from './open-file.ts'
import { Pruning } from './pruning.ts'
import { Tally } from './tally.ts'
import { Warnings } from './warnings.ts'

/** What one collector gave for one hour. With a fault the hour stays due and is tried again at an instant. */
export interface CollectionOutcome {
  readonly collector: string
  readonly hour: Hour
  readonly accepted: readonly Accepted[]
  readonly failed?: { readonly fault: Fault; readonly nextAttemptMs: number }
}

/** What the service said of a batch; what is not named stays due. */
export interface Settlement {
  readonly delivered: readonly Metric[]
  readonly dead: readonly DeadLetter[]
  readonly warnings: readonly Remark[]
}

/** Where metrics come from. */
interface Origin {
  readonly collector: string
  readonly hour: Hour
  readonly nowMs: number
}

/**
 * The table both loops know. Intake puts metrics in, delivery settles them. What is put in survives a power cut once the
 * promise resolves. A verdict survives the process; a power cut may take back the last ones, and those metrics are then
 * sent again, which only updates.
 */
export class Outbox {
  readonly collections: Collections
  readonly metrics: Metrics
  readonly due: Due
  readonly tally: Tally
  readonly detained: Detained
  readonly destinations: Destinations
  readonly warnings: Warnings
  readonly disk: Disk
  readonly #database: Sqlite
  readonly #names: Names
  readonly #pruning: Pruning
  readonly #together: ReturnType<typeof groupCommit<void>>
  readonly #settle: (what: { readonly settlement: Settlement; readonly nowMs: number }) => void

  /**
   * @param file made when missing, with its folder
   * @throws Fault `outbox-corrupt`, `disk-full` or `outbox-unusable`
   */
  constructor(file: string) {
    this.disk = new Disk(file)
    const database = openFile(file, this.disk)
    this.#database = database
    this.#names = new Names(database)
    this.tally = new Tally(database)
    this.collections = new Collections(database)
    this.metrics = new Metrics(database, this.#names, this.tally)
    this.due = new Due(database, this.#names, this.tally)
    this.detained = new Detained(database, this.#names, this.tally, this.metrics)
    this.destinations = new Destinations(database)
    this.warnings = new Warnings(database)
    this.#pruning = new Pruning(database, this.tally)
    this.#together = groupCommit<void>(database, () => this.#names.forget(), commitRowsMax)
    this.#settle = unsynced(database, ({ settlement, nowMs }) => {
      const { delivered, dead, warnings } = settlement
      this.#names.refresh()
      this.metrics.markDelivered(delivered)
      for (const entry of dead) this.metrics.markDead(entry, nowMs)
      this.warnings.record(warnings, nowMs)
    })
  }

  /**
   * Stores what a collector gave and what became of its hour together: neither is ever there without the other. Outcomes
   * of the same turn share a commit. One of more metrics than a commit may hold is stored in parts, the hour's row last.
   *
   * Rejects with a Fault `disk-full` when there is no room, and `outbox-moved` when the file is not in its place any more.
   */
  async recordCollection({ collector, hour, accepted, failed }: CollectionOutcome, nowMs: number): Promise<void> {
    const parts = slices(accepted, commitRowsMax)
    const last = parts.pop() ?? []
    const of = { collector, hour, nowMs }
    for (const part of parts) await this.#enqueue(part, of, () => {})
    await this.#enqueue(last, of, () => {
      if (failed) this.collections.markFailed(collector, hour, failed.fault, failed.nextAttemptMs)
      else this.collections.markCollected(collector, hour)
    })
  }

  async #enqueue(part: readonly Accepted[], { collector, hour, nowMs }: Origin, then: () => void): Promise<void> {
    const write = () => {
      this.disk.requireInPlace()
      this.#names.refresh()
      this.collections.addMetrics(collector, hour, this.metrics.enqueue(part, collector, nowMs))
      then()
    }
    try {
      await this.#together(write, part.length)
    } catch (error) {
      // What was collected already may use the room that is kept; nothing new is started then.
      if (this.#isAgain(error)) await this.#together(write, part.length)
      else throw error
    }
  }

  /** Whether the same may work now. @throws Fault `disk-full` */
  #isAgain(error: unknown): boolean {
    const seen = this.disk.saw(error)
    if (seen === 'full') throw this.disk.fault(error)
    return seen === 'room-made'
  }

  /** Says that a metric has another unit from its hour on: a person has allowed it. */
  changeUnit(metric: Pick<Metric, 'id' | 'hour' | 'unit' | 'module'>): void {
    this.#database
      .transaction(() => {
        this.#names.refresh()
        const known = this.#names.metric(metric.id)
        if (known) this.metrics.describe(known, hourNumber(metric.hour), metric)
      })
      .immediate()
  }

  /** Records a verdict, in one commit. */
  settle(settlement: Settlement, nowMs: number): void {
    try {
      this.#settle({ settlement, nowMs })
    } catch (error) {
      this.#names.forget()
      // A full disk must not keep what was delivered from being known as that.
      if (!this.#isAgain(error)) throw error
      this.#settle({ settlement, nowMs })
    }
  }

  /** Deletes what is settled and older than an hour, a part at a time. @returns whether there is more */
  pruneSome(before: Hour): boolean {
    return this.#pruning.some(hourNumber(before))
  }

  close(): void {
    this.#database.close()
  }
}

function slices<T>(all: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}
