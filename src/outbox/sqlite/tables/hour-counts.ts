import type { Sqlite } from '../../../sqlite/database.ts'
import { rowDigest } from './digest.ts'

/** Number of metrics of a collector's hour, and the sum of their digests. */
export interface HourCount {
  readonly metrics: number
  /** Sum of the rows' digests, as unsigned 32 bits. */
  readonly digest: number
}

/** @returns a function that counts the metrics of a collector's hour (in hours since 1970), in any state */
export function hourCounter(database: Sqlite): (collector: string, hour: number) => HourCount {
  const rows = database.prepare<[number, string], { metric: number; value: number }>(
    `SELECT outbox.metric, value FROM outbox JOIN metric ON metric.id = outbox.metric
     WHERE hour = ? AND metric.collector = (SELECT id FROM collector WHERE name = ?)`,
  )
  return (collector, hour) => {
    const all = rows.all(hour, collector)
    // As unsigned 32 bits, like the sum in the file.
    const digest = all.reduce((sum, { metric, value }) => (sum + rowDigest(hour, metric, value)) % 2 ** 32, 0)
    return { metrics: all.length, digest }
  }
}
