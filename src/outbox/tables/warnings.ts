import type { MetricId } from '../../model/metric.ts'
import type { Remark } from '../../model/remarks.ts'
import { warningKind } from '../../model/warning-kind.ts'
import type { Sqlite } from '../../sqlite/database.ts'

/** A remark of the service about pushes, however often it was made. */
export interface Warning {
  /** Absent when the service's words could not be matched to one metric. */
  readonly metricId?: MetricId
  /** See `warningKind`. */
  readonly kind: string
  /** The service's words, as they were last. */
  readonly text: string
  readonly count: number
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  /** A person knows: it is counted on in silence. */
  readonly isAcknowledged: boolean
}

interface RawWarning {
  readonly metric: string
  readonly kind: string
  readonly text: string
  readonly count: number
  readonly first_ms: number
  readonly last_ms: number
  readonly acknowledged: number
}

/** Which warnings are meant: those that fit everything given. */
export interface WarningSelection {
  /** Metric ids. */
  readonly ids?: readonly string[]
  readonly kind?: string
}

/** Different warnings kept; beyond it the longest unseen goes, so that words that always change cannot fill the disk. */
const warningsMax = 1_000

/** The warnings of the service. Part of the outbox’s file. */
export class Warnings {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      add: database.prepare<[string, string, string, number, number]>(
        `INSERT INTO warning (metric, kind, text, count, first_ms, last_ms) VALUES (?, ?, ?, 1, ?, ?)
         ON CONFLICT (metric, kind) DO UPDATE SET count = count + 1, last_ms = excluded.last_ms, text = excluded.text`,
      ),
      trim: database.prepare<[number]>(
        'DELETE FROM warning WHERE (metric, kind) IN (SELECT metric, kind FROM warning ORDER BY last_ms DESC LIMIT -1 OFFSET ?)',
      ),
      all: database.prepare<[], RawWarning>('SELECT * FROM warning ORDER BY last_ms DESC, metric, kind'),
      acknowledge: database.prepare<{ ids: string | null; kind: string | null }>(
        `UPDATE warning SET acknowledged = 1 WHERE acknowledged = 0
         AND (@ids IS NULL OR metric IN (SELECT value FROM json_each(@ids))) AND kind = coalesce(@kind, kind)`,
      ),
    }
  }

  /** Counts remarks, each kind and metric once. */
  record(remarks: readonly Remark[], nowMs: number): void {
    if (remarks.length === 0) return
    for (const { metric, text } of remarks) {
      this.#statements.add.run(metric?.id ?? '', warningKind(text), text, nowMs, nowMs)
    }
    this.#statements.trim.run(warningsMax)
  }

  /** A person has seen those that fit. @returns how many were new to them */
  acknowledge({ ids, kind }: WarningSelection): number {
    return this.#statements.acknowledge.run({ ids: ids ? JSON.stringify(ids) : null, kind: kind ?? null }).changes
  }

  /** Last seen first. */
  all(): Warning[] {
    return this.#statements.all.all().map(({ metric, kind, text, count, first_ms, last_ms, acknowledged }) => ({
      ...(metric === '' ? {} : { metricId: metric as MetricId }),
      kind,
      text,
      count,
      firstSeenMs: first_ms,
      lastSeenMs: last_ms,
      isAcknowledged: acknowledged === 1,
    }))
  }
}
