import Database from 'better-sqlite3'

interface Prototype {
  run: (this: Database.Statement, ...parameters: unknown[]) => Database.RunResult
}

/**
 * Looks at every statement of this process that writes, from now on.
 *
 * @param kind statements whose rows count
 * @returns a function that tells the rows of the largest commit so far, and stops looking
 */
export function watchCommits(kind: RegExp): () => number {
  const database = new Database(':memory:')
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1')) as Prototype
  database.close()
  const { run } = prototype
  const rowsByDatabase = new WeakMap<Database.Database, number>()
  let largest = 0
  prototype.run = function watched(...parameters) {
    const result = run.apply(this, parameters)
    const before = rowsByDatabase.get(this.database) ?? 0
    const rows = kind.test(this.source) ? before + result.changes : before
    const isOver = !this.database.inTransaction
    rowsByDatabase.set(this.database, isOver ? 0 : rows)
    if (isOver) largest = Math.max(largest, rows)
    return result
  }
  return () => {
    prototype.run = run
    return largest
  }
}
