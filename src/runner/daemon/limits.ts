import type { RateBounds } from '../../edge/rate/discovered-rate.ts'
import { retryAfterMsMax } from '../../model/limits.ts'

/** Limits of the processes that run collectors. Units are in the names. */
export interface RunnerLimits {
  /** Time after its deadline that a run has to end by its signal, before its process counts as hung. */
  readonly graceMs: number
  /** Interval of pings to the shared process while it has work. */
  readonly pingEveryMs: number
  /** Unanswered pings in a row after which the process is ended. */
  readonly pingsUnansweredMax: number
  /** Time within which a new process must be ready. */
  readonly startMsMax: number
  /** Idle time after which the shared process is ended: an hour is long, and memory is not free. */
  readonly idleMsMax: number
  /** Concurrent processes for a single suspect each. */
  readonly aloneMax: number
  /** Concurrent shared processes: one for each file or package of one's own. */
  readonly sharedMax: number
  /** Heap of one process, and all its memory: buffers lie outside of the heap. */
  readonly heapMbMax: number
  readonly memoryMbMax: number
  /** Concurrent requests of all collectors to one host, and requests a second. */
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

/** Bounds of a host's rate after a 429 or `Retry-After`. */
export const hostRate: RateBounds = { perSecondMin: 0.5, doublesMs: 10_000, doublesMsMax: 120_000, retryAfterMsMax }

/** Answers in a row after which a host that refused is sent one more concurrent request. */
export const hostAnswersToRise = 20

/** Longest time for which a request holds its turn: an attempt, and some time for the messages. */
export const hostTurnMsMax = 25_000

/** Time that a run waits for turns at hosts without coming nearer to its deadline, at most. */
export const hostWaitMsMax = 10 * 60_000

/** Hosts whose limit is remembered. */
export const hostsMax = 1_000

/** Longest name of a host with its port, in characters. */
export const hostCharsMax = 300

/** Characters of any single text in a child's message; its own code cuts texts much shorter. */
export const childTextCharsMax = 8_192

/** Allowance of a child for each run it was given, and once more for itself. */
export const childAllowance = { messages: 10_000, chars: 64 * 1_048_576 } as const

/** Unread bytes after which a child is ended. */
export const childBacklogBytesMax = 256 * 1_048_576

/** Labels of one collector. */
export const labelsMax = 10_000

/** Paths, and secrets, declared by the options of one collector. */
export const declaredMax = 1_000

/** Time for which the first question of a run waits for those of other processes. */
export const meetMsMax = 1_000

/** Time for which a price is given again without reading it again: runs of one hour may be an hour apart. */
export const priceKeptMs = 2 * 3_600_000

/** The same of one that depends on a block, which a reorg may replace. */
export const pricePinnedKeptMs = 60_000

/** Prices kept, of all names and hours. */
export const pricesKeptMax = 10_000
