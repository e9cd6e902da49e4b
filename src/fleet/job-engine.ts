import type { ConnectionOptions, JobWithMetadata, PgBoss, QueueOptions } from 'pg-boss'
import { z } from 'zod'
import type { Time } from '../edge/time.ts'
import type { SharedTransaction } from '../outbox/contract/fleet-store.ts'
import type { StatementRunner } from '../outbox/contract/shared-outbox.ts'
import type { JobAttempt } from './claim.ts'
import { engineClock } from './engine-clock.ts'
import { emittedError, isForbidden, isGone, isMadeByAnother } from './engine-errors.ts'
import type { NewJob } from './jobs.ts'
import { claimSecondsMax, claimsMax, heartbeatSeconds } from './limits.ts'

/** Schema of the engine's own tables. It may be dropped at any time: it is made again. */
const engineSchema = 'tidegauge_jobs'

/** A fetched job. */
export interface FetchedJob {
  readonly attempt: JobAttempt
  readonly data: unknown
}

/** A job, as any process sees it. */
export interface SeenJob {
  /** As it was claimed last. */
  readonly attempt: JobAttempt
  /** `claimed`: by a daemon, which may be dead. */
  readonly state: 'free' | 'claimed' | 'done'
  readonly data: unknown
  /** When its daemon touched it last, by the database's clock, in milliseconds since 1970; absent before. */
  readonly touchedAtMs?: number
  /** As it was given to `finish`; absent before. */
  readonly result?: unknown
}

/** Dependencies of `JobEngine`. */
export interface JobEngineDeps {
  /** Connections to the database. */
  readonly statements: StatementRunner
  readonly time: Pick<Time, 'nowMs' | 'steadyMs' | 'sleep'>
  /** Called with errors of the engine's own upkeep, which is repeated. They may name the database's host. */
  readonly failed: (error: unknown) => void
}

/** Time for which the result of a job is kept. Ended jobs are deleted as often. */
const keptSeconds = 60

/** Every job is kept until it is completed: a claim ends by its heartbeat, and then it is free at once. */
const queueOptions: QueueOptions & { heartbeatSeconds: number } = {
  heartbeatSeconds,
  expireInSeconds: claimSecondsMax,
  retryLimit: claimsMax,
  retryDelay: 0,
  deleteAfterSeconds: keptSeconds,
}

const seenStates: Readonly<Record<JobWithMetadata['state'], SeenJob['state']>> = {
  created: 'free',
  retry: 'free',
  active: 'claimed',
  completed: 'done',
  cancelled: 'done',
  failed: 'done',
}

/** The answer to a statement about claims. */
const settledAnswer = z.object({ settled: z.array(z.string()) })

/**
 * Jobs in PostgreSQL, by pg-boss: which exist, and which daemon has claimed each. They say who works on what now; what
 * is to be done is known from the outbox alone. Methods reject while the database cannot be reached, and once when the
 * engine's schema was dropped: the next call makes it again.
 */
export class JobEngine {
  readonly #deps: JobEngineDeps
  #boss: Promise<PgBoss> | undefined
  /** Names of the queues that are known to exist. */
  #queues = new Set<string>()
  #ending: Promise<void> = Promise.resolve()
  #isStopped = false
  #acceptedAtMs: number

  constructor(deps: JobEngineDeps) {
    this.#deps = deps
    this.#acceptedAtMs = deps.time.steadyMs()
  }

  /** Milliseconds since a call was accepted, or since the start. */
  get silentMs(): number {
    return this.#deps.time.steadyMs() - this.#acceptedAtMs
  }

  /** Inserts jobs, except those whose id exists. @param tx to insert them in a transaction */
  async insert(queue: string, jobs: readonly NewJob[], tx?: SharedTransaction): Promise<void> {
    if (jobs.length === 0) return
    await this.#use(queue, boss => boss.insert(queue, [...jobs], within(tx)))
  }

  /** Claims jobs, those of the highest priority first. @param priorityMin those below it are left @param priorityMax those above it are left */
  async fetch(
    queue: string,
    limit: number,
    priorityMin?: number,
    priorityMax?: number,
  ): Promise<readonly FetchedJob[]> {
    const options = {
      batchSize: limit,
      includeMetadata: true,
      ...(priorityMin !== undefined && { minPriority: priorityMin }),
      ...(priorityMax !== undefined && { maxPriority: priorityMax }),
    } as const
    const jobs = await this.#use(queue, boss => boss.fetch(queue, options))
    // The engine chooses by priority, and returns in no order.
    const ordered = jobs.toSorted((a, b) => b.priority - a.priority)
    return ordered.map(({ id, retryCount, createdOn, data }) => ({
      attempt: { id, retryCount, madeAtMs: createdOn.getTime() },
      data,
    }))
  }

  /**
   * Shows the engine that this daemon is alive.
   *
   * @returns ids of those that it has still claimed, unless they were made again: only `hold` knows that
   */
  async touch(queue: string, attempts: readonly JobAttempt[]): Promise<ReadonlySet<string>> {
    if (attempts.length === 0) return new Set()
    return settledIds(await this.#use(queue, boss => boss.touch(queue, [...attempts])))
  }

  /**
   * Keeps a claim until the end of a transaction.
   *
   * @returns whether this daemon has still claimed the job; if not, the transaction must be rolled back
   */
  async hold(queue: string, attempt: JobAttempt, tx: SharedTransaction): Promise<boolean> {
    return this.#use(queue, async boss => {
      const touched = settledIds(await boss.touch(queue, attempt, within(tx)))
      if (!touched.has(attempt.id)) return false
      const [job] = await boss.findJobs(queue, { id: attempt.id, ...within(tx) })
      return job?.createdOn.getTime() === attempt.madeAtMs
    })
  }

  /** Ends a job for good, in a transaction in which it is held. Its id is free afterwards. */
  async complete(queue: string, attempt: JobAttempt, tx: SharedTransaction): Promise<void> {
    await this.#use(queue, async boss => {
      await boss.complete(queue, attempt, null, within(tx))
      await boss.deleteJob(queue, attempt.id, within(tx))
    })
  }

  /** Ends a job with nothing left to do. No effect on one that this daemon has not claimed any more. */
  async drop(queue: string, attempt: JobAttempt): Promise<void> {
    await this.#use(queue, boss => boss.deleteJob(queue, attempt))
  }

  /** Ends a job, in a transaction in which it is held, and keeps its result for a minute. */
  async finish(queue: string, attempt: JobAttempt, result: object, tx: SharedTransaction): Promise<void> {
    await this.#use(queue, boss => boss.complete(queue, attempt, result, within(tx)))
  }

  /** All jobs of a queue, by their ids; those included whose result is kept. @param tx to read them in a transaction */
  async jobsOf(queue: string, tx?: SharedTransaction): Promise<ReadonlyMap<string, SeenJob>> {
    const jobs = await this.#use(queue, boss => boss.findJobs(queue, within(tx)))
    return new Map(
      jobs.map(({ id, state, retryCount, createdOn, heartbeatOn, data, output }) => {
        const attempt = { id, retryCount, madeAtMs: createdOn.getTime() }
        const touched = heartbeatOn && { touchedAtMs: heartbeatOn.getTime() }
        return [
          id,
          { attempt, data, state: seenStates[state], ...touched, ...(state === 'completed' && { result: output }) },
        ]
      }),
    )
  }

  /** Removes jobs, whatever their state. */
  async remove(queue: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#use(queue, boss => boss.deleteJob(queue, [...ids]))
  }

  /** Hands claimed jobs over: another daemon may claim them at once. */
  async release(queue: string, attempts: readonly JobAttempt[]): Promise<void> {
    if (attempts.length === 0) return
    await this.#use(queue, boss => boss.fail(queue, [...attempts], null))
  }

  /**
   * Frees jobs whose daemon has not touched them for `heartbeatSeconds`, and deletes those that ended a while ago. The
   * engine's own timer would write a row of each queue every second. Daemons call this where they see that one is silent,
   * and once a minute.
   */
  async supervise(): Promise<void> {
    this.#boss ??= this.#start()
    await (await this.#boss).supervise()
  }

  /** Ends the engine's upkeep in this process. Claims stay until they are released or run out. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#forget(this.#boss)
    await this.#ending
  }

  /** Does something with a queue, which is made if it does not exist. */
  async #use<T>(queue: string, work: (boss: PgBoss) => Promise<T>): Promise<T> {
    this.#boss ??= this.#start()
    const [started, queues] = [this.#boss, this.#queues]
    try {
      const boss = await started
      if (!queues.has(queue)) {
        await boss.createQueue(queue, queueOptions)
        queues.add(queue)
      }
      const done = await work(boss)
      this.#acceptedAtMs = this.#deps.time.steadyMs()
      return done
    } catch (error) {
      if (isGone(error)) this.#forget(started)
      throw error
    }
  }

  /** A user who may not make a schema may own one that was made for it, which is not tried first. */
  async #start(): Promise<PgBoss> {
    try {
      return await this.#started(true).catch((error: unknown) => {
        if (isMadeByAnother(error)) return this.#started(true)
        if (!isForbidden(error)) throw error
        return this.#started(false).catch(() => Promise.reject(error))
      })
    } catch (error) {
      // The next call tries again.
      this.#boss = undefined
      throw error
    }
  }

  async #started(createSchema: boolean): Promise<PgBoss> {
    if (this.#isStopped) throw new Error('the job engine is stopped')
    const { PgBoss } = await import('pg-boss')
    const { statements } = this.#deps
    const boss = new PgBoss({
      db: { executeSql: (text, values) => statements.executeSql(text, values) },
      schema: engineSchema,
      clock: engineClock(this.#deps.time),
      createSchema,
      schedule: false,
      supervise: false,
      monitorIntervalSeconds: 1,
      maintenanceIntervalSeconds: keptSeconds,
      // A held horizon is for the owner of the database to see.
      monitorVacuum: false,
    })
    boss.on('error', emitted => {
      const error = emittedError(emitted)
      const present = this.#boss
      if (isGone(error)) void present?.then(one => (one === boss ? this.#forget(present) : undefined)).catch(() => {})
      this.#deps.failed(error)
    })
    try {
      return await boss.start()
    } catch (error) {
      await end(boss)
      throw error
    }
  }

  /** Ends an instance; the next call starts another one, which a late error of the one before must not end. */
  #forget(failed: Promise<PgBoss> | undefined): void {
    if (!failed || failed !== this.#boss) return
    this.#boss = undefined
    this.#queues = new Set()
    this.#ending = Promise.all([this.#ending, failed.then(end, () => {})]).then(() => {})
  }
}

async function end(boss: PgBoss): Promise<void> {
  await boss.stop({ graceful: false, close: true }).catch(() => {})
}

function settledIds(answer: unknown): ReadonlySet<string> {
  return new Set(settledAnswer.parse(answer).settled)
}

function within(tx: SharedTransaction | undefined): ConnectionOptions {
  return tx ? { db: { executeSql: async (text, values) => ({ rows: await tx.query(text, values) }) } } : {}
}
