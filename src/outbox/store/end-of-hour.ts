import { type Fault, faultRecord } from '../../model/fault.ts'
import { shortened } from '../../model/text.ts'
import type { FailedAttempt } from '../contract/hours.ts'

/** An expected hour of a collector: the columns of its row that the end of a run may change, and `changes`. */
export interface HourColumns {
  /** 0: due, 1: collected, 2: a gap. */
  readonly state: number
  readonly attempts: number
  /** In milliseconds since 1970; 0 for at once. */
  readonly next_attempt_ms: number
  /** The newest failure as JSON, and its code; both `null` where there is none. */
  readonly fault: string | null
  readonly fault_code: string | null
  /** Metrics of the hour, and the sum of their digests; `null` once some have been pruned. */
  readonly metrics: number | null
  readonly digest: number | null
  /** Number of the provenance; `null` when not known. */
  readonly provenance: number | null
  /** Failed attempts, a line each, the newest first. */
  readonly failures: string | null
  /** Number of changes of the values that it is computed from. */
  readonly changes: number
}

/** The way in which a reading of an hour ends. */
export type ReadingEnd =
  /** It says nothing about the hour: more of it follows, or a failed hour was not expected. */
  | { readonly kind: 'none' }
  | { readonly kind: 'collected' }
  | { readonly kind: 'failed'; readonly fault: Fault; readonly nextAttemptMs: number; readonly nowMs: number }
  /** It cannot be had now. */
  | { readonly kind: 'gap'; readonly fault: Fault }

/** Values of an hour that a reading has stored. */
export interface StoredValues {
  /** New metrics, and the change of the sum of digests. Of an hour without a row: all that it has. */
  readonly metrics: number
  readonly digest: number
  /** Of a value that was stored or changed; `null` for none. */
  readonly provenance: number | null
  /** `changes` of the values that it was computed from. Default: it is computed from none. */
  readonly inputChanges?: number | undefined
}

const nothingStored: StoredValues = { metrics: 0, digest: 0, provenance: null }

const expected: HourColumns = {
  ...{ state: 0, attempts: 0, next_attempt_ms: 0, fault: null, fault_code: null },
  ...{ metrics: 0, digest: 0, provenance: null, failures: null, changes: 0 },
}

/**
 * Decides what becomes of an hour when a reading of it ends. Pure.
 *
 * @param rowBefore its row; `undefined` where it is not expected
 * @returns its row; `undefined` where it still has none
 */
export function endOfHour(
  rowBefore: HourColumns | undefined,
  end: ReadingEnd,
  values: StoredValues = nothingStored,
): HourColumns | undefined {
  // Values of an hour that was not expected make it collected, or are parts of one that is not.
  if (!rowBefore && end.kind !== 'collected' && end.kind !== 'gap') return undefined
  const row = counted(rowBefore ?? expected, values)
  // Its inputs have changed since they were read: it stays as it is, and is computed again at once.
  const isStale = values.inputChanges !== undefined && values.inputChanges !== row.changes
  const ended = withEnd(row, end)
  return isStale ? { ...ended, state: row.state, next_attempt_ms: 0 } : ended
}

function counted(row: HourColumns, { metrics, digest, provenance }: StoredValues): HourColumns {
  return {
    ...row,
    metrics: row.metrics === null ? null : row.metrics + metrics,
    digest: row.digest === null ? null : (((row.digest + digest) % 2 ** 32) + 2 ** 32) % 2 ** 32,
    provenance: provenance ?? row.provenance,
  }
}

function withEnd(row: HourColumns, end: ReadingEnd): HourColumns {
  if (end.kind === 'collected') {
    const attempts = row.state === 1 ? row.attempts : row.attempts + 1
    return { ...row, state: 1, attempts, next_attempt_ms: 0, fault: null, fault_code: null }
  }
  // A failure changes neither a collected hour nor a gap.
  if (end.kind === 'none' || row.state !== 0) return row
  const [fault, fault_code] = faultColumns(end.fault)
  const failedRow = { ...row, attempts: row.attempts + 1, fault, fault_code }
  if (end.kind === 'gap') return { ...failedRow, state: 2 }
  const failures = `${failureLine(end.fault, end.nowMs)}${row.failures ?? ''}`.slice(0, failuresCharsMax)
  return { ...failedRow, next_attempt_ms: end.nextAttemptMs, failures }
}

/** The columns of an hour's fault. */
export function faultColumns(fault: Fault): [fault: string, code: string] {
  return [JSON.stringify(faultRecord(fault)), fault.code]
}

/** Characters kept of all failed attempts of an hour, in the column `failures`, and of the reason of one. */
const failuresCharsMax = 2_000
const reasonCharsMax = 300

/** A failed attempt as a line of the column `failures`, whose first line is the newest: instant and reason. */
function failureLine(fault: Fault, atMs: number): string {
  return `${new Date(atMs).toISOString()} ${shortened(fault.message.replace(/\s+/g, ' '), reasonCharsMax)}\n`
}

/** The failed attempts in a column `failures`. The last line may be cut off, and counts as a whole one if it is readable. */
export function failedAttempts(failures: string | null): FailedAttempt[] {
  const lines = (failures ?? '').split('\n').flatMap(line => {
    const [, instant, reason] = /^(\S+Z) (.+)$/.exec(line) ?? []
    return instant && reason ? [{ atMs: Date.parse(instant), reason }] : []
  })
  return lines.reverse()
}
