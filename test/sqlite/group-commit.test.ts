import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/sqlite/database.ts'
import { groupCommit } from '../../src/sqlite/group-commit.ts'
import { temporaryFolder } from '../support/folder.ts'

function stage() {
  const file = join(temporaryFolder(), 'any.db')
  const database = openDatabase(file, { version: 1, sql: 'CREATE TABLE t (a INTEGER) STRICT' })
  onTestFinished(() => void database.close())
  const commit = groupCommit(database)
  const add = (a: number) => () => void database.prepare('INSERT INTO t VALUES (?)').run(a)
  const stored = () => database.prepare<[], number>('SELECT a FROM t ORDER BY a').pluck().all()
  return { database, commit, add, stored }
}

describe('a commit that several share', () => {
  it('loses nothing but the work that failed', async () => {
    const { commit, add, stored } = stage()
    const failing = () => {
      add(2)()
      throw new Error('no')
    }
    const works = [commit(add(1)), commit(failing), commit(add(3))]
    expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(stored()).toEqual([1, 3])
  })

  it('that SQLite has undone as a whole stores nothing of it, and all are rejected', async () => {
    const { database, commit, add, stored } = stage()
    const undone = () => {
      // As SQLite does where the disk is full.
      database.exec('ROLLBACK')
      throw new Error('database or disk is full')
    }
    const works = [commit(add(1)), commit(undone), commit(add(3))]
    for (const { status, ...end } of await Promise.allSettled(works)) {
      expect({ status, ...end }).toEqual({ status: 'rejected', reason: new Error('database or disk is full') })
    }
    expect(stored()).toEqual([])
    await commit(add(4))
    expect(stored()).toEqual([4])
  })
})
