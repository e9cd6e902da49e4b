/** Limits that the daemon and its processes of collectors share. Units are in the names. */

/** Log lines of one run of a collector; further ones are dropped, and reported once. */
export const runLogLinesMax = 500

/** The report of lines that are dropped. */
export const furtherLeftOut = 'further log lines are left out'

/** Characters of a text from a collector (an error, a log line, an unexpected value). */
export const collectorTextCharsMax = 1_000

/** Characters of one message of a child. */
export const childMessageCharsMax = 4 * 1_048_576

/** Hours before its own that a run may read a chain: a leap year. */
export const hoursBeforeMax = 366 * 24

/** Reads in one question about a chain. */
export const readsMax = 10_000
