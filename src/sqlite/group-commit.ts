import type { Sqlite } from './database.ts'

/** Work under way: what was asked for, and whoever waits for it. */
interface Waiting<T> {
  readonly work: () => T
  readonly rows: number
  readonly settle: PromiseWithResolvers<T>
}

/** What came of one work inside a commit. */
type Outcome<T> = { readonly kind: 'done'; readonly result: T } | { readonly kind: 'failed'; readonly error: unknown }

/**
 * Runs each piece of work in a transaction of its own, all or nothing, and lets those asked for in the same turn of the
 * event loop share one commit: the wait for the disk is paid once, as a nested transaction costs none. A promise
 * resolves only when its work is on disk; when the commit fails, all that shared it reject.
 *
 * @param rolledBack called when something that ran was undone
 * @param rowsMax of one commit, which holds up the event loop; what is beyond waits for the next turn
 * @returns takes the work and how many rows it writes
 */
export function groupCommit<T>(
  database: Sqlite,
  rolledBack: () => void,
  rowsMax = Number.POSITIVE_INFINITY,
): (work: () => T, rows?: number) => Promise<T> {
  const waiting: Waiting<T>[] = []
  const alone = database.transaction((work: () => T): T => work())
  const together = database.transaction((group: readonly Waiting<T>[]) =>
    group.map(({ work }): Outcome<T> => {
      try {
        return { kind: 'done', result: alone(work) }
      } catch (error) {
        // An error that ended the outer transaction too (a full disk) has undone the whole group.
        if (!database.inTransaction) throw error
        rolledBack()
        return { kind: 'failed', error }
      }
    }),
  )

  const commit = (): void => {
    const group = waiting.splice(0, fitting(waiting, rowsMax))
    if (waiting.length > 0) setImmediate(commit)
    try {
      const outcomes = together.immediate(group)
      group.forEach(({ settle }, place) => {
        const outcome = outcomes[place]
        if (outcome?.kind === 'done') settle.resolve(outcome.result)
        else settle.reject(outcome?.error)
      })
    } catch (error) {
      rolledBack()
      for (const { settle } of group) settle.reject(error)
    }
  }

  return (work, rows = 1) => {
    if (waiting.length === 0) setImmediate(commit)
    const settle = Promise.withResolvers<T>()
    waiting.push({ work, rows, settle })
    return settle.promise
  }
}

/** How many of the first fit into one commit: at least one. */
function fitting(waiting: readonly { readonly rows: number }[], rowsMax: number): number {
  let rows = 0
  const beyond = waiting.findIndex(work => {
    rows += work.rows
    return rows > rowsMax
  })
  return beyond < 0 ? waiting.length : Math.max(1, beyond)
}
