/** A value as SQLite stores it. */
export type CellValue = number | string | Uint8Array | null

const text = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a variable-length integer: seven bits a byte, at most nine bytes.
 *
 * @returns the number and its end; `undefined` when the bytes end too early
 */
export function readVarint(bytes: Buffer, at: number): readonly [value: number, end: number] | undefined {
  let value = 0
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes[at + index]
    if (byte === undefined) return undefined
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, at + index + 1]
  }
  const last = bytes[at + 8]
  return last === undefined ? undefined : [value * 256 + last, at + 9]
}

/**
 * Values of a record; `undefined` when it is not a whole record. Source: "Record Format", sqlite.org/fileformat2.html.
 */
export function readRecord(payload: Buffer): CellValue[] | undefined {
  const header = readVarint(payload, 0)
  if (!header || header[0] > payload.length) return undefined
  const [headerEnd] = header
  const values: CellValue[] = []
  let body = headerEnd
  let at = header[1]
  while (at < headerEnd) {
    const type = readVarint(payload, at)
    if (!type) return undefined
    const bytes = bytesOf(type[0])
    if (bytes === undefined || body + bytes > payload.length) return undefined
    const value = readValue(payload, body, type[0], bytes)
    if (value === undefined) return undefined
    values.push(value)
    body += bytes
    at = type[1]
  }
  return at === headerEnd && body === payload.length ? values : undefined
}

const bytesByType = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0] as const

function bytesOf(type: number): number | undefined {
  return type < 12 ? bytesByType[type] : Math.floor((type - 12) / 2)
}

function readValue(bytes: Buffer, at: number, type: number, length: number): CellValue | undefined {
  if (type === 0) return null
  if (type === 6) return Number(bytes.readBigInt64BE(at))
  if (type === 7) return bytes.readDoubleBE(at)
  if (type < 7) return bytes.readIntBE(at, length)
  if (type < 10) return type - 8
  const part = bytes.subarray(at, at + length)
  if (type % 2 === 0) return part
  try {
    return text.decode(part)
  } catch {
    return undefined
  }
}

/** Compares records in SQLite's order, text by its bytes. */
export function compareRecords(a: readonly CellValue[], b: readonly CellValue[]): number {
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
