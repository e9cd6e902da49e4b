/**
 * Makes the sources those of a later version: `--import` this file before the program. The tables of the outbox have a further
 * version, with a column more, and the program says that it is 9.9.9. With `MIGRATION_WAITS=1` the migration never ends.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

// Imported, the modules would be loaded before they can be changed.
const schemaFile = new URL('../../src/outbox/store/schema.ts', import.meta.url)
const tablesVersion = Number(/tablesVersion = (\d+)/.exec(readFileSync(schemaFile, 'utf8'))?.[1])
export const nextTablesVersion = tablesVersion + 1

const endless = process.env['MIGRATION_WAITS'] === '1'
const rows =
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO report SELECT i, '{}', i FROM n;"
const migration = {
  to: nextTablesVersion,
  sqlite: `ALTER TABLE report ADD COLUMN note TEXT; ${endless ? rows : ''}`,
  postgres: `ALTER TABLE tidegauge.report ADD COLUMN note text; ${endless ? 'SELECT pg_sleep(3600)' : ''}`,
}

/** Texts of a source and what replaces them, by the end of its path. */
const changes: Readonly<Record<string, readonly (readonly [text: string, by: string])[]>> = {
  '/src/outbox/store/schema.ts': [
    [`tablesVersion = ${tablesVersion}\n`, `tablesVersion = ${nextTablesVersion}\n`],
    ['migrations: readonly Migration[] = [', `migrations: readonly Migration[] = [...${JSON.stringify([migration])}, `],
    ['state::json IS NOT NULL)\n  );', 'state::json IS NOT NULL),\n    note text\n  );'],
  ],
  '/src/edge/version.ts': [['= manifest.version\n', "= '9.9.9'\n"]],
}

registerHooks({
  load(url, context, next) {
    const end = Object.keys(changes).find(path => url.endsWith(path))
    if (end === undefined) return next(url, context)
    const source = (changes[end] ?? []).reduce(
      (text, [from, to]) => {
        if (!text.includes(from)) throw new Error(`${end} has no ${from}`)
        return text.replace(from, to)
      },
      readFileSync(fileURLToPath(url), 'utf8'),
    )
    return { format: 'module-typescript', source, shortCircuit: true }
  },
})
