import type { Sqlite } from './database.ts'

/** Requested work and its waiting caller. */
interface PendingWork {
  /** @returns a function that resolves the caller's promise, called once the work is on disk */
  readonly work: () => () => void
  readonly rows: number
  readonly reject: (error: unknown) => void
}

/** Resolves or rejects the promise of one piece of work. */
type Announce = () => void

/**
 * Runs work in its own transaction, together with other work of the same turn.
 *
 * @param rows written, about; default 1
 */
export type Commit = <T>(work: () => T, rows?: number) => Promise<T>

/**
 * Runs each piece of work in its own transaction, all or nothing, and commits those of one event-loop turn together:
 * the wait for the disk is paid once, and a nested transaction costs none. A promise resolves only when its work is on
 * disk; when the commit fails, all that shared it reject.
 *
 * @param rolledBack called when work that ran was undone
 * @param rowsMax of one commit, which blocks the event loop; further work waits for the next turn
 * @param whenFree runs a commit, later if it cannot be done at once; default: at once
 */
export function groupCommit(
  database: Sqlite,
  rolledBack: () => void,
  rowsMax = Number.POSITIVE_INFINITY,
  whenFree: <T>(commit: () => T) => Promise<T> = async commit => commit(),
): Commit {
  const waiting: PendingWork[] = []
  const alone = database.transaction((work: PendingWork['work']) => work())
  const together = database.transaction((group: readonly PendingWork[]) =>
    group.map(({ work, reject }): Announce => {
      try {
        return alone(work)
      } catch (error) {
        // An error that ended the outer transaction too (a full disk) has undone the whole group.
        if (!database.inTransaction) throw error
        rolledBack()
        return () => reject(error)
      }
    }),
  )

  const commitGroup = async (group: readonly PendingWork[]): Promise<void> => {
    try {
      for (const say of await whenFree(() => together.immediate(group))) say()
    } catch (error) {
      rolledBack()
      for (const { reject } of group) reject(error)
    }
  }

  let isUnderWay = false
  const commit = async (): Promise<void> => {
    await commitGroup(waiting.splice(0, fitting(waiting, rowsMax)))
    isUnderWay = waiting.length > 0
    if (isUnderWay) setImmediate(commit)
  }

  return (work, rows = 1) => {
    if (!isUnderWay) setImmediate(commit)
    isUnderWay = true
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof work>>()
    const run = () => {
      const result = work()
      return () => resolve(result)
    }
    waiting.push({ work: run, rows, reject })
    return promise
  }
}

/** Number of the first pieces that fit into one commit: at least one. */
function fitting(waiting: readonly { readonly rows: number }[], rowsMax: number): number {
  let rows = 0
  const beyond = waiting.findIndex(work => {
    rows += work.rows
    return rows > rowsMax
  })
  return beyond < 0 ? waiting.length : Math.max(1, beyond)
}
