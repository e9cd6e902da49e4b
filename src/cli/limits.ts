/** Limits of commands. */

/** Wait after a daemon's outbox broke twice in a row, to spare a failing disk. */
export const breakageRestMs = 60_000

/** Longest load of one collector while the daemon starts; after that the daemon starts without it. */
export const startLoadMsMax = 10_000

/** Interval of checking the configuration file for a change. */
export const fileLookMs = 5_000

/** Interval at which a standby looks whether the daemon has ended. */
export const standbyLookMs = 250

/** Time after which a standby opens the status server's port, if it is free. */
export const standbyPortMs = 10_000

/** Interval of looking at the sources of a collector while a person works on it. */
export const sourceLookMs = 200

/** Interval at which a process started by npm checks that its parent still runs. */
export const parentLookMs = 1_000

/** Time after its start in which a daemon has read its first hour; then its heap is made small. */
export const heapRestMs = 3_000

/** Interval at which the heap is looked at again, and growth of the process that makes it worth a collection. */
export const heapLookMs = 5_000
export const heapGrownBytes = 4 * 1024 * 1024

/** Time over which is measured whether the process rests. */
export const heapSampleMs = 1_000
