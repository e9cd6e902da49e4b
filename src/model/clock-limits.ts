import { futureMsMax, hourMs, overdueMs } from './limits.ts'

/**
 * Largest offset of another clock that still agrees with this machine's. A value of "now" is stored only while both are
 * in the same hour, so this is less than an hour.
 */
export const clockAgreeMs = 30 * 60_000

/** Offset from which a wrong clock is reported: the service refuses timestamps further in its future. */
export const clockReportMs = futureMsMax

/**
 * Time for which a clock must run evenly before it is believed without confirmation. A machine without a battery gets
 * the time sooner than this after its start. Stored instants that contradict it make the wait longer.
 */
export const clockPatienceMs = 90_000
export const clockPatienceLongMs = 10 * 60_000

/** Wait for an answer about the time. */
export const witnessWaitMs = 5_000

/** A configuration written within this time was written by a person at this machine, by the same clock. */
export const configuredLatelyMs = 10 * 60_000

/** No clock is right before this version was released, nor that many years after it. */
export const releasedMs = Date.UTC(2026, 0, 1)
export const clockYearsMax = 20
/** A year in milliseconds. */
export const yearMs = 365.25 * 24 * hourMs

const relations: readonly [holds: boolean, relation: string][] = [
  [
    2 * clockAgreeMs <= hourMs,
    '2 * clockAgreeMs <= hourMs: clocks that agree are in the same hour at least half of it',
  ],
  [clockReportMs < clockAgreeMs, 'clockReportMs < clockAgreeMs: it is reported before collecting stops'],
  [
    clockPatienceLongMs < overdueMs,
    'clockPatienceLongMs < overdueMs: a start is over before its hour is called overdue',
  ],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
