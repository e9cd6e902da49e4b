import { type Hour, hourFromNumber, hourNumber } from '../../../model/hour.ts'
import type { RowReader } from './known-metrics.ts'

/** Time for which an answer is kept: of a collector that has stood still for long, thousands of hours are read. */
const deliveredKnownMs = 600_000

/** Hours back from the last one, up to which an answer is read each time. */
const freshHours = 48

/** The newest delivered hour of each collector, however old. */
export class NewestDeliveredHours {
  readonly #known = new Map<string, { readonly hour: Hour; readonly atMs: number }>()

  /** As `StatusStore.newestDelivered`. */
  async of(
    reading: RowReader,
    collectors: readonly string[],
    upTo: Hour,
    nowMs: number,
  ): Promise<ReadonlyMap<string, Hour>> {
    const asked = collectors.filter(name => {
      const known = this.#known.get(name)
      return !known || Math.abs(nowMs - known.atMs) >= deliveredKnownMs
    })
    for (const [name, hour] of await newestDelivered(reading, asked, upTo)) {
      this.#known.set(name, { hour, atMs: nowMs })
    }
    const found = collectors.flatMap(name => {
      const known = this.#known.get(name)
      return known ? ([[name, known.hour]] as const) : []
    })
    for (const [name, hour] of found) {
      if (hourNumber(upTo) - hourNumber(hour) < freshHours) this.#known.delete(name)
    }
    return new Map(found)
  }
}

async function newestDelivered(
  reading: RowReader,
  collectors: readonly string[],
  upTo: Hour,
): Promise<ReadonlyMap<string, Hour>> {
  if (collectors.length === 0) return new Map()
  // Walks back hour by hour: an index of all collected hours would be a hundred times as large as the answer.
  const rows = await reading.query<{ name: string; hour: number }>(
    `SELECT collector.name, coalesce((
         SELECT back.hour FROM generate_series($2::integer, collector.since, -1) AS back (hour)
           JOIN tidegauge.collection ON collection.hour = back.hour AND collection.collector = collector.id AND collection.state = 1
         WHERE NOT EXISTS (SELECT 1 FROM tidegauge.outbox
             JOIN tidegauge.metric ON metric.id BETWEEN outbox.first AND outbox.first + outbox.metrics - 1
           WHERE outbox.hour = back.hour AND outbox.state IN (0, 2, 3) AND metric.collector = collector.id)
         ORDER BY back.hour DESC LIMIT 1), collector.since) AS hour
     FROM tidegauge.collector WHERE collector.name = ANY($1)`,
    [collectors, hourNumber(upTo)],
  )
  return new Map(rows.map(({ name, hour }) => [name, hourFromNumber(hour)]))
}
