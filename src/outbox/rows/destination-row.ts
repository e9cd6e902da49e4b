import type { DestinationState } from '../contract/destination.ts'

/** Columns of a destination's row. */
export interface DestinationRow {
  readonly not_before_ms: number
  readonly probe_at_ms: number
  readonly failures: number
  readonly waiting: string | null
  readonly last_push_ms: number | null
  readonly last_verdict: string | null
  readonly skew_ms: number | null
}

/** Values of the columns of a row: name, not before, probe at, failures, waiting, last push, last verdict, skew. */
export type DestinationColumns = [
  string,
  number,
  number,
  number,
  string | null,
  number | null,
  string | null,
  number | null,
]

/** Value of `probe_at_ms` after a person asked for a flush: long past, so that nothing waits for it. */
export const hurriedAtMs = 1

/** State of a destination without a row. */
export const freshDestination: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }

/** The state in a row. Pure. */
export function destinationOf(row: DestinationRow): DestinationState {
  const isAsked = row.probe_at_ms === hurriedAtMs
  return {
    notBeforeMs: row.not_before_ms,
    probeAtMs: isAsked ? 0 : row.probe_at_ms,
    ...(isAsked && { isAsked }),
    failures: row.failures,
    ...(row.waiting !== null && { waiting: row.waiting }),
    ...(row.last_push_ms !== null &&
      row.last_verdict !== null && { lastPush: { atMs: row.last_push_ms, verdict: row.last_verdict } }),
    ...(row.skew_ms !== null && { skewMs: row.skew_ms }),
  }
}

/** The row of a state. Pure. */
export function destinationColumns(name: string, state: DestinationState): DestinationColumns {
  const { notBeforeMs, probeAtMs, failures, waiting, lastPush, skewMs } = state
  const { atMs, verdict } = lastPush ?? {}
  return [name, notBeforeMs, probeAtMs, failures, waiting ?? null, atMs ?? null, verdict ?? null, skewMs ?? null]
}

/** Whether a state may be lost in a power cut: one without failures may, a `Retry-After` may not. Pure. */
export function mayBeLost({ failures, notBeforeMs }: DestinationState): boolean {
  return failures === 0 && notBeforeMs === 0
}
