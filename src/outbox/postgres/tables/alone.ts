import type { PostgresDatabase } from '../connection/database.ts'
import type { RowReader } from './known-metrics.ts'

/** Statements of a database that are read each alone, as of an instant of its own. */
export function alone(database: Pick<PostgresDatabase, 'rows'>): RowReader {
  return { query: (text, values) => database.rows(text, values) }
}
