/** Limits of the processes that collectors run in. Units are in the names. */
export interface RunnerLimits {
  /** After its deadline a run has this long to end by its signal before its process counts as not answering. */
  readonly graceMs: number
  /** While work is under way the shared process is asked this often whether it still answers. */
  readonly pingEveryMs: number
  /** Pings in a row without an answer before the process is ended. */
  readonly pingsUnansweredMax: number
  /** A new process must be ready within this time. */
  readonly startMsMax: number
  /** The shared process is ended when it has had nothing to do for this long: an hour is long, and its memory is not free. */
  readonly idleMsMax: number
  /** Processes that hold a single suspect each, at the same time. */
  readonly aloneMax: number
  /** Processes that several collectors may share, at the same time: one for each file or package of one's own. */
  readonly sharedMax: number
  /** Heap of one process. */
  readonly heapMbMax: number
}

/** The limits in production; tests set shorter ones. */
export const runnerLimits: RunnerLimits = {
  graceMs: 1_000,
  pingEveryMs: 1_000,
  pingsUnansweredMax: 5,
  startMsMax: 30_000,
  idleMsMax: 60_000,
  aloneMax: 4,
  sharedMax: 8,
  heapMbMax: 256,
}

/** Entries looked at in the folders of one collector; what is beyond cannot be read by it. */
export const readableEntriesMax = 5_000

/** Log lines of one run of a collector; what is beyond is left out, and said so once. */
export const runLogLinesMax = 500

/** Characters of a text that comes from a collector (an error, a log line, an odd value). */
export const collectorTextCharsMax = 1_000

/** Characters of any one text that a child may say; its own code cuts them much shorter. */
export const childTextCharsMax = 8_192

/** Characters of one message of a child. */
export const childMessageCharsMax = 4 * 1_048_576

/** Characters at which a child parts what it has to say into several messages. */
export const childMessageCharsAimed = 1_048_576

/** What a child may say for each run it was given, and once more for itself. */
export const childAllowance = { messages: 10_000, chars: 64 * 1_048_576 } as const

/** Bytes that wait for a child to read them; one that reads nothing is ended. */
export const childBacklogBytesMax = 256 * 1_048_576

/** Labels of one collector. */
export const labelsMax = 10_000

/** Paths, and secrets, that the options of one collector declare. */
export const declaredMax = 1_000

/** How long the first question of a run waits for those of other processes. */
export const meetMsMax = 1_000

/** Reads in one question about a chain. */
export const readsMax = 10_000

/** Undeclared labels named in an outcome; what is beyond is counted. */
export const undeclaredLabelsMax = 5

/** Bytes read of an off-chain answer. */
export const httpAnswerBytesMax = 8 * 1_048_576

/** Bytes of the body of an off-chain request. */
export const httpRequestBytesMax = 1_048_576

/** Tries of one off-chain request. */
export const httpAttemptsMax = 3

/** Redirects followed of one off-chain request. */
export const httpRedirectsMax = 3

/** One try of an off-chain request, answer included. */
export const httpTryMsMax = 20_000

/** Wait before the next try of an off-chain request, with full jitter. */
export const httpBackoff = { baseMs: 500, capMs: 5_000 } as const

/** Connecting of one off-chain request, look-up and TLS included. */
export const httpConnectMsMax = 10_000

/** Origins of which the kind of address is remembered. */
export const httpOriginsMax = 1_000

/** Mistakes of one off-chain answer that are told; what is beyond is counted. */
export const httpMistakesMax = 3

/** Characters shown of a value of an off-chain answer. */
export const httpValueCharsMax = 40
