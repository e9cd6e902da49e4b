/** Limits of the outbox's file alone. */

/** Bytes of the log above which it is cut off. */
export const logTrimBytes = 8 * 1_048_576

/** Bytes of the log above which it is told that something keeps it from being cut off. */
export const logToldBytes = 64 * 1_048_576

if (logTrimBytes >= logToldBytes) throw new Error('logTrimBytes < logToldBytes: it is cut off before anybody is told')

/** Bytes of the file above which it is looked through for damage in a thread, and not before the daemon starts. */
export const lookBesideBytes = 64 * 1_048_576
