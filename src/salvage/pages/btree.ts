import type { PageFile } from './pages.ts'

/** A row as a page holds it. Rows of indexes and of tables without a rowid have none. */
export interface PageRow {
  /** Absent for rows of indexes and of tables without a rowid. */
  readonly rowid?: number
  readonly values: readonly CellValue[]
}

/** A page of a table or an index, as far as it can be read. */
export interface BtreePage {
  /** Rows with a rowid lie in `table` pages. */
  readonly kind: 'table' | 'index'
  /** Child pages; empty for a leaf. */
  readonly children: readonly number[]
  /** Pages with the ends of long rows. */
  readonly overflow: readonly number[]
  readonly rows: readonly PageRow[]
  /** Every byte is accounted for, and every row is whole and in order. */
  readonly isClean: boolean
}

interface PageCell {
  readonly child?: number
  readonly row?: PageRow
  readonly overflow: readonly number[]
  /** Bytes of the row on this page. */
  readonly bytes: number
}

const kinds = {
  2: { kind: 'index', isLeaf: false },
  5: { kind: 'table', isLeaf: false },
  10: { kind: 'index', isLeaf: true },
  13: { kind: 'table', isLeaf: true },
} as const

/** Smallest room of a row, so that it can become free room when deleted. */
const cellBytesMin = 4

/**
 * Reads one page; `undefined` when it is not of a table or an index. Unreadable rows are left out. Source: "B-tree
 * Pages", sqlite.org/fileformat2.html.
 */
export function readBtreePage(pages: PageFile, number: number): BtreePage | undefined {
  const page = pages.page(number)
  const start = number === 1 ? 100 : 0
  const form = kinds[page?.[start] as keyof typeof kinds]
  if (!page || !form) return undefined
  const headerEnd = start + (form.isLeaf ? 8 : 12)
  const count = page.readUInt16BE(start + 3)
  const pointersEnd = headerEnd + 2 * count
  if (pointersEnd > pages.usableBytes) return undefined
  const places = Array.from({ length: count }, (_, index) => page.readUInt16BE(headerEnd + 2 * index))
  const cells = places.map(offset => (offset < pointersEnd ? undefined : readCell(pages, page, offset, form)))
  const wholeCells = cells.filter(cell => cell !== undefined)
  const rows = wholeCells.flatMap(({ row }) => row ?? [])
  const isClean =
    wholeCells.length === count &&
    (form.isLeaf || form.kind === 'table' || rows.length === count) &&
    isOrdered(rows) &&
    isFilled(page, start, pages.usableBytes, pointersEnd, places, cells)
  const children = wholeCells.flatMap(({ child }) => child ?? [])
  return {
    kind: form.kind,
    children: form.isLeaf ? [] : [...children, page.readUInt32BE(start + 8)],
    overflow: wholeCells.flatMap(({ overflow }) => overflow),
    rows,
    isClean,
  }
}

function readCell(
  pages: PageFile,
  page: Buffer,
  offset: number,
  form: (typeof kinds)[keyof typeof kinds],
): PageCell | undefined {
  const child = form.isLeaf || offset + 4 > pages.usableBytes ? undefined : page.readUInt32BE(offset)
  if (!form.isLeaf && child === undefined) return undefined
  const childField = child === undefined ? {} : { child }
  const first = readVarint(page, offset + (form.isLeaf ? 0 : 4))
  if (!first) return undefined
  if (form.kind === 'table' && !form.isLeaf) return { ...childField, overflow: [], bytes: first[1] - offset }
  const second = form.kind === 'table' ? readVarint(page, first[1]) : undefined
  if (form.kind === 'table' && !second) return undefined
  const payload = readPayload(pages, page, second?.[1] ?? first[1], first[0], form.kind)
  if (!payload) return undefined
  const values = readRecord(payload.payload)
  if (!values) return undefined
  const row: PageRow = second ? { rowid: second[0], values } : { values }
  return { ...childField, row, overflow: payload.overflow, bytes: Math.max(cellBytesMin, payload.end - offset) }
}

interface Payload {
  readonly payload: Buffer
  readonly overflow: readonly number[]
  /** Offset of its end on the page. */
  readonly end: number
}

function readPayload(
  pages: PageFile,
  page: Buffer,
  offset: number,
  bytes: number,
  kind: BtreePage['kind'],
): Payload | undefined {
  const { usableBytes } = pages
  const ownBytes = localBytes(bytes, usableBytes, kind)
  const end = offset + ownBytes + (ownBytes < bytes ? 4 : 0)
  if (end > usableBytes || bytes > usableBytes * pages.count) return undefined
  const parts = [page.subarray(offset, offset + ownBytes)]
  const overflow: number[] = []
  let bytesLeft = bytes - ownBytes
  let next = bytesLeft > 0 ? page.readUInt32BE(offset + ownBytes) : 0
  while (bytesLeft > 0) {
    const part = overflow.includes(next) ? undefined : pages.page(next)
    if (next === 0 || !part) return undefined
    overflow.push(next)
    parts.push(part.subarray(4, 4 + Math.min(bytesLeft, usableBytes - 4)))
    bytesLeft -= usableBytes - 4
    next = part.readUInt32BE(0)
  }
  return { payload: parts.length === 1 ? (parts[0] ?? page) : Buffer.concat(parts), overflow, end }
}

/** Number of a row's bytes that lie on its own page. */
function localBytes(bytes: number, usableBytes: number, kind: BtreePage['kind']): number {
  const localMax = kind === 'table' ? usableBytes - 35 : Math.floor(((usableBytes - 12) * 64) / 255) - 23
  if (bytes <= localMax) return bytes
  const least = Math.floor(((usableBytes - 12) * 32) / 255) - 23
  const some = least + ((bytes - least) % (usableBytes - 4))
  return some <= localMax ? some : least
}

function isOrdered(rows: readonly PageRow[]): boolean {
  return rows.every((row, index) => {
    const previousRow = rows[index - 1]
    if (!previousRow) return true
    if (row.rowid !== undefined) return (previousRow.rowid ?? 0) < row.rowid
    return compareRecords(previousRow.values, row.values) < 0
  })
}

/** Whether rows, free room and fragments fill the page without overlap. */
function isFilled(
  page: Buffer,
  start: number,
  usableBytes: number,
  pointersEnd: number,
  places: readonly number[],
  cells: readonly (PageCell | undefined)[],
): boolean {
  const spans = places.map((offset, index): [number, number] => [offset, offset + (cells[index]?.bytes ?? 0)])
  let free = page.readUInt16BE(start + 1)
  while (free !== 0) {
    if (free + 4 > usableBytes || spans.length > usableBytes) return false
    spans.push([free, free + page.readUInt16BE(free + 2)])
    free = page.readUInt16BE(free)
  }
  const content = page.readUInt16BE(start + 5) || 65_536
  spans.sort(([a], [b]) => a - b)
  let [end, scraps] = [content, 0]
  for (const [from, to] of spans) {
    if (from < end || to > usableBytes) return false
    scraps += from - end
    end = to
  }
  return content >= pointersEnd && scraps + (usableBytes - end) === page[start + 7]
}

/** A value as SQLite stores it. */
export type CellValue = number | string | Uint8Array | null

const text = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a variable-length integer: seven bits a byte, at most nine bytes.
 *
 * @returns the number and its end; `undefined` when the bytes end too early
 */
function readVarint(bytes: Buffer, offset: number): readonly [value: number, end: number] | undefined {
  let value = 0
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes[offset + index]
    if (byte === undefined) return undefined
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, offset + index + 1]
  }
  const last = bytes[offset + 8]
  return last === undefined ? undefined : [value * 256 + last, offset + 9]
}

/**
 * Values of a record; `undefined` when it is not a whole record. Source: "Record Format", sqlite.org/fileformat2.html.
 */
function readRecord(payload: Buffer): CellValue[] | undefined {
  const header = readVarint(payload, 0)
  if (!header || header[0] > payload.length) return undefined
  const [headerEnd] = header
  const values: CellValue[] = []
  let body = headerEnd
  let offset = header[1]
  while (offset < headerEnd) {
    const type = readVarint(payload, offset)
    if (!type) return undefined
    const bytes = bytesOf(type[0])
    if (bytes === undefined || body + bytes > payload.length) return undefined
    const value = readValue(payload, body, type[0], bytes)
    if (value === undefined) return undefined
    values.push(value)
    body += bytes
    offset = type[1]
  }
  return offset === headerEnd && body === payload.length ? values : undefined
}

const bytesByType = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0] as const

function bytesOf(type: number): number | undefined {
  return type < 12 ? bytesByType[type] : Math.floor((type - 12) / 2)
}

function readValue(bytes: Buffer, offset: number, type: number, length: number): CellValue | undefined {
  if (type === 0) return null
  if (type === 6) return Number(bytes.readBigInt64BE(offset))
  if (type === 7) return bytes.readDoubleBE(offset)
  if (type < 7) return bytes.readIntBE(offset, length)
  if (type < 10) return type - 8
  const part = bytes.subarray(offset, offset + length)
  if (type % 2 === 0) return part
  try {
    return text.decode(part)
  } catch {
    return undefined
  }
}

/** Compares records in SQLite's order, text by its bytes. */
function compareRecords(a: readonly CellValue[], b: readonly CellValue[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const order = compareValues(a[index] ?? null, b[index] ?? null)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function compareValues(a: CellValue, b: CellValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [left, right] = [rank(a), rank(b)]
  if (left !== right || a === null || b === null) return left - right
  return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
}

function rank(value: CellValue): number {
  if (value === null) return 0
  if (typeof value === 'number') return 1
  return typeof value === 'string' ? 2 : 3
}
