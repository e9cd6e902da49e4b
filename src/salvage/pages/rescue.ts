import type { Sqlite } from '../../sqlite/database.ts'
import { type BtreePage, type CellValue, type PageRow, readBtreePage } from './btree.ts'
import type { PageFile } from './pages.ts'

/** A table by its schema. */
interface TableShape {
  readonly name: string
  readonly kind: BtreePage['kind']
  readonly columns: readonly { readonly type: string; readonly isRequired: boolean; readonly isRowid: boolean }[]
}

/** A row found, with the name of its table or index. */
export interface RescuedRow {
  readonly table: string
  /** In the order of the columns; a rowid stands in its column if it has one. */
  readonly values: readonly CellValue[]
  /** Whether its page is in order; if not, values may have changed. */
  readonly isSure: boolean
}

/** SQLite's own table of tables and indexes: type, name, name of the table, root page, SQL. */
const schemaTable: TableShape = {
  name: 'sqlite_schema',
  kind: 'table',
  columns: ['TEXT', 'TEXT', 'TEXT', 'INTEGER', 'TEXT'].map(type => ({ type, isRequired: false, isRowid: false })),
}

/** The tables of a database, without that of its versions: a new file has its own. */
export function shapesOf(database: Sqlite): TableShape[] {
  const tables = database.prepare<[], { name: string; wr: number }>(
    `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' 
       AND name NOT LIKE 'sqlite_%' AND name <> 'migration'`,
  )
  const columns = database.prepare<[string], { type: string; notnull: number; pk: number }>(
    'SELECT type, "notnull", pk FROM pragma_table_info(?)',
  )
  return tables.all().map(({ name, wr }) => ({
    name,
    kind: wr === 1 ? 'index' : 'table',
    columns: columns.all(name).map(({ type, notnull, pk }) => ({
      type,
      isRequired: notnull === 1,
      isRowid: wr === 0 && pk === 1 && type === 'INTEGER',
    })),
  }))
}

/**
 * Reads every readable row of a damaged file. Pages are reached from their table's root as far as possible; an
 * unreachable page is assigned to the table its rows fit, so that a damaged page loses only its own rows.
 *
 * @param shapes tables of the schema the file had; those in `reachedOnly` are not assigned by shape
 */
export function* rescue(
  pages: PageFile,
  shapes: readonly TableShape[],
  reachedOnly: ReadonlySet<string>,
): Generator<RescuedRow> {
  const visits = new Set<number>()
  // A page of another table in the schema's place would take that table's pages with it.
  const schemaPages = walk(pages, 1, page => mayBelong(page, schemaTable), visits)
  const schema = [...schemaPages].flatMap(({ rows }) => rows.map(({ values }) => values))
  // Tables first: a page is assigned only once, and an index does not define the shape of its rows.
  for (const [type, name, , root] of schema.toSorted(([a], [b]) => Number(b === 'table') - Number(a === 'table'))) {
    if (typeof name !== 'string' || typeof root !== 'number') continue
    const shape = shapes.find(table => table.name === name)
    // Damage has changed its name: its pages are assigned by their rows.
    if (type === 'table' && !shape) continue
    const belongs = (page: BtreePage) => (shape ? mayBelong(page, shape) : page.kind === 'index')
    for (const page of walk(pages, root, belongs, visits)) yield* rowsOf(page, name, shape)
  }
  const free = freePages(pages)
  for (let number = 2; number <= pages.count; number += 1) {
    const page = visits.has(number) || free.has(number) ? undefined : readBtreePage(pages, number)
    if (!page?.isClean || page.rows.length === 0) continue
    const fitting = shapes.filter(shape => !reachedOnly.has(shape.name) && isWholly(page, shape))
    const [shape] = fitting
    if (shape && fitting.length === 1) yield* rowsOf(page, shape.name, shape)
  }
}

function* rowsOf(page: BtreePage, table: string, shape: TableShape | undefined): Generator<RescuedRow> {
  for (const row of page.rows) {
    if (shape && !fits(row, shape)) continue
    yield { table, values: shape ? columnsOf(row, shape) : row.values, isSure: page.isClean }
  }
}

/** Values by column: a rowid's own column is stored empty. */
function columnsOf({ rowid, values }: PageRow, { columns }: TableShape): CellValue[] {
  return columns.map(({ isRowid }, index) => (isRowid ? (rowid ?? null) : (values[index] ?? null)))
}

/** Pages of a tree, root included; pointers of a damaged page to pages of another kind are not followed. */
function* walk(
  pages: PageFile,
  root: number,
  belongs: (page: BtreePage) => boolean,
  visits: Set<number>,
): Generator<BtreePage> {
  const stack = [root]
  for (let number = stack.pop(); number !== undefined; number = stack.pop()) {
    if (number < 1 || number > pages.count || visits.has(number)) continue
    const page = readBtreePage(pages, number)
    if (!page || !belongs(page)) continue
    visits.add(number)
    for (const overflow of page.overflow) visits.add(overflow)
    stack.push(...page.children.toReversed())
    yield page
  }
}

function mayBelong(page: BtreePage, shape: TableShape): boolean {
  if (page.kind !== shape.kind || page.rows.length === 0) return page.kind === shape.kind
  return page.isClean ? isWholly(page, shape) : page.rows.some(row => fits(row, shape))
}

function isWholly(page: BtreePage, shape: TableShape): boolean {
  return page.kind === shape.kind && page.rows.every(row => fits(row, shape))
}

function fits({ values }: PageRow, { columns }: TableShape): boolean {
  if (values.length !== columns.length) return false
  return columns.every(({ type, isRequired, isRowid }, index) => {
    const value = values[index] ?? null
    if (value === null) return isRowid || !isRequired
    return !isRowid && isOfType(value, type)
  })
}

function isOfType(value: CellValue, type: string): boolean {
  if (type === 'BLOB') return value instanceof Uint8Array
  return typeof value === (type === 'TEXT' ? 'string' : 'number')
}

/** Pages not in use: they may hold earlier rows. */
function freePages(pages: PageFile): Set<number> {
  const free = new Set<number>()
  let trunk = pages.version === undefined ? 0 : (pages.page(1)?.readUInt32BE(32) ?? 0)
  while (trunk > 1 && trunk <= pages.count && !free.has(trunk)) {
    const page = pages.page(trunk)
    free.add(trunk)
    if (!page) break
    const count = Math.min(page.readUInt32BE(4), pages.usableBytes / 4 - 2)
    for (let index = 0; index < count; index += 1) free.add(page.readUInt32BE(8 + 4 * index))
    trunk = page.readUInt32BE(0)
  }
  return free
}
