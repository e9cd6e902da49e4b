import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Dice, dice } from '../../../src/devchain/dice.ts'
import { openPages } from '../../../src/salvage/pages/pages.ts'
import { type RescuedRow, rescue, shapesOf } from '../../../src/salvage/pages/rescue.ts'
import { openDatabase, type Sqlite } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { sampleOf } from '../../support/soak.ts'

const schema = {
  version: 1,
  sql: `
    CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, size REAL) STRICT;
    CREATE INDEX note_text ON note (text);
    CREATE TABLE reading (hour INTEGER, place TEXT, value REAL NOT NULL, PRIMARY KEY (hour, place)) STRICT, WITHOUT ROWID;
  `,
}

const pageBytes = 4_096
/** The smallest row of the tables above takes more than ten bytes. */
const pageRowsMost = pageBytes / 10

const oddNumbers = [0, 1, -1, 127, 128, -129, 32_768, 2 ** 31, 2 ** 40, -(2 ** 50), 0.1, -2.5e300, 1e-300]

/** Text of any length, also of many pages, and of any script. */
function someText(rolls: Dice): string {
  const length = rolls.roll() < 0.02 ? rolls.whole(2_000, 9_000) : rolls.whole(0, 60)
  return Array.from({ length }, () => ['a', 'é', '水', '😀', ' '][rolls.whole(0, 4)]).join('')
}

/** A database after some life: rows are added, changed, deleted, in commits. The caller closes it. */
function lived(file: string, rolls: Dice): Sqlite {
  const database = openDatabase(file, schema)
  const addNote = database.prepare('INSERT INTO note (text, size) VALUES (?, ?)')
  const addReading = database.prepare('INSERT OR REPLACE INTO reading VALUES (?, ?, ?)')
  for (let commit = 0; commit < 30; commit += 1) {
    database.transaction(() => {
      for (let count = rolls.whole(1, 80); count > 0; count -= 1) {
        const number = oddNumbers[rolls.whole(0, oddNumbers.length - 1)] ?? 0
        addNote.run(someText(rolls), rolls.roll() < 0.2 ? null : number)
        addReading.run(rolls.whole(-50, 400), `p${rolls.whole(0, 30)}`, number)
      }
      if (rolls.roll() < 0.4) database.prepare('DELETE FROM note WHERE id % 3 = ?').run(rolls.whole(0, 2))
      if (rolls.roll() < 0.3) database.prepare('DELETE FROM reading WHERE hour < ?').run(rolls.whole(-50, 200))
    })()
  }
  return database
}

const text = (rows: Iterable<readonly unknown[]>) => [...rows].map(row => JSON.stringify(row)).sort()

function rescued(file: string, database: Sqlite): RescuedRow[] {
  const pages = openPages(file)
  try {
    return [...rescue(pages, shapesOf(database), new Set())]
  } finally {
    pages.close()
  }
}

function stored(database: Sqlite, table: string): string[] {
  return text(database.prepare<[], unknown[]>(`SELECT * FROM ${table}`).raw().all())
}

const ofTable = (found: readonly RescuedRow[], table: string) =>
  text(found.filter(row => row.table === table).map(({ values }) => values))

describe.each(sampleOf([1, 2, 3, 4, 5, 6], 2))('a sound file, seed %i', seed => {
  it('gives every row as SQLite does, with its log, and without', () => {
    const file = join(temporaryFolder(), 'any.db')
    const database = lived(file, dice(seed))
    for (const checkpoint of ['PASSIVE', 'TRUNCATE']) {
      const found = rescued(file, database)
      for (const table of ['note', 'reading']) {
        const rows = ofTable(found, table)
        expect(rows.length).toBeGreaterThan(20)
        expect(rows.join('\n') === stored(database, table).join('\n'), `${table}, ${checkpoint}`).toBe(true)
      }
      expect(found.filter(({ isSure }) => !isSure)).toEqual([])
      database.pragma(`wal_checkpoint(${checkpoint})`)
    }
    database.close()
  })

  it('loses no row of another page when one is overwritten, wherever it is', () => {
    const file = join(temporaryFolder(), 'any.db')
    const database = lived(file, dice(seed))
    database.pragma('wal_checkpoint(TRUNCATE)')
    const sound = readFileSync(file)
    const trunk = sound.readUInt32BE(32)
    for (let page = 1; page <= sound.length / pageBytes; page += 1) {
      writeFileSync(`${file}.broken`, Buffer.from(sound).fill(0xa5, (page - 1) * pageBytes, page * pageBytes))
      const found = rescued(`${file}.broken`, database)
      for (const table of ['note', 'reading']) {
        const rows = new Set(stored(database, table))
        const readable = new Set(ofTable(found, table))
        const invented = [...readable].filter(row => !rows.has(row)).length
        const lost = [...rows].filter(row => !readable.has(row)).length
        expect(lost, `page ${page}, ${table}`).toBeLessThan(pageRowsMost)
        // Where it cannot be known which pages are in use, rows that were deleted come back.
        if (page !== 1 && page !== trunk) expect(invented, `page ${page}, ${table}`).toBe(0)
      }
    }
    database.close()
  })
})
