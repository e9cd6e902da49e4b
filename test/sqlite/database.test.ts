import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useWal } from '../../src/sqlite/database.ts'
import { fileFault } from '../../src/sqlite/trouble.ts'

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
})
