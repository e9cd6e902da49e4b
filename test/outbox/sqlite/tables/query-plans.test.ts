import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../../support/folder.ts'

/** Statements that an open outbox consists of. */
function statementsOf(file: string): readonly string[] {
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  onTestFinished(() => void prepare.mockRestore())
  new SqliteOutbox(file).close()
  return [...new Set(prepare.mock.calls.map(([sql]) => String(sql)))]
}

/** The steps that SQLite takes, a sentence each. */
function planOf(database: Database.Database, sql: string): readonly string[] {
  const named = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name = '']) => [name, 1]))
  const places = [...sql.matchAll(/\?/g)].map(() => 1)
  const plan = database.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
  return (places.length > 0 ? plan.all(...places) : plan.all(named)).map(({ detail }) => detail)
}

/**
 * SQLite looks at the values that `= ?` and `LIMIT ?` are bound to where a statement sorts or groups, and prepares it again
 * for each new one, which takes four times as long as to run it. It does not look at `+?`.
 */
it('no statement of the outbox is prepared again each time it is run', () => {
  const statements = statementsOf(join(temporaryFolder(), 'outbox.db'))
  const ordered = statements.filter(sql => /ORDER BY|GROUP BY|\b(max|min)\(\w+\)|LIMIT [+?@]/.test(sql))
  expect(ordered.length).toBeGreaterThan(20)
  expect(ordered.filter(sql => /( = |LIMIT )[?@]/.test(sql))).toEqual([])
})

it('no statement of the outbox walks through all hours, or all metrics', () => {
  const file = join(temporaryFolder(), 'outbox.db')
  const statements = statementsOf(file).filter(sql => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(sql))
  expect(statements.length).toBeGreaterThan(50)
  const database = openDatabase(file, outboxSchema)
  onTestFinished(() => void database.close())
  // A plan names also what is read only while a reference leads nowhere.
  database.pragma('foreign_keys = OFF')
  const walks = statements.flatMap(sql => {
    // The newest row is the first that is looked at, and an index of what is due or a gap has nothing else in it.
    if (/ORDER BY hour DESC LIMIT 1$/.test(sql)) return []
    const steps = planOf(database, sql).filter(step => /^SCAN (collection|outbox)(?! USING)/.test(step))
    return steps.map(step => `${step}: ${sql}`)
  })
  expect(walks).toEqual([])
})
