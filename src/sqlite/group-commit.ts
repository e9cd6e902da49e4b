import { type BatchJob, BatchScheduler } from '../edge/batch-scheduler.ts'
import type { Sqlite } from './database.ts'

/** Work to be committed. */
interface CommitWork {
  /** @returns a function that resolves the caller's promise, called once the work is on disk */
  readonly work: () => () => void
  readonly rows: number
}

type CommitJob = BatchJob<CommitWork, void>

/** Resolves or rejects the promise of one piece of work. */
type Announce = () => void

/**
 * Runs work in its own transaction, together with other work of the same tick.
 *
 * @param rows written, about; default 1
 */
export type Commit = <T>(work: () => T, rows?: number) => Promise<T>

/**
 * Runs each piece of work in its own transaction, all or nothing, and commits those of one event-loop tick together:
 * the wait for the disk is paid once, and a nested transaction costs none. A promise resolves only when its work is on
 * disk; when the commit fails, all that shared it reject.
 *
 * @param rowsMax of one commit, which blocks the event loop; further work waits for the next tick
 * @param whenFree runs a commit, later if it cannot be done at once; default: at once
 */
export function groupCommit(
  database: Sqlite,
  rowsMax = Number.POSITIVE_INFINITY,
  whenFree: <T>(commit: () => T) => Promise<T> = async commit => commit(),
): Commit {
  const runWork = database.transaction((work: CommitWork['work']) => work())
  const runJobs = database.transaction((jobs: readonly CommitJob[]) =>
    jobs.map(({ request, resolve, reject }): Announce => {
      try {
        const say = runWork(request.work)
        return () => {
          say()
          resolve()
        }
      } catch (error) {
        // An error that ended the outer transaction too (a full disk) has undone the whole group.
        if (!database.inTransaction) throw error
        return () => reject(error)
      }
    }),
  )

  const commitAll = async (jobs: readonly CommitJob[]): Promise<void> => {
    for (const say of await whenFree(() => runJobs.immediate(jobs))) say()
  }
  const scheduler = new BatchScheduler<CommitWork, void>(commitAll, {
    sizeOf: ({ rows }) => rows,
    sizeMax: rowsMax,
    isSerial: true,
  })

  return (act, rows = 1) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof act>>()
    const work = () => {
      const result = act()
      return () => resolve(result)
    }
    scheduler.schedule({ work, rows }).catch(reject)
    return promise
  }
}
