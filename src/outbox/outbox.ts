import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { Metric } from '../model/metric.ts'
import type { Remark } from '../model/remarks.ts'
import type { DeadMetric } from '../model/verdict.ts'
import { openDatabase, SchemaTooNewError, type Sqlite } from '../sqlite/database.ts'
import { Collections } from './collections.ts'
import { Destinations } from './destinations.ts'
import { type Accepted, Metrics } from './metrics.ts'
import { migrations } from './schema.ts'
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
  readonly dead: readonly DeadMetric[]
  readonly warnings: readonly Remark[]
}

/**
 * The table both loops know. Intake puts metrics in, delivery settles them; each call is one commit that survives a
 * power cut when it returns.
 */
export class Outbox {
  readonly collections: Collections
  readonly metrics: Metrics
  readonly destinations: Destinations
  readonly warnings: Warnings
  readonly #database: Sqlite

  /**
   * @param file made when missing, with its folder
   * @throws Fault `outbox-unusable`
   */
  constructor(file: string) {
    this.#database = open(file)
    this.collections = new Collections(this.#database)
    this.metrics = new Metrics(this.#database)
    this.destinations = new Destinations(this.#database)
    this.warnings = new Warnings(this.#database)
  }

  /** Stores what a collector gave and what became of its hour together: neither is ever there without the other. */
  recordCollection({ collector, hour, accepted, failed }: CollectionOutcome, nowMs: number): void {
    this.#commit(() => {
      for (const entry of accepted) this.metrics.enqueue(entry, collector, nowMs)
      if (failed) this.collections.markFailed(collector, hour, failed.fault, failed.nextAttemptMs)
      else this.collections.markCollected(collector, hour)
    })
  }

  /** Records a verdict. */
  settle({ delivered, dead, warnings }: Settlement, nowMs: number): void {
    this.#commit(() => {
      for (const metric of delivered) this.metrics.markDelivered(metric)
      for (const entry of dead) this.metrics.markDead(entry, nowMs)
      this.warnings.record(warnings, nowMs)
    })
  }

  close(): void {
    this.#database.close()
  }

  #commit(write: () => void): void {
    this.#database.transaction(write).immediate()
  }
}

function open(file: string): Sqlite {
  try {
    return openDatabase(file, migrations)
  } catch (error) {
    const fix =
      error instanceof SchemaTooNewError
        ? 'run the version of tidegauge that wrote it, or a newer one'
        : 'check the folder’s owner, its free space, and that the file is an outbox of tidegauge'
    throw new Fault('outbox-unusable', `cannot open the outbox ${file}: ${(error as Error).message}`, {
      fix,
      cause: error,
    })
  }
}
