import { faultRecord } from '../../../model/fault.ts'
import { hourNumber } from '../../../model/hour.ts'
import type { CollectionOutcome } from '../../contract/outcome.ts'
import { type Enqueued, rowDigest } from '../../rows/digest.ts'
import { failureLine, failuresCharsMax, faultColumns } from '../../rows/hour-rows.ts'
import { valueAt } from '../../rows/run-values.ts'
import type { Transaction } from '../connection/transaction.ts'

/** An hour of a collector, and the change that an outcome makes to it. */
export interface EndedHour {
  readonly outcome: CollectionOutcome
  /** Number of the collector. */
  readonly collector: number
  readonly enqueued: Enqueued
  /** When it ended, in milliseconds since 1970. */
  readonly nowMs: number
  /** Number of the provenance; `null` when not known. */
  readonly provenance: number | null
}

/** Numbers for the ways in which a run ends: nothing about its hour, collected, failed. */
const endings = { none: 0, collected: 1, failed: 2 } as const

function endingOf({ failed, unexpected }: CollectionOutcome): number {
  if (!failed) return endings.collected
  return unexpected ? endings.none : endings.failed
}

/**
 * Stores how runs ended. The transaction holds the locks of the collectors and has written the metrics; each hour of a
 * collector is in one ending at most.
 */
export async function endHours(transaction: Transaction, ended: readonly EndedHour[]): Promise<void> {
  const faults = ended.map(({ outcome: { failed } }) => (failed ? faultColumns(failed.fault) : [null, null]))
  const updated = await transaction.query<{ hour: number; collector: number }>(
    `UPDATE tidegauge.collection SET metrics = collection.metrics + ended.metrics,
       digest = (collection.digest + ended.digest) & 4294967295,
       provenance = coalesce(ended.provenance, collection.provenance),
       attempts = collection.attempts + CASE WHEN ended.ending = 1 AND state <> 1 OR ended.ending = 2 AND state = 0 THEN 1 ELSE 0 END,
       next_attempt_ms = CASE WHEN ended.ending = 1 THEN 0 WHEN ended.ending = 2 AND state = 0 THEN ended.next_ms ELSE next_attempt_ms END,
       failures = CASE WHEN ended.ending = 2 AND state = 0
         THEN left(ended.failure || E'\\n' || coalesce(collection.failures, ''), ${failuresCharsMax}) ELSE collection.failures END,
       fault = CASE WHEN ended.ending = 1 THEN NULL WHEN ended.ending = 2 AND state = 0 THEN ended.fault ELSE collection.fault END,
       fault_code = CASE WHEN ended.ending = 1 THEN NULL WHEN ended.ending = 2 AND state = 0 THEN ended.code ELSE collection.fault_code END,
       state = CASE WHEN ended.ending = 1 THEN 1 ELSE state END
     FROM unnest($1::integer[], $2::integer[], $3::integer[], $4::bigint[], $5::integer[], $6::bigint[], $7::text[], $8::text[], $9::integer[],
       $10::text[]) AS ended (hour, collector, metrics, digest, ending, next_ms, fault, code, provenance, failure)
     WHERE collection.hour = ended.hour AND collection.collector = ended.collector
     RETURNING collection.hour, collection.collector`,
    [
      ended.map(({ outcome }) => hourNumber(outcome.hour)),
      ended.map(({ collector }) => collector),
      ended.map(({ enqueued }) => enqueued.metrics),
      ended.map(({ enqueued }) => enqueued.digest),
      ended.map(({ outcome }) => endingOf(outcome)),
      ended.map(({ outcome }) => outcome.failed?.nextAttemptMs ?? 0),
      faults.map(([fault]) => fault),
      faults.map(([, code]) => code),
      ended.map(one => (isChanged(one) ? one.provenance : null)),
      ended.map(({ outcome: { failed }, nowMs }) => (failed ? failureLine(failed.fault, nowMs) : null)),
    ],
  )
  const known = new Set(updated.map(({ hour, collector }) => keyOf(hour, collector)))
  const isAdded = ({ outcome, collector }: EndedHour) =>
    endingOf(outcome) === endings.collected && !known.has(keyOf(hourNumber(outcome.hour), collector))
  await addCollected(transaction, ended.filter(isAdded))
  noteFailures(transaction, ended)
}

function isChanged({ enqueued }: EndedHour): boolean {
  return enqueued.metrics + enqueued.corrected > 0
}

/** Keeps the hours that a backfill could not read, until they are collected. */
function noteFailures(transaction: Transaction, ended: readonly EndedHour[]): void {
  const collected = ended.filter(({ outcome }) => !outcome.failed)
  if (collected.length > 0) {
    transaction.later(
      `DELETE FROM tidegauge.backfill_failure AS failure USING unnest($1::integer[], $2::integer[]) AS collected (hour, collector)
       WHERE failure.hour = collected.hour AND failure.collector = collected.collector`,
      [collected.map(({ outcome }) => hourNumber(outcome.hour)), collected.map(({ collector }) => collector)],
    )
  }
  for (const { outcome, collector, nowMs } of ended) {
    if (!outcome.failed || !outcome.unexpected) continue
    transaction.later(
      `INSERT INTO tidegauge.backfill_failure (hour, collector, at_ms, fault) SELECT $1::integer, $2::integer, $3::bigint, $4
       WHERE NOT EXISTS (SELECT 1 FROM tidegauge.collection WHERE hour = $1::integer AND collector = $2::integer AND state = 1)
       ON CONFLICT (hour, collector) DO UPDATE SET at_ms = excluded.at_ms, fault = excluded.fault`,
      [hourNumber(outcome.hour), collector, nowMs, JSON.stringify(faultRecord(outcome.failed.fault))],
    )
  }
}

/** Inserts hours without a row as collected, each with the count and digest of all its metrics, whenever they were stored. */
async function addCollected(transaction: Transaction, added: readonly EndedHour[]): Promise<void> {
  if (added.length === 0) return
  const stored = await storedSums(transaction, added)
  const rows = added.map(({ outcome, collector, provenance }) => {
    const hour = hourNumber(outcome.hour)
    const { metrics, digest } = stored.get(keyOf(hour, collector)) ?? { metrics: 0, digest: 0 }
    return [hour, collector, metrics, digest, provenance] as const
  })
  transaction.later(
    `INSERT INTO tidegauge.collection (hour, collector, state, attempts, metrics, digest, provenance)
     SELECT hour, collector, 1, 1, metrics, digest, provenance
     FROM unnest($1::integer[], $2::integer[], $3::integer[], $4::bigint[], $5::integer[]) AS added (hour, collector, metrics, digest, provenance)
     ORDER BY hour, collector ON CONFLICT DO NOTHING`,
    [0, 1, 2, 3, 4].map(place => rows.map(row => row[place])),
  )
}

/** Counts and digests of all stored metrics, by hour and collector. */
async function storedSums(
  transaction: Transaction,
  wanted: readonly EndedHour[],
): Promise<Map<string, { metrics: number; digest: number }>> {
  // Each run is read once, however many of the hour's collectors are asked for.
  const runs = await transaction.query<{
    hour: number
    first: number
    bytes: Buffer
    collector: number
    own: number[]
  }>(
    `SELECT hour, first, metric_values AS bytes, metric.collector, array_agg(metric.id) AS own FROM tidegauge.outbox JOIN tidegauge.metric
       ON metric.id BETWEEN first AND first + metrics - 1
     WHERE hour = ANY ($1::integer[]) AND metric.collector = ANY ($2::integer[]) GROUP BY hour, first, metric.collector`,
    [
      [...new Set(wanted.map(({ outcome }) => hourNumber(outcome.hour)))],
      [...new Set(wanted.map(({ collector }) => collector))],
    ],
  )
  const sums = new Map<string, { metrics: number; digest: number }>()
  for (const { hour, first, bytes, collector, own } of runs) {
    const key = keyOf(hour, collector)
    const sum = sums.get(key) ?? { metrics: 0, digest: 0 }
    sums.set(key, sum)
    for (const number of own) {
      sum.metrics += 1
      sum.digest = (sum.digest + rowDigest(hour, number, valueAt(bytes, number - first))) % 2 ** 32
    }
  }
  return sums
}

/** @param hour in hours since 1970 */
function keyOf(hour: number, collector: number): string {
  return `${hour} ${collector}`
}
