import { copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { OtherSchemaError, openDatabase, openReadOnly, type Schema, schemaVersion } from '../../src/sqlite/database.ts'
import { migrateFile } from '../../src/sqlite/migrate.ts'
import { temporaryFolder } from '../support/folder.ts'

const first: Schema = { version: 4, sql: 'CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT' }
const later: Schema = {
  version: 6,
  sql: 'CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c TEXT) STRICT',
  migrations: [
    { to: 5, sql: 'ALTER TABLE t ADD COLUMN b TEXT' },
    { to: 6, sql: "ALTER TABLE t ADD COLUMN c TEXT; UPDATE t SET c = 'of ' || a" },
  ],
}

function fileOf(schema: Schema): string {
  const file = join(temporaryFolder(), 'any.db')
  const database = openDatabase(file, schema)
  database.exec('INSERT INTO t (a) VALUES (1), (2)')
  database.close()
  return file
}

function contentOf(file: string): unknown {
  const database = openReadOnly(file)
  try {
    return [schemaVersion(database), database.prepare('SELECT * FROM t').all()]
  } finally {
    database.close()
  }
}

const before = [4, [{ a: 1 }, { a: 2 }]]

it('brings a file up to date by all steps, keeps a copy, and does nothing the next time', () => {
  const file = fileOf(first)
  expect(() => openDatabase(file, later)).toThrow(OtherSchemaError)
  expect(migrateFile(file, later)).toEqual({ from: 4, to: 6, backup: `${file}.before-6` })
  expect(contentOf(file)).toEqual([6, [1, 2].map(a => ({ a, b: null, c: `of ${a}` }))])
  expect(contentOf(`${file}.before-6`)).toEqual(before)
  expect(statSync(`${file}.before-6`).mode & 0o777).toBe(0o600)
  expect(migrateFile(file, later)).toBeUndefined()
  openDatabase(file, later).close()
})

it('keeps the first copy where a person has gone back to it and updates again', () => {
  const file = fileOf(first)
  migrateFile(file, later)
  const copy = `${file}.before-6`
  copyFileSync(copy, file)
  const database = openDatabase(file, first)
  database.exec('INSERT INTO t (a) VALUES (3)')
  database.close()
  expect(migrateFile(file, later)).toMatchObject({ backup: `${copy}-2` })
  expect(contentOf(copy)).toEqual(before)
  expect(contentOf(`${copy}-2`)).toEqual([4, [{ a: 1 }, { a: 2 }, { a: 3 }]])
})

it.each([
  ['fails', 'ALTER TABLE t ADD COLUMN c TEXT; SELECT * FROM missing'],
  ['breaks a reference', 'CREATE TABLE u (a INTEGER REFERENCES t (a)) STRICT; INSERT INTO u VALUES (9)'],
])('leaves a file as it was where a later step %s', (_, sql) => {
  const file = fileOf(first)
  const [step] = later.migrations ?? []
  expect(() => migrateFile(file, { ...later, migrations: [...(step ? [step] : []), { to: 6, sql }] })).toThrow()
  expect(contentOf(file)).toEqual(before)
  expect(migrateFile(file, later), 'the copy of the one that failed is that of the next').toMatchObject({
    backup: `${file}.before-6`,
  })
})

it('touches no file of a version that was never released, of a newer one, or of nothing', () => {
  for (const version of [3, 7]) {
    const file = fileOf({ ...first, version })
    expect(migrateFile(file, later)).toBeUndefined()
    expect(contentOf(file)).toEqual([version, before[1]])
    expect(() => openDatabase(file, later)).toThrow(version === 7 ? /made by tidegauge/ : /schema version 3/)
  }
  const missing = join(temporaryFolder(), 'any.db')
  expect([migrateFile(missing, later), existsSync(missing)]).toEqual([undefined, false])
})
