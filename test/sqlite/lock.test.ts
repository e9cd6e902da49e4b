import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { beginExclusive, isLocked, openLock } from '../../src/sqlite/lock.ts'
import { temporaryFolder } from '../support/folder.ts'

const emptyFile = () => {
  const file = join(temporaryFolder(), 'lock.db')
  writeFileSync(file, '')
  return file
}

const withTable = () => {
  const file = emptyFile()
  const database = new Database(file)
  database.exec('CREATE TABLE t (a)')
  database.close()
  return file
}

describe('a lock', () => {
  it.each([
    ['that is empty', emptyFile],
    ['with a table in it', withTable],
  ])('is never believed to be held on a file %s that is open for reading alone', (_, make) => {
    const file = make()
    const database = new Database(file, { readonly: true })
    onTestFinished(() => void database.close())
    expect(() => beginExclusive(database)).toThrow(expect.objectContaining({ code: 'SQLITE_READONLY' }))
    database.close()
    expect(isLocked(file)).toBe(false)
  })

  it('is had by one at a time', () => {
    const file = emptyFile()
    const lock = openLock(file)
    expect(lock).toBeDefined()
    expect(isLocked(file)).toBe(true)
    expect(openLock(file)).toBeUndefined()
    lock?.release()
    expect(isLocked(file)).toBe(false)
    const again = openLock(file)
    expect(again).toBeDefined()
    again?.release()
  })

  it('is taken on 4 KiB of garbage, which means nothing', () => {
    const file = emptyFile()
    writeFileSync(file, Buffer.alloc(4_096, 0x5a))
    const lock = openLock(file)
    expect(lock).toBeDefined()
    expect(isLocked(file)).toBe(true)
    lock?.release()
  })
})
