import type { Sqlite } from '../../sqlite/database.ts'

/** Work under way: what was asked for, and whoever waits for it. */
interface Waiting<T> {
  readonly work: () => T
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
 */
export function groupCommit<T>(database: Sqlite, rolledBack: () => void): (work: () => T) => Promise<T> {
  let waiting: Waiting<T>[] = []
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
    const group = waiting
    waiting = []
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

  return work => {
    if (waiting.length === 0) setImmediate(commit)
    const settle = Promise.withResolvers<T>()
    waiting.push({ work, settle })
    return settle.promise
  }
}
