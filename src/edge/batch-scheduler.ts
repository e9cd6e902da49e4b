import { nextTick } from './next-tick.ts'

/** A request of a batch. The function that executes the batch answers it, once. */
export interface BatchJob<Request, Answer> {
  readonly request: Request
  /** Answers the caller. */
  resolve(answer: Answer): void
  /** Fails the caller. */
  reject(error: unknown): void
}

/** Executes a batch; the signal is aborted when no caller waits any more, if all have one. An error it throws rejects the jobs that it has not answered. */
type ExecuteBatch<Request, Answer> = (
  jobs: readonly BatchJob<Request, Answer>[],
  batch: { readonly signal: AbortSignal },
) => Promise<void> | void

/** A batch that further requests may join. */
interface OpenBatch {
  /** Requests that wait for it. */
  readonly size: number
}

/** Resolves when a batch is complete. */
type UntilComplete = (batch: OpenBatch) => Promise<void>

/** Options of a `BatchScheduler`. */
export interface BatchOptions<Request> {
  /** Default: at the end of the event-loop tick in which the first request came. */
  readonly untilComplete?: UntilComplete
  /** Size of a request. Default: 1. */
  readonly sizeOf?: (request: Request) => number
  /** Size of a batch at most, except for one request alone; the rest is in the next. Default: no limit. */
  readonly sizeMax?: number
  /** Whether a batch waits until the one before it was executed. Default: false. */
  readonly isSerial?: boolean
}

/** A batch under way. */
interface RunningBatch {
  /** Jobs whose callers still wait. One without a signal is counted to the end. */
  waiting: number
  readonly abort: AbortController
}

interface Entry<Request, Answer> extends BatchJob<Request, Answer> {
  /** Absent until it is executed. */
  batch?: RunningBatch
}

/**
 * Executes together what is requested in one tick of the event loop: one HTTP request, one message or one commit instead
 * of many. Each caller gets the answer to its own request.
 *
 * @example
 * const scheduler = new BatchScheduler<number, string>(async jobs => {
 *   const names = await namesOf(jobs.map(({ request }) => request))
 *   for (const { request, resolve } of jobs) resolve(names.get(request) ?? '')
 * })
 * const [one, two] = await Promise.all([scheduler.schedule(1), scheduler.schedule(2)])
 */
export class BatchScheduler<Request, Answer> {
  readonly #execute: ExecuteBatch<Request, Answer>
  readonly #options: BatchOptions<Request>
  readonly #waiting: Entry<Request, Answer>[] = []
  #isCollecting = false
  /** The batch that waits, whichever it is. */
  readonly #open: OpenBatch

  constructor(execute: ExecuteBatch<Request, Answer>, options: BatchOptions<Request> = {}) {
    this.#execute = execute
    this.#options = options
    const entries = this.#waiting
    this.#open = {
      get size() {
        return entries.length
      },
    }
  }

  /**
   * Resolves with the answer to the request.
   *
   * @param signal when it is aborted, the promise rejects with its reason; a request that waits is left out
   */
  schedule(request: Request, signal?: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const entry = { request, resolve, reject }
    if (signal) return this.#scheduleUntil(signal, entry, promise)
    this.#add(entry)
    return promise
  }

  async #scheduleUntil(signal: AbortSignal, entry: Entry<Request, Answer>, answer: Promise<Answer>): Promise<Answer> {
    signal.throwIfAborted()
    const abort = () => entry.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#add(entry)
    try {
      return await answer
    } finally {
      signal.removeEventListener('abort', abort)
      this.#callerIsGone(entry, signal.aborted)
    }
  }

  #add(entry: Entry<Request, Answer>): void {
    this.#waiting.push(entry)
    if (!this.#isCollecting) void this.#runBatches()
  }

  #callerIsGone(entry: Entry<Request, Answer>, isAborted: boolean): void {
    const { batch } = entry
    if (batch) {
      batch.waiting -= 1
      if (batch.waiting === 0 && isAborted) batch.abort.abort()
    } else if (isAborted) this.#waiting.splice(this.#waiting.indexOf(entry), 1)
  }

  async #runBatches(): Promise<void> {
    const { untilComplete = nextTick, isSerial } = this.#options
    this.#isCollecting = true
    while (this.#waiting.length > 0) {
      await untilComplete(this.#open)
      const executed = this.#run(this.#waiting.splice(0, this.#fitting()))
      if (isSerial) await executed
    }
    this.#isCollecting = false
  }

  /** Number of the first requests that fit into one batch: at least one. */
  #fitting(): number {
    const { sizeOf = () => 1, sizeMax = Number.POSITIVE_INFINITY } = this.#options
    let size = 0
    const overflowIndex = this.#waiting.findIndex(({ request }) => {
      size += sizeOf(request)
      return size > sizeMax
    })
    return overflowIndex < 0 ? this.#waiting.length : Math.max(1, overflowIndex)
  }

  async #run(entries: readonly Entry<Request, Answer>[]): Promise<void> {
    if (entries.length === 0) return
    const batch: RunningBatch = { waiting: entries.length, abort: new AbortController() }
    for (const entry of entries) entry.batch = batch
    try {
      await this.#execute(entries, batch.abort)
    } catch (error) {
      for (const { reject } of entries) reject(error)
    }
  }
}

/** Completes a batch once a whole tick has brought no further request. @param ticksMax waited for at most */
export function afterQuietTick(ticksMax: number): UntilComplete {
  return async batch => {
    await nextTick()
    let seen = 0
    for (let ticks = 1; ticks < ticksMax && batch.size > seen; ticks += 1) {
      seen = batch.size
      await nextTick()
    }
  }
}

/** A function that takes items one by one; those of one tick are sent together. Nothing is answered. */
export function sentTogether<T>(send: (items: readonly T[]) => void): (item: T) => void {
  const scheduler = new BatchScheduler<T, void>(jobs => {
    send(jobs.map(({ request }) => request))
    for (const { resolve } of jobs) resolve()
  })
  return item => void scheduler.schedule(item)
}
