/** Limits of the life of the file. */

import { logBytesMax } from '../../../model/limits.ts'

/** Wait before a write is retried while another process has the outbox's lock. */
export const lockedRestMs = 50

/** Time for which another process may have the lock before it is reported and readiness turns red. */
export const lockedReportMs = 10_000

/** Time for which a stop waits for the lock; rows not written by then are collected again. */
export const lockedStopMs = 5_000

/**
 * Size of the file that is deleted when the disk is full, so that verdicts can still be recorded: the log grows
 * between checkpoints, and further while a reader blocks them.
 */
export const ballastBytes = 16 * 1_048_576

if (logBytesMax >= ballastBytes) throw new Error('logBytesMax < ballastBytes: the log may grow on a full disk')
