/** Limits of the processes that run collectors. Units are in the names. */
export interface RunnerLimits {
  /** Time after its deadline that a run has to end by its signal, before its process counts as hung. */
  readonly graceMs: number
  /** Interval of pings to a shared process of foreign code while it has work. */
  readonly pingEveryMs: number
  /** Unanswered pings in a row after which the process is ended. */
  readonly pingsUnansweredMax: number
  /** Time within which a new process must be ready. */
  readonly startMsMax: number
  /** Idle time after which a shared process is ended: an hour is long, and memory is not free. */
  readonly idleMsMax: number
  /** Concurrent processes for a single suspect each. */
  readonly aloneMax: number
  /** Concurrent shared processes: one for each file or package of one's own. */
  readonly sharedMax: number
  /** Heap of one process, and all its memory: buffers lie outside of the heap. */
  readonly heapMbMax: number
  readonly memoryMbMax: number
  /** Concurrent requests of all collectors to one host. */
  readonly hostRequestsMax: number
  /** Requests a second to one host. */
  readonly hostPerSecondMax: number
}

/** The limits in production; tests set shorter ones. */
export const runnerLimits: RunnerLimits = {
  graceMs: 1_000,
  pingEveryMs: 1_000,
  pingsUnansweredMax: 5,
  startMsMax: 30_000,
  idleMsMax: 10_000,
  aloneMax: 4,
  sharedMax: 8,
  heapMbMax: 256,
  memoryMbMax: 384,
  // A browser opens six connections to a host, and public APIs without a key allow a few requests a second.
  hostRequestsMax: 8,
  hostPerSecondMax: 20,
}
