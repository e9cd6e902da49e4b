import { futureMsMax, hourMs, overdueMs } from './limits.ts'

/**
 * How far another clock may be from this machine's and still agree with it: what reads "now" is stored only while both are
 * in the same hour, so it may be less than one.
 */
export const clockAgreeMs = 30 * 60_000

/** From here on a clock that is off is told: the service refuses what lies further in its future. */
export const clockToldMs = futureMsMax

/** A clock that moves by more than this in no time was set; less is what keeping it right does. */
export const clockStepMs = 10_000

/**
 * How long a clock has to go evenly before it is believed although nothing agrees. It is longer than a machine without a
 * battery takes to get the time after it has started; longer again where what is stored says otherwise.
 */
export const clockPatienceMs = 90_000
export const clockPatienceLongMs = 10 * 60_000

/** How long whoever can tell the time is waited for before it counts as silent, and the pause before it is asked again. */
export const witnessWaitMs = 5_000
export const witnessAskMs = 60_000

/** A configuration that was written so lately was written by a person, who is there, and by the same clock. */
export const configuredLatelyMs = 10 * 60_000

/** No clock is before this version was made, nor so many years after it. */
export const releasedMs = Date.UTC(2026, 0, 1)
export const clockYearsMax = 20
/** A year in milliseconds. */
export const yearMs = 365.25 * 24 * hourMs

const relations: readonly [holds: boolean, relation: string][] = [
  [
    2 * clockAgreeMs <= hourMs,
    '2 * clockAgreeMs <= hourMs: clocks that agree are in the same hour at least half of it',
  ],
  [clockToldMs < clockAgreeMs, 'clockToldMs < clockAgreeMs: it is told before nothing can be collected'],
  [
    clockPatienceLongMs < overdueMs,
    'clockPatienceLongMs < overdueMs: a start is over before its hour is called overdue',
  ],
]
for (const [holds, relation] of relations) if (!holds) throw new Error(`limits contradict each other: ${relation}`)
