import { createHash } from 'node:crypto'
import type { Clock, ConnectionOptions, JobWithMetadata, PgBoss, QueueOptions } from 'pg-boss'
import { z } from 'zod'
import type { Time } from '../edge/time.ts'
import { type Hour, hourNumber } from '../model/hour.ts'
import type { BackfillWindow, SharedTransaction, StatementRunner } from '../outbox/contract/fleet-store.ts'
import type { Lane } from './lane.ts'
import { heartbeatSeconds, touchMs, trustMs } from './limits.ts'

/** Claims of one job, at most: each takeover and each hand-over counts. */
const claimsMax = 10_000

/** Time for which a job may be claimed by one daemon, whatever its heartbeat. The engine's longest is a day. */
const claimSecondsMax = 23 * 3_600

/** Time for which calls have failed after which that is reported. */
const failingMsMax = 30_000

/** Schema of the engine's own tables. It may be dropped at any time: it is made again. */
const engineSchema = 'tidegauge_jobs'

/** A fetched job. */
export interface FetchedJob {
  readonly attempt: JobAttempt
  readonly data: unknown
  /** As it was given to `release` last; absent where that is not so. */
  readonly handOver?: HandOver | undefined
}

/** A job, as any process sees it. */
export interface SeenJob {
  readonly isDone: boolean
  /** As it was given to `release` last; absent before, and once it is done. */
  readonly handOver?: HandOver | undefined
  /** As it was given to `finish`; absent before. */
  readonly result?: unknown
}

const handOverShape = z.object({ daemon: z.string(), reason: z.string(), tried: z.array(z.string()) })

/** Name of the daemon that handed a job over, why it could not do it, and the names of all that could not. */
export type HandOver = z.output<typeof handOverShape>

interface JobEngineDeps {
  /** Connections to the database. */
  readonly statements: StatementRunner
  readonly time: Pick<Time, 'nowMs' | 'steadyMs' | 'sleep'>
  /** Called with errors of the engine's own upkeep, which is repeated. They may name the database's host. */
  readonly reportFailure: (error: unknown) => void
  /** Turns an error of the database into a Fault; returns any other unchanged. Default: all stay as they are. */
  readonly explain?: (error: unknown) => unknown
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

/** States of a job that has ended. */
const doneStates: ReadonlySet<JobWithMetadata['state']> = new Set(['completed', 'cancelled', 'failed'])

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
  /** Since when calls fail, by the steady clock; absent while they are accepted. */
  #failingSinceMs: number | undefined
  /** Of the last call that failed. */
  #failure: unknown

  constructor(deps: JobEngineDeps) {
    this.#deps = deps
  }

  /** Sentences about a database that takes no claims of jobs; empty when it does. */
  get troubles(): readonly string[] {
    const failingMs = this.#deps.time.steadyMs() - (this.#failingSinceMs ?? Number.POSITIVE_INFINITY)
    if (failingMs < failingMsMax) return []
    const failingSeconds = Math.floor(failingMs / 1_000)
    const explained = this.#deps.explain?.(this.#failure) ?? this.#failure
    const reason = explained instanceof Error ? explained.message : 'it does not answer'
    return [`the database has accepted no claim of an hour for ${failingSeconds} s: ${reason}`]
  }

  /** Inserts jobs, except those whose id exists. @param tx to insert them in a transaction */
  async insert(queue: string, jobs: readonly NewJob[], tx?: SharedTransaction): Promise<void> {
    if (jobs.length === 0) return
    await this.#use(queue, boss => boss.insert(queue, [...jobs], within(tx)))
  }

  /** Claims jobs, those of the highest priority first. @param priorityMin those below it are left */
  async fetch(queue: string, limit: number, priorityMin?: number): Promise<readonly FetchedJob[]> {
    const options = {
      batchSize: limit,
      includeMetadata: true,
      ...(priorityMin !== undefined && { minPriority: priorityMin }),
    } as const
    const jobs = await this.#use(queue, boss => boss.fetch(queue, options))
    // The engine chooses by priority, and returns in no order.
    const ordered = jobs.toSorted((a, b) => b.priority - a.priority)
    return ordered.map(({ id, retryCount, createdOn, data, output }) => ({
      attempt: { id, retryCount, madeAtMs: createdOn.getTime() },
      data,
      handOver: handOverShape.safeParse(output).data,
    }))
  }

  /**
   * Shows the engine that this daemon is alive.
   *
   * @returns ids of those that it has still claimed, unless they were made again: only `keep` knows that
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
  async keep(queue: string, attempt: JobAttempt, tx: SharedTransaction): Promise<boolean> {
    return this.#use(queue, async boss => {
      const touched = settledIds(await boss.touch(queue, attempt, within(tx)))
      if (!touched.has(attempt.id)) return false
      const [job] = await boss.findJobs(queue, { id: attempt.id, ...within(tx) })
      return job?.createdOn.getTime() === attempt.madeAtMs
    })
  }

  /** Ends a job for good, in a transaction in which it is kept. Its id is free afterwards. */
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

  /** Ends a job, in a transaction in which it is kept, and keeps its result for a minute. */
  async finish(queue: string, attempt: JobAttempt, result: object, tx: SharedTransaction): Promise<void> {
    await this.#use(queue, boss => boss.complete(queue, attempt, result, within(tx)))
  }

  /** All jobs of a queue, by their ids; those included whose result is kept. */
  async jobsOf(queue: string): Promise<ReadonlyMap<string, SeenJob>> {
    const jobs = await this.#use(queue, boss => boss.findJobs(queue))
    return new Map(
      jobs.map(({ id, state, output }) => [
        id,
        doneStates.has(state)
          ? { isDone: true, ...(state === 'completed' && { result: output }) }
          : { isDone: false, handOver: handOverShape.safeParse(output).data },
      ]),
    )
  }

  /** Removes jobs, whatever their state. */
  async remove(queue: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#use(queue, boss => boss.deleteJob(queue, [...ids]))
  }

  /** Removes a queue with its jobs. No effect when there is none. */
  async removeQueue(queue: string): Promise<void> {
    this.#boss ??= this.#start()
    this.#queues.delete(queue)
    await (await this.#boss).deleteQueue(queue)
  }

  /** Hands claimed jobs over: another daemon may claim them at once. @param handOver for who waits for them */
  async release(queue: string, attempts: readonly JobAttempt[], handOver?: HandOver): Promise<void> {
    if (attempts.length === 0) return
    await this.#use(queue, boss => boss.fail(queue, [...attempts], handOver ?? null))
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
    const [bossStart, queues] = [this.#boss, this.#queues]
    try {
      const boss = await bossStart
      if (!queues.has(queue)) {
        await boss.createQueue(queue, queueOptions)
        queues.add(queue)
      }
      const done = await work(boss)
      this.#failingSinceMs = undefined
      return done
    } catch (error) {
      this.#failingSinceMs ??= this.#deps.time.steadyMs()
      this.#failure = error
      if (isGone(error)) this.#forget(bossStart)
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
      this.#deps.reportFailure(error)
    })
    try {
      return await boss.start()
    } catch (error) {
      await end(boss)
      throw error
    }
  }

  /** Ends an instance; the next call starts another one, which a late error of the one before must not end. */
  #forget(bossStart: Promise<PgBoss> | undefined): void {
    if (!bossStart || bossStart !== this.#boss) return
    this.#boss = undefined
    this.#queues = new Set()
    this.#ending = Promise.all([this.#ending, bossStart.then(end, () => {})]).then(() => {})
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

/** A lane's hour that is to be collected. */
export interface LaneHour {
  readonly lane: Lane
  readonly hour: Hour
}

/** A job, as it is inserted. */
export interface NewJob {
  /** A UUID made of what the job is about: it exists once, however many daemons insert it. */
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
  /** Larger ones first. */
  readonly priority: number
}

/** Namespace of the ids: version 5 of a UUID hashes it with the name. */
const namespace = Buffer.from('8d6cf7a2c0b14c3f9f0c4be1a7d35e62', 'hex')

/** Longest readable part of a queue's name. */
const readableCharsMax = 60

/** The job of a lane and hour: the newest hour goes first. Pure. */
export function laneJob({ lane, hour }: LaneHour): NewJob {
  return { id: uuidOf(`${lane}/${hour}`), data: { hour }, priority: hourNumber(hour) }
}

/** The job of a window: asked for twice, it exists once. Pure. */
export function windowJob(lane: Lane, window: BackfillWindow): NewJob {
  const { collectors, from, to, what, order } = window
  const id = uuidOf(`backfill/${lane}/${what}/${from}/${to}/${collectors.toSorted().join(' ')}`)
  return { id, data: { ...window }, priority: order === 'newest-first' ? hourNumber(to) : -hourNumber(from) }
}

/** Name of the queue of a lane's windows: its hours never wait for them. Pure. */
export function backfillQueue(lane: Lane): string {
  return `backfill/${safe(lane)}`
}

/** Name of the queue of a lane's hours. Pure. */
export function laneQueue(lane: Lane): string {
  return `collect/${safe(lane)}`
}

/** The engine takes letters, digits and `_ - . /` in names; of a name with others, their hash makes it a different one. */
function safe(name: string): string {
  if (/^(machine\/)?[A-Za-z0-9_.-]+$/.test(name) && name.length <= readableCharsMax) return name
  return `${name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, readableCharsMax)}/${uuidOf(name).slice(0, 8)}`
}

/** A UUID of version 5. */
function uuidOf(name: string): string {
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/**
 * A job as one daemon has claimed it. The engine counts the claims of a job, and knows a stale claim by its number. A job
 * that was deleted and made again is counted from 0: then `madeAtMs` differs.
 */
export interface JobAttempt {
  readonly id: string
  readonly retryCount: number
  /** When the job was made, by the database's clock, in milliseconds since 1970. */
  readonly madeAtMs: number
}

/** A daemon's claim of a job. Instants are of its steady clock, in milliseconds. */
export interface Claim {
  readonly attempt: JobAttempt
  /** When the latest accepted touch was sent. */
  readonly touchedAtMs: number
  /** Another daemon has the job, or it is gone: final. */
  readonly isLost: boolean
}

/** News of a claim. A touch without an answer changes nothing; time does. */
export type ClaimEvent =
  /** The engine accepted a touch, or a commit under the claim, that was sent at an instant. */
  | { readonly kind: 'touched'; readonly sentAtMs: number }
  /** The engine did not find the claim. */
  | { readonly kind: 'refused' }

/** A claim that was just fetched. @param sentAtMs when the request was sent */
export function newClaim(attempt: JobAttempt, sentAtMs: number): Claim {
  return { attempt, touchedAtMs: sentAtMs, isLost: false }
}

/** The claim after an event. An answer that comes late never makes it look older than it is. Pure. */
export function claimAfter(claim: Claim, event: ClaimEvent): Claim {
  if (claim.isLost) return claim
  if (event.kind === 'refused') return { ...claim, isLost: true }
  return { ...claim, touchedAtMs: Math.max(claim.touchedAtMs, event.sentAtMs) }
}

/**
 * Whether a daemon may act on its claim without asking: no other can have it. A process that was paused finds here that
 * it must ask. Pure.
 */
export function isTrusted(claim: Claim, nowMs: number): boolean {
  return !claim.isLost && nowMs - claim.touchedAtMs < trustMs
}

/** Whether it is time to touch a claim. Pure. */
export function isTouchDue(claim: Claim, nowMs: number): boolean {
  return !claim.isLost && nowMs - claim.touchedAtMs >= touchMs
}

/** The clock and the timers of the job engine, by those of its daemon. */
function engineClock(time: Pick<Time, 'nowMs' | 'sleep'>): Clock {
  const clear = (timer: unknown) => {
    if (timer instanceof AbortController) timer.abort(new Error('cleared'))
  }
  return {
    now: () => time.nowMs(),
    setTimeout(act, ms) {
      const timer = new AbortController()
      void time.sleep(ms, timer.signal).then(act, () => {})
      return timer
    },
    setInterval(act, ms) {
      const timer = new AbortController()
      const actAgain = (): void => {
        act()
        next()
      }
      const next = () => void time.sleep(ms, timer.signal).then(actAgain, () => {})
      next()
      return timer
    },
    clearTimeout: clear,
    clearInterval: clear,
  }
}

/** SQLSTATEs of a schema, table, function or type that is missing: somebody dropped the engine's schema. */
const goneStates = ['3F000', '42P01', '42883', '42704']

/** SQLSTATE of what a user may not do. */
const insufficientPrivilege = '42501'

/** Whether an error of the job engine says that its tables are gone. */
export function isGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return goneStates.includes(stateOf(error)) || /^Queue .* does not exist$/.test(error.message)
}

/** Whether an error of the job engine says that this user has too few rights. */
function isForbidden(error: unknown): boolean {
  return stateOf(error) === insufficientPrivilege
}

/** SQLSTATEs of a schema or table that another daemon has just made. */
const madeStates = ['23505', '42P06', '42P07']

/** Whether an error of the job engine says that another daemon made its tables at the same time. */
function isMadeByAnother(error: unknown): boolean {
  return madeStates.includes(stateOf(error))
}

/** SQLSTATE of an error; empty when there is none. */
function stateOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** An error as the engine reports it: some come as plain objects with the fields of one. */
export function emittedError(emitted: unknown): Error {
  if (emitted instanceof Error) return emitted
  const fields: object = typeof emitted === 'object' && emitted !== null ? emitted : { message: String(emitted) }
  return Object.assign(new Error(), fields)
}
