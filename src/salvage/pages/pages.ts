import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { openLog } from './log-file.ts'
import { isPageSize, readWal } from './wal.ts'

const magic = 'SQLite format 3\0'

/** The pages of a database file as they were last committed, the log beside it included. Nothing is written. */
export interface PageFile {
  /** Bytes of a page that are in use. */
  readonly usableBytes: number
  readonly count: number
  /** The schema's version; `undefined` when the first page is not one of SQLite's. */
  readonly version: number | undefined
  /** Whether the log has a gap, so that what is read of it matters. */
  readonly hasGap: boolean
  /** A page, counted from 1; `undefined` for one that cannot be read. */
  page(number: number): Buffer | undefined
  close(): void
}

/** What of a log with a gap is read: all that is whole, or what SQLite reads, which is older. */
export type WalReading = 'all' | 'unbroken'

/** Opens a file that may be damaged in any way, or be missing. */
export function openPages(file: string, reading: WalReading = 'all'): PageFile {
  const log = openLog(file)
  const wal = readWal(log)
  const frames = reading === 'all' ? wal.frames : wal.frames.slice(0, wal.unbroken)
  const places = new Map(frames.map(({ page, at }) => [page, at]))
  const descriptor = existsSync(file) ? openSync(file, 'r') : undefined
  const bytesAll = descriptor === undefined ? 0 : fstatSync(descriptor).size
  const pageBytes = places.size > 0 ? wal.pageBytes : pageBytesOf(readAt(descriptor, 0, 100), wal.pageBytes)
  const page = (number: number): Buffer | undefined => {
    const place = places.get(number)
    if (place !== undefined) return wholePage(log.read(place, pageBytes), pageBytes)
    return readAt(descriptor, (number - 1) * pageBytes, pageBytes)
  }
  const first = page(1)
  const isKnown = first?.toString('latin1', 0, magic.length) === magic
  return {
    usableBytes: pageBytes - (isKnown ? (first?.[20] ?? 0) : 0),
    count: [...places.keys()].reduce((a, b) => Math.max(a, b), Math.floor(bytesAll / pageBytes)),
    version: isKnown ? first?.readUInt32BE(60) : undefined,
    hasGap: wal.isDamaged,
    page,
    close() {
      log.close()
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

function wholePage(bytes: Buffer, pageBytes: number): Buffer | undefined {
  return bytes.length === pageBytes ? bytes : undefined
}

function pageBytesOf(header: Buffer | undefined, usual: number): number {
  if (header?.toString('latin1', 0, magic.length) !== magic) return usual
  const written = header.readUInt16BE(16)
  const bytes = written === 1 ? 65_536 : written
  return isPageSize(bytes) ? bytes : usual
}

/** Exactly so many bytes; `undefined` where the file ends before, or the disk cannot read them. */
function readAt(descriptor: number | undefined, at: number, bytes: number): Buffer | undefined {
  if (descriptor === undefined) return undefined
  try {
    const read = Buffer.alloc(bytes)
    return readSync(descriptor, read, 0, bytes, at) === bytes ? read : undefined
  } catch {
    return undefined
  }
}
