import { type BatchJob, BatchScheduler } from '../../../edge/batch-scheduler.ts'
import { hourAt, hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { CollectionOutcome, Recorded } from '../../contract/outcome.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import { databaseTrouble } from '../connection/errors.ts'
import type { PostgresHealth } from '../connection/health.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type EndedHour, endHours } from '../tables/collected-hours.ts'
import { EditedRuns, numbersAtHours } from '../tables/edited-runs.ts'
import { EnqueueChanges } from '../tables/enqueuing.ts'
import { lockCollectors, type NumbersByName } from '../tables/locks.ts'
import { writePins } from '../tables/pin-rows.ts'
import { provenanceKey, provenanceNumbers } from '../tables/provenance-rows.ts'
import { RegisteredMetrics } from '../tables/registered-metrics.ts'
import type { UnsentMetrics } from '../tables/unsent-metrics.ts'

/** Work that takes part in a commit. It may run more than once, and undoes all of the commit by throwing. */
export type InTransaction = (transaction: Transaction) => Promise<void>

interface OutcomeRequest {
  readonly outcome: CollectionOutcome
  readonly nowMs: number
  readonly inTransaction: InTransaction | undefined
}

type OutcomeJob = BatchJob<OutcomeRequest, Recorded>

/** Dependencies of `OutcomeWriter`. */
interface OutcomeWriterDeps {
  readonly database: PostgresDatabase
  readonly health: PostgresHealth
  readonly unsent: UnsentMetrics
}

/**
 * Stores outcomes of collections, those of one turn in one commit. It locks rows, loads what may stand in the way, decides
 * in memory, and writes sets.
 */
export class OutcomeWriter {
  readonly #deps: OutcomeWriterDeps
  readonly #scheduler: BatchScheduler<OutcomeRequest, Recorded>

  constructor(deps: OutcomeWriterDeps) {
    this.#deps = deps
    this.#scheduler = new BatchScheduler(jobs => this.#all(jobs), {
      sizeOf: ({ outcome }) => Math.max(1, outcome.accepted.length),
      sizeMax: commitRowsMax,
      isSerial: true,
    })
  }

  /** As `IntakeStore.record`. */
  record(outcome: CollectionOutcome, nowMs: number, inTransaction?: InTransaction): Promise<Recorded> {
    const write = () => this.#scheduler.schedule({ outcome, nowMs, inTransaction })
    return this.#deps.health.writing(outcome.accepted.length, write)
  }

  /** Each hour of a collector is in a commit once at most. */
  async #all(jobs: readonly OutcomeJob[]): Promise<void> {
    let left = jobs
    while (left.length > 0) {
      const first = new Map(left.toReversed().map(job => [hourKey(job.request.outcome), job]))
      const together = [...first.values()].reverse()
      await this.#together(together)
      left = left.filter(job => !together.includes(job))
    }
  }

  /** One that cannot be stored fails alone. */
  async #together(jobs: readonly OutcomeJob[]): Promise<void> {
    const requests = jobs.map(({ request }) => request)
    try {
      const recorded = await this.#deps.database.write(transaction => this.#write(transaction, requests))
      for (const [place, job] of jobs.entries()) job.resolve(recorded[place] ?? { added: 0, corrected: 0 })
    } catch (error) {
      this.#deps.unsent.mayBeSent(requests.flatMap(({ outcome }) => outcome.accepted.map(({ metric }) => metric)))
      const trouble = databaseTrouble(error)
      const isOfAll = trouble !== undefined && trouble !== 'other'
      if (jobs.length === 1 || isOfAll) for (const job of jobs) job.reject(error)
      else for (const job of jobs) await this.#together([job])
    }
  }

  async #write(transaction: Transaction, requests: readonly OutcomeRequest[]): Promise<Recorded[]> {
    addUnscheduled(transaction, requests)
    const names = requests.map(({ outcome }) => outcome.collector)
    const [collectors, provenances] = await Promise.all([
      lockCollectors(transaction, names),
      provenanceNumbers(
        transaction,
        requests.flatMap(({ outcome }) => outcome.provenance ?? []),
      ),
    ])
    const changes = await changesOf(transaction, requests, collectors)
    const ended = requests.flatMap(({ outcome, nowMs }): EndedHour[] => {
      const { collector: name, accepted, mode = 'first-stands', provenance } = outcome
      const collector = collectors.get(name)
      // Without values there is nothing to refuse, and no row to change.
      if (collector === undefined) return []
      const enqueued = changes.enqueue({ accepted, mode, nowMs })
      const number = provenance ? (provenances.get(provenanceKey(provenance)) ?? null) : null
      return [{ outcome, nowMs, collector, enqueued, provenance: number }]
    })
    changes.write(transaction)
    writePins(transaction, ended.map(pinnedOutcome))
    await endHours(transaction, ended)
    for (const { inTransaction } of requests) await inTransaction?.(transaction)
    // Before the commit: afterwards another turn may have sent them.
    this.#deps.unsent.add(changes.unsent)
    return requests.map(({ outcome }) => {
      const enqueued = ended.find(one => one.outcome === outcome)?.enqueued
      return { added: enqueued?.metrics ?? 0, corrected: enqueued?.corrected ?? 0 }
    })
  }
}

/** Inserts the collectors that have no schedule. */
function addUnscheduled(transaction: Transaction, requests: readonly OutcomeRequest[]): void {
  const since = new Map(
    requests
      .filter(({ outcome }) => outcome.unexpected)
      .map(({ outcome, nowMs }) => [outcome.collector, hourNumber(hourAt(nowMs))]),
  )
  if (since.size === 0) return
  transaction.later(
    `INSERT INTO tidegauge.collector (name, since) SELECT name, since FROM unnest($1::text[], $2::integer[]) AS added (name, since)
     WHERE NOT EXISTS (SELECT 1 FROM tidegauge.collector AS known WHERE known.name = added.name)
     ORDER BY name ON CONFLICT DO NOTHING`,
    [[...since.keys()], [...since.values()]],
  )
}

/** Loads what there is about the metrics of outcomes. @throws Error for values of a collector that is not known */
async function changesOf(
  transaction: Transaction,
  requests: readonly OutcomeRequest[],
  collectors: NumbersByName,
): Promise<EnqueueChanges> {
  const all = requests.flatMap(({ outcome: { collector, accepted } }) => {
    if (accepted.length === 0) return []
    const collectorNumber = collectors.get(collector)
    if (collectorNumber === undefined) throw new Error(`no collector ${collector} is known to the outbox`)
    return [{ accepted, collector, collectorNumber }]
  })
  const metrics = await RegisteredMetrics.of(transaction, all)
  const numbers = all.flatMap(({ accepted }) =>
    accepted.map(({ metric }) => ({ hour: hourNumber(metric.hour), number: metrics.metric(metric.id).number })),
  )
  return new EnqueueChanges(metrics, await EditedRuns.loaded(transaction, numbersAtHours(numbers)))
}

function pinnedOutcome({ outcome, collector, enqueued }: EndedHour) {
  const { hour, pins = [], mode, failed } = outcome
  const isWhole = !failed && mode === 'correct'
  const isChanged = enqueued.metrics + enqueued.corrected > 0
  return { hour, collector, pins: isWhole || isChanged ? pins : [], isWhole }
}

function hourKey({ collector, hour }: CollectionOutcome): string {
  return `${hour} ${collector}`
}
