import type { MetricId } from '../model/metric.ts'
import type { Remark } from '../model/remarks.ts'
import type { Sqlite } from '../sqlite/database.ts'

/** A remark of the service about a push, however often it was made. */
export interface Warning {
  /** Absent when the service's words could not be matched to one metric. */
  readonly metricId?: MetricId
  readonly text: string
  readonly count: number
  readonly firstSeenMs: number
  readonly lastSeenMs: number
}

interface RawWarning {
  readonly metric: string
  readonly text: string
  readonly count: number
  readonly first_ms: number
  readonly last_ms: number
}

/** Different warnings kept; beyond it the longest unseen goes, so that words with a time in them cannot fill the disk. */
const warningsMax = 1_000

/** The warnings of the service. Part of the outbox’s file. */
export class Warnings {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      add: database.prepare<[string, string, number, number]>(
        `INSERT INTO warning (metric, text, count, first_ms, last_ms) VALUES (?, ?, 1, ?, ?)
         ON CONFLICT (metric, text) DO UPDATE SET count = count + 1, last_ms = excluded.last_ms`,
      ),
      trim: database.prepare<[number]>(
        'DELETE FROM warning WHERE (metric, text) IN (SELECT metric, text FROM warning ORDER BY last_ms DESC LIMIT -1 OFFSET ?)',
      ),
      all: database.prepare<[], RawWarning>('SELECT * FROM warning ORDER BY last_ms DESC, metric, text'),
    }
  }

  record(remarks: readonly Remark[], nowMs: number): void {
    if (remarks.length === 0) return
    for (const { metric, text } of remarks) this.#statements.add.run(metric?.id ?? '', text, nowMs, nowMs)
    this.#statements.trim.run(warningsMax)
  }

  /** Last seen first. */
  all(): Warning[] {
    return this.#statements.all.all().map(({ metric, text, count, first_ms, last_ms }) => ({
      ...(metric === '' ? {} : { metricId: metric as MetricId }),
      text,
      count,
      firstSeenMs: first_ms,
      lastSeenMs: last_ms,
    }))
  }
}
