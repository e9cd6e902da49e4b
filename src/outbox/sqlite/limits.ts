/** Limits of the outbox's file. */

import { logBytesMax } from '../../model/limits.ts'

/** Size of the write-ahead log above which it is truncated. */
export const logTrimBytes = 16 * 1_048_576

/** Size of the write-ahead log above which a reader that blocks truncation is reported. */
export const logReportBytes = 64 * 1_048_576

if (logBytesMax >= logTrimBytes) throw new Error('logBytesMax < logTrimBytes: the log of a busy daemon is reused')
if (logTrimBytes >= logReportBytes)
  throw new Error('logTrimBytes < logReportBytes: it is truncated before it is reported')

/** Size of the file above which a thread checks it for damage after the daemon has started, instead of before. */
export const lookInThreadBytes = 64 * 1_048_576

/** Pause between two steps of deleting old history, so that other work can run. */
export const pruneRestMs = 20
