import type { PostgresDatabase } from '../connection/database.ts'
import { codeOfDatabase } from '../connection/errors.ts'
import { OtherTablesError } from '../connection/faults.ts'
import { tablesSql, tablesVersion } from './schema.ts'

/** `server_version_num` of the oldest server that has all that the statements use. */
const serverVersionMin = 130_000

/** SQLSTATE of a schema or table that another process has just made. */
const madeByAnother: ReadonlySet<string> = new Set(['42P06', '42P07', '23505'])

/**
 * Makes the tables in a database that has none. Processes that do so at once end with the tables of one of them.
 *
 * @throws OtherTablesError when the server is too old, its encoding is not UTF8, or the tables are those of another version; errors of the database
 */
export async function makeTables(database: PostgresDatabase): Promise<void> {
  await requireServer(database)
  while (!(await hasTables(database))) {
    try {
      await made(database)
    } catch (error) {
      if (!madeByAnother.has(codeOfDatabase(error))) throw error
    }
  }
}

async function requireServer(database: PostgresDatabase): Promise<void> {
  const [row] = await database.rows<{ number: number; words: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS words,
       current_setting('server_encoding') AS encoding`,
  )
  if (row && row.number < serverVersionMin) {
    throw new OtherTablesError('unsupported', `its server has version ${row.words}`)
  }
  if (row && row.encoding !== 'UTF8') {
    throw new OtherTablesError(
      'encoded',
      `its encoding is ${row.encoding}, which does not hold all that a service or node may say`,
    )
  }
}

/** @throws OtherTablesError when they are those of another version */
async function hasTables(database: PostgresDatabase): Promise<boolean> {
  const [table] = await database.rows<{ is_there: boolean }>(
    `SELECT to_regclass('tidegauge.version') IS NOT NULL AS is_there`,
  )
  if (!table?.is_there) return false
  const [row] = await database.rows<{ version: number }>('SELECT version FROM tidegauge.version')
  const found = row?.version ?? 0
  if (found === tablesVersion) return true
  const madeBy = found > tablesVersion ? 'newer' : 'older'
  throw new OtherTablesError(
    madeBy,
    `its tables have version ${found}, another version of the daemon; this one reads ${tablesVersion}`,
  )
}

/** All in one transaction: another process sees all of it or nothing. */
async function made(database: PostgresDatabase): Promise<void> {
  await database.write(async transaction => {
    // The schema may have been made by who may make one, for a user who may not.
    const found = await transaction.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'tidegauge'`)
    if (found.length === 0) await transaction.query('CREATE SCHEMA tidegauge')
    for (const statement of tablesSql.split(/;\s*\n/)) {
      if (statement.trim() !== '') transaction.later(statement)
    }
  })
}
