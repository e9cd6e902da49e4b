import type { Sqlite } from '../sqlite/database.ts'
import type { RunForm, UnpackedMetric } from './metric-rows.ts'
import type { PageFile } from './pages/pages.ts'
import { type RescuedRow, rescue, shapesOf } from './pages/rescue.ts'

/** Tables whose rows are recognised only when reached from their root: index rows of other tables look the same. */
const reachedOnly: ReadonlySet<string> = new Set([
  'tally',
  'due_count',
  'correction',
  'earlier_value',
  'backfill_failure',
  'unsuccessful_flush',
  'provenance',
  'planned',
  'report',
])

/**
 * Tables that are left out. A final block is only a cache, and a changed one would be wrong for ever. A correction
 * belongs to a push under way when the file broke, whose answer is recorded in the file moved aside. The progress of
 * planned hours is computed again (`mend.ts`), as rows of hours may be lost.
 */
const leftOut: ReadonlySet<string> = new Set(['final_block', 'correction', 'planned'])

/**
 * Tables whose rows do more harm changed than missing. A changed unit would be sent, while a missing one comes with the
 * next value; a changed hour might count as collected; a changed count would make delivered metrics due.
 */
const sureOnly: ReadonlySet<string> = new Set(['description', 'collection', 'due_count'])

/** Indexes that contain names, by what they name: they replace lost rows. */
const namingIndexes: Readonly<Record<string, string>> = {
  sqlite_autoindex_collector_1: 'collector',
  sqlite_autoindex_protocol_1: 'protocol',
  sqlite_autoindex_metric_1: 'metric',
}

const [delivered, dropped] = [1, 4]

/** Rows of one commit, so that memory stays small. */
const loadedRows = 10_000

/** Creates temporary tables for what `loadRows` finds apart from rows. */
export function prepareLoad(database: Sqlite): void {
  database.exec(`
    CREATE TEMP TABLE named (kind TEXT, id INTEGER, name TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID;
    CREATE TEMP TABLE undercounted (hour INTEGER, protocol INTEGER, PRIMARY KEY (hour, protocol)) WITHOUT ROWID;
    CREATE TEMP TABLE doubt_detained (hour INTEGER, metric INTEGER, PRIMARY KEY (hour, metric)) WITHOUT ROWID;
    CREATE TEMP TABLE doubt (hour INTEGER, metric INTEGER, PRIMARY KEY (hour, metric)) WITHOUT ROWID;
  `)
}

/**
 * Copies every readable row into a new database of the same schema, unless it already exists; those of `outbox` into
 * `metric_row`, each metric unless it already exists. Index entries of names go into `named (kind, id, name)`. Metrics from
 * a page that is not in order are listed in `doubt (hour, metric)`, the reasons of such dead or held ones in
 * `doubt_detained (hour, metric)`.
 *
 * @param age `older`: earlier versions of the pages, which only fill in what is missing
 */
export function loadRows(database: Sqlite, pages: PageFile, form: RunForm, age: 'newest' | 'older'): void {
  const load = age === 'newest' ? loader(database, form) : filler(database, form)
  const all = database.transaction((found: readonly RescuedRow[]) => found.forEach(load))
  let waiting: RescuedRow[] = []
  for (const found of rescue(pages, shapesOf(database), reachedOnly)) {
    waiting.push(found)
    if (waiting.length < loadedRows) continue
    all(waiting)
    waiting = []
  }
  all(waiting)
}

type Insert = (found: RescuedRow) => boolean | undefined

/** @returns a function that inserts a row: whether it is new; `undefined` for one that does not fit */
function inserter(database: Sqlite): Insert {
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

/** @returns a function that inserts a metric of a run: whether it is new; `undefined` for one that does not fit */
function metricInserter(database: Sqlite): (metric: UnpackedMetric) => boolean | undefined {
  const insert = database.prepare(
    `INSERT OR IGNORE INTO metric_row (hour, metric, protocol, state, collected_ms, delivered_ms, value)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  return ({ hour, number, protocol, state, collectedMs, deliveredMs, value }) =>
    run(() => insert.run(hour, number, protocol, state, collectedMs, deliveredMs, value).changes === 1)
}

function loader(database: Sqlite, { unpack }: RunForm): (found: RescuedRow) => void {
  const insert = inserter(database)
  const insertMetric = metricInserter(database)
  const loadIndex = indexLoader(database)
  const settle = database.prepare('UPDATE metric_row SET state = ?, delivered_ms = ? WHERE hour = ? AND metric = ?')
  const addDoubt = database.prepare('INSERT OR IGNORE INTO doubt VALUES (?, ?)')
  const addDoubtDetained = database.prepare('INSERT OR IGNORE INTO doubt_detained VALUES (?, ?)')
  return found => {
    const { table, values, isSure } = found
    loadIndex(found)
    const isNew = table !== 'outbox' && insert(found)
    if (table === 'detained' && isNew && !isSure) addDoubtDetained.run(values[0], values[1])
    for (const metric of table === 'outbox' ? unpack(values) : []) {
      const { hour, number, state, deliveredMs } = metric
      const isNewMetric = insertMetric(metric)
      if (isNewMetric && !isSure) addDoubt.run(hour, number)
      // An older copy of it was inserted first.
      const isOver = state === delivered || state === dropped
      if (isNewMetric === false && isSure && isOver) settle.run(state, deliveredMs, hour, number)
    }
  }
}

/** A metric that was due in an older page may be delivered since, and a dead one released; counts are of their time. */
function filler(database: Sqlite, { unpack }: RunForm): (found: RescuedRow) => void {
  const insert = inserter(database)
  const insertMetric = metricInserter(database)
  const isDetained = database.prepare('SELECT 1 FROM metric_row WHERE hour = ? AND metric = ? AND state IN (2, 3)')
  return found => {
    const { table, values, isSure } = found
    if (!isSure || table === 'due_count') return
    if (table === 'detained' && isDetained.get(values[0], values[1]) === undefined) return
    if (table === 'outbox') for (const metric of unpack(values)) insertMetric(metric)
    else insert(found)
  }
}

function indexLoader(database: Sqlite): (found: RescuedRow) => void {
  const addName = database.prepare('INSERT OR IGNORE INTO named VALUES (?, ?, ?)')
  return ({ table, values, isSure }) => {
    if (!isSure) return
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
