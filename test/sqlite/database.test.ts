import { execFileSync } from 'node:child_process'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useWal } from '../../src/sqlite/database.ts'
import { fileFault } from '../../src/sqlite/trouble.ts'
import { temporaryFolder } from '../support/folder.ts'

describe('a database', () => {
  it('that cannot have a write-ahead log is refused, with what to do, though SQLite says nothing', () => {
    // A temporary database has no shared memory, as a file on many network file systems.
    const database = new Database('')
    onTestFinished(() => void database.close())
    expect(database.pragma('journal_mode = WAL', { simple: true })).not.toBe('wal')
    let thrown: unknown
    try {
      useWal(database, '/data/outbox.db')
    } catch (error) {
      thrown = error
    }
    expect(fileFault('the outbox', '/data/outbox.db', thrown)).toMatchObject({
      code: 'outbox-unusable',
      message: expect.stringMatching(/no working locks or shared memory/),
      fix: 'put the data folder on a local disk',
    })
  })

  it('sorts in the folder of its file, whatever folder is for temporary files', () => {
    const folder = temporaryFolder()
    const code = `
      import { readdirSync, readlinkSync } from 'node:fs'
      import { openDatabase } from '${new URL('../../src/sqlite/database.ts', import.meta.url)}'
      const database = openDatabase('${folder}/any.db', { version: 1, sql: 'CREATE TABLE t (a INTEGER) STRICT' })
      database.exec('PRAGMA cache_size = 10')
      const rows = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000)'
      database.prepare(rows + ' SELECT random() AS r FROM n ORDER BY r').iterate().next()
      const open = readdirSync('/proc/self/fd').map(fd => { try { return readlinkSync('/proc/self/fd/' + fd) } catch { return '' } })
      console.log(JSON.stringify(open.filter(path => path.endsWith(' (deleted)'))))`
    const other = temporaryFolder()
    const env = { PATH: process.env['PATH'], TMPDIR: other }
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, encoding: 'utf8' })
    const opened: readonly string[] = JSON.parse(printed)
    expect(opened).not.toEqual([])
    expect(opened.filter(path => !path.startsWith(folder))).toEqual([])
  })
})
