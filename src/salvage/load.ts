import type { Sqlite } from '../sqlite/database.ts'
import type { PageFile } from './pages/pages.ts'
import { type RescuedRow, rescue, shapesOf } from './pages/rescue.ts'

/** Tables whose rows are recognised only when reached from their root: index rows of other tables look the same. */
const reachedOnly: ReadonlySet<string> = new Set([
  'tally',
  'correction',
  'earlier_value',
  'backfill_failure',
  'unsuccessful_flush',
  'provenance',
  'planned',
  'report',
])

/**
 * Tables that are left out. A final block is only a cache, as is what is remembered of a list, and a changed one would be wrong for ever. A correction
 * belongs to a push under way when the file broke, whose answer is recorded in the file moved aside. The progress of
 * planned hours is computed again (`mend.ts`), as rows of hours may be lost.
 */
const leftOut: ReadonlySet<string> = new Set(['final_block', 'correction', 'planned', 'list'])

/**
 * Tables whose rows do more harm changed than missing. A changed unit would be sent, while a missing one comes with the
 * next value; a changed hour might count as collected.
 */
const sureOnly: ReadonlySet<string> = new Set(['description', 'collection'])

/** Indexes that contain names, by what they name: they replace lost rows. */
const namingIndexes: Readonly<Record<string, string>> = {
  sqlite_autoindex_collector_1: 'collector',
  sqlite_autoindex_protocol_1: 'protocol',
  sqlite_autoindex_metric_1: 'metric',
}

/** Index of due metrics: protocol, hour, metric. */
const dueIndex = 'outbox_due'

/** Numbers of the states that a value keeps: delivered, dropped, private. */
const over: readonly unknown[] = [1, 4, 6]

/** Rows of one commit, so that memory stays small. */
const loadedRows = 10_000

/** Creates temporary tables for what `loadRows` finds apart from rows. */
export function prepareLoad(database: Sqlite): void {
  database.exec(`
    CREATE TEMP TABLE named (kind TEXT, id INTEGER, name TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID;
    CREATE TEMP TABLE seen_due (hour INTEGER, metric INTEGER, PRIMARY KEY (hour, metric)) WITHOUT ROWID;
    CREATE TEMP TABLE doubt_detained (hour INTEGER, metric INTEGER, PRIMARY KEY (hour, metric)) WITHOUT ROWID;
    CREATE TEMP TABLE doubt (hour INTEGER, metric INTEGER, PRIMARY KEY (hour, metric)) WITHOUT ROWID;
  `)
}

/**
 * Copies every readable row into a new database of the same schema, unless it already exists. Index entries of names go
 * into `named (kind, id, name)`, those of due metrics into `seen_due (hour, metric)`. Metrics from a page that is not in
 * order are listed in `doubt (hour, metric)`, the reasons of such dead or held ones in `doubt_detained (hour, metric)`.
 *
 * @param age `older`: earlier versions of the pages, which only fill in what is missing
 */
export function loadRows(database: Sqlite, pages: PageFile, age: 'newest' | 'older'): void {
  const load = age === 'newest' ? loader(database) : filler(database)
  const loadBatch = database.transaction((found: readonly RescuedRow[]) => found.forEach(load))
  let batch: RescuedRow[] = []
  for (const found of rescue(pages, shapesOf(database), reachedOnly)) {
    batch.push(found)
    if (batch.length < loadedRows) continue
    loadBatch(batch)
    batch = []
  }
  loadBatch(batch)
}

/** @returns a function that inserts a row: whether it is new; `undefined` for one that does not fit */
function inserter(database: Sqlite): (found: RescuedRow) => boolean | undefined {
  const inserts = new Map(
    shapesOf(database).map(({ name, columns }) => {
      const sql = `INSERT OR IGNORE INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`
      return [name, database.prepare(sql)] as const
    }),
  )
  return ({ table, values, isSure }) => {
    const insert = inserts.get(table)
    if (!insert || leftOut.has(table) || (!isSure && sureOnly.has(table))) return undefined
    return run(() => insert.run(values).changes === 1)
  }
}

function loader(database: Sqlite): (found: RescuedRow) => void {
  const insert = inserter(database)
  const loadIndex = indexLoader(database)
  const settle = database.prepare('UPDATE outbox SET state = ?, delivered_ms = ? WHERE hour = ? AND metric = ?')
  const addDoubt = database.prepare('INSERT OR IGNORE INTO doubt VALUES (?, ?)')
  const addDoubtDetained = database.prepare('INSERT OR IGNORE INTO doubt_detained VALUES (?, ?)')
  return row => {
    const { table, values, isSure } = row
    loadIndex(row)
    const isNew = insert(row)
    const [hour, metric] = values
    if (table === 'detained' && isNew && !isSure) addDoubtDetained.run(hour, metric)
    if (table !== 'outbox') return
    if (isNew && !isSure) addDoubt.run(hour, metric)
    const [, , , state, , , deliveredMs] = values
    // An older copy of it was inserted first.
    const isOver = over.includes(state)
    if (isNew === false && isSure && isOver) settle.run(state, deliveredMs, hour, metric)
  }
}

/** A metric that was due in an older page may be delivered since, and a dead one released. */
function filler(database: Sqlite): (found: RescuedRow) => void {
  const insert = inserter(database)
  const isDetained = database.prepare('SELECT 1 FROM outbox WHERE hour = ? AND metric = ? AND state IN (2, 3)')
  return row => {
    const { table, values, isSure } = row
    if (!isSure || (table === 'detained' && isDetained.get(values[0], values[1]) === undefined)) return
    insert(row)
  }
}

function indexLoader(database: Sqlite): (found: RescuedRow) => void {
  const addName = database.prepare('INSERT OR IGNORE INTO named VALUES (?, ?, ?)')
  const addDue = database.prepare('INSERT OR IGNORE INTO seen_due VALUES (?, ?)')
  return ({ table, values, isSure }) => {
    if (!isSure) return
    if (table === dueIndex) addDue.run(values[1], values[2])
    const naming = namingIndexes[table]
    const [name, id] = values
    if (naming !== undefined && typeof name === 'string' && typeof id === 'number') addName.run(naming, id, name)
  }
}

/** Result of the insert; `undefined` for a row that violates the schema, which is therefore damaged. */
function run(insert: () => boolean): boolean | undefined {
  try {
    return insert()
  } catch (error) {
    if (/^SQLITE_(CONSTRAINT|MISMATCH|RANGE)/.test(String((error as { code?: string }).code))) return undefined
    throw error
  }
}
