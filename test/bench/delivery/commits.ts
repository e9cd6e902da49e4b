import Database from 'better-sqlite3'

interface Prototype {
  run: (this: Database.Statement, ...parameters: unknown[]) => Database.RunResult
}

/**
 * Looks at every statement of this process that writes, from now on.
 *
 * @param metricsOf number of metrics that a statement wrote
 * @returns a function that tells the metrics of the largest commit so far, and stops looking
 */
export function watchCommits(metricsOf: (sql: string, parameters: readonly unknown[]) => number): () => number {
  const database = new Database(':memory:')
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1')) as Prototype
  database.close()
  const { run } = prototype
  const metricsByDatabase = new WeakMap<Database.Database, number>()
  let largest = 0
  prototype.run = function watched(...parameters) {
    const result = run.apply(this, parameters)
    const metrics = (metricsByDatabase.get(this.database) ?? 0) + metricsOf(this.source, parameters)
    const isOver = !this.database.inTransaction
    metricsByDatabase.set(this.database, isOver ? 0 : metrics)
    if (isOver) largest = Math.max(largest, metrics)
    return result
  }
  return () => {
    prototype.run = run
    return largest
  }
}
