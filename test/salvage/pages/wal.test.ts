import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { openLog, readWal as readBytes } from '../../../src/salvage/pages/pages.ts'
import { openDatabase } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'

const frameBytes = 24 + 4_096

const readWal = (bytes: Buffer) =>
  readBytes({ length: bytes.length, read: (at, count) => bytes.subarray(at, at + count) })

/** A log of many commits, as bytes. */
function log(): Buffer {
  const file = join(temporaryFolder(), 'any.db')
  const database = openDatabase(file, { version: 1, sql: 'CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) STRICT' })
  database.pragma('wal_autocheckpoint = 0')
  for (let row = 0; row < 40; row += 1) database.prepare('INSERT INTO t VALUES (?, ?)').run(row, 'x'.repeat(700))
  const bytes = readFileSync(`${file}-wal`)
  database.close()
  return bytes
}

describe('a log', () => {
  it('is read to its last commit, also when it is cut off anywhere after that', () => {
    const whole = log()
    const count = readWal(whole).frames.length
    expect(count).toBe((whole.length - 32) / frameBytes)
    const rolls = dice(1)
    for (let cut = 0; cut < 50; cut += 1) {
      const bytes = whole.subarray(0, rolls.whole(32, whole.length))
      const { frames, isDamaged } = readWal(bytes)
      expect(frames.length).toBeLessThanOrEqual(Math.floor((bytes.length - 32) / frameBytes))
      expect(isDamaged, `cut at ${bytes.length}`).toBe(false)
    }
  })

  it('is damaged when a frame in the middle is not whole, and only that frame is left out', () => {
    const whole = log()
    const count = readWal(whole).frames.length
    const rolls = dice(2)
    for (let time = 0; time < 50; time += 1) {
      const bytes = Buffer.from(whole)
      const frame = rolls.whole(0, count - 2)
      const at = 32 + frame * frameBytes + rolls.whole(24, frameBytes - 1)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << rolls.whole(0, 7))
      const { frames, isDamaged } = readWal(bytes)
      expect(isDamaged, `byte ${at}`).toBe(true)
      expect(frames.length, `byte ${at}`).toBe(count - 1)
    }
  })

  it('is damaged when its header is not whole, and its frames are read all the same', () => {
    const whole = log()
    const count = readWal(whole).frames.length
    const bytes = Buffer.from(whole).fill(0, 0, 24)
    expect(readWal(bytes)).toMatchObject({ isDamaged: true })
    expect(readWal(bytes).frames.length).toBe(count)
    expect(readWal(Buffer.alloc(whole.length, 0x5a))).toMatchObject({ isDamaged: true, frames: [] })
  })

  it('is in order when it is empty', () => {
    expect(readWal(Buffer.alloc(0))).toMatchObject({ isDamaged: false, frames: [] })
  })

  it('of more than 2 GiB is read in parts, also beyond them', () => {
    const whole = log()
    const zeros = Buffer.alloc(2 ** 21)
    const bytes = 2 ** 31 + frameBytes
    let partMax = 0
    const read = (at: number, count: number) => {
      partMax = Math.max(partMax, count)
      return at === 0 && count === 32 ? whole.subarray(0, 32) : zeros.subarray(0, count)
    }
    expect(readBytes({ length: bytes, read })).toMatchObject({ isDamaged: false, frames: [] })
    expect(partMax).toBeLessThan(zeros.length)

    const file = join(temporaryFolder(), 'any.db')
    writeFileSync(`${file}-wal`, '')
    truncateSync(`${file}-wal`, bytes)
    appendFileSync(`${file}-wal`, 'the end')
    const opened = openLog(file)
    expect(opened.length).toBe(bytes + 7)
    expect(opened.read(bytes, 100).toString()).toBe('the end')
    opened.close()
  })
})
