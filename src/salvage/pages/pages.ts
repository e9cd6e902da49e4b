import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { openLog } from './log-file.ts'
import { isPageSize, readWal } from './wal.ts'

const magic = 'SQLite format 3\0'

/** The pages of a database file as last committed, its log included. Nothing is written. */
export interface PageFile {
  /** Usable bytes of a page. */
  readonly usableBytes: number
  /** Number of pages. */
  readonly count: number
  /** Schema version; `undefined` when the first page is not SQLite's. */
  readonly version: number | undefined
  /** Whether the log has a gap, so that it matters which frames are read. */
  readonly hasGap: boolean
  /** A page, counted from 1; `undefined` when it cannot be read. */
  page(number: number): Buffer | undefined
  close(): void
}

/** Frames read of a log with a gap: all whole ones, or only those SQLite reads, which are older. */
export type WalReading = 'all' | 'unbroken'

/** Opens a file that may be missing or damaged in any way. */
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

/** Exactly that many bytes; `undefined` when the file ends before or cannot be read. */
function readAt(descriptor: number | undefined, at: number, bytes: number): Buffer | undefined {
  if (descriptor === undefined) return undefined
  try {
    const read = Buffer.alloc(bytes)
    return readSync(descriptor, read, 0, bytes, at) === bytes ? read : undefined
  } catch {
    return undefined
  }
}
