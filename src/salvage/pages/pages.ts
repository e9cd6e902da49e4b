import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'

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
type WalReading = 'all' | 'unbroken'

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
function readAt(descriptor: number | undefined, offset: number, bytes: number): Buffer | undefined {
  if (descriptor === undefined) return undefined
  try {
    const read = Buffer.alloc(bytes)
    return readSync(descriptor, read, 0, bytes, offset) === bytes ? read : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads a write-ahead log as bytes. SQLite reads it up to the first broken frame and discards the rest; here every
 * whole frame counts. Source: "WAL-mode File Format", sqlite.org/walformat.html.
 */

const headerBytes = 32
const frameHeaderBytes = 24
const magicLittle = 0x377f0682
const magicBig = 0x377f0683
const pageBytesUsual = 4_096

/** One page as written to the log. */
interface Frame {
  /** Page number, counted from 1. */
  readonly page: number
  /** Offset of the page's bytes. */
  readonly at: number
}

/** Content of a log: the frames up to the last whole commit, oldest first. */
export interface Wal {
  /** Size of a page, in bytes. */
  readonly pageBytes: number
  readonly frames: readonly Frame[]
  /** Number of frames SQLite reads: those of whole commits before the first broken frame. */
  readonly unbroken: number
  /** Whether SQLite would miss or misread something: a broken header, or frames after a broken one. */
  readonly isDamaged: boolean
}

type Sums = readonly [number, number]

interface WalHeader {
  readonly pageBytes: number
  readonly isLittle: boolean
  /** `undefined` when the header is broken. */
  readonly salt: string | undefined
  readonly sums: Sums
}

/** Bytes read in parts: a log may be larger than memory, and than one read of Node's. */
interface LogBytes {
  /** Size of the log, in bytes. */
  readonly length: number
  /** Reads up to `bytes` bytes; fewer where the log ends or cannot be read. */
  read(offset: number, bytes: number): Buffer
}

/** Frames read at a time. */
const partFrames = 256

/** Reads a log, damaged or not. */
export function readWal(log: LogBytes): Wal {
  const header = readHeader(log.read(0, headerBytes))
  const { pageBytes } = header
  const frameBytes = frameHeaderBytes + pageBytes
  const count = Math.max(0, Math.floor((log.length - headerBytes) / frameBytes))
  let { salt } = header
  let sumsBefore = header.sums
  const wholeFrames: WholeFrame[] = []
  for (let first = 0; first < count; first += partFrames) {
    const start = headerBytes + first * frameBytes
    const part = log.read(start, Math.min(partFrames, count - first) * frameBytes)
    const view = new DataView(part.buffer, part.byteOffset, part.byteLength)
    for (let offset = 0; offset + frameBytes <= part.length; offset += frameBytes) {
      const frameSalt = part.toString('latin1', offset + 8, offset + 16)
      const checksums: Sums = [view.getInt32(offset + 16), view.getInt32(offset + 20)]
      // Frames of an earlier use of the log, which most of a large one is, need no checksum.
      const isWhole = frameSalt === (salt ?? frameSalt) && isSummedUp(view, offset, header, sumsBefore, checksums)
      // Each checksum continues from the stored one before, so that a broken frame spoils no other.
      sumsBefore = checksums
      if (!isWhole) continue
      salt ??= frameSalt
      const [place, index] = [start + offset + frameHeaderBytes, first + offset / frameBytes]
      wholeFrames.push({ page: view.getUint32(offset), at: place, isCommit: view.getUint32(offset + 4) > 0, index })
    }
  }
  const frames = wholeFrames.slice(0, wholeFrames.findLastIndex(({ isCommit }) => isCommit) + 1)
  const isHeaderLost = header.salt === undefined && log.length > headerBytes
  const gap = isHeaderLost ? 0 : frames.findIndex(({ index }, place) => index !== place)
  const before = gap < 0 ? frames : frames.slice(0, gap)
  const unbroken = before.findLastIndex(({ isCommit }) => isCommit) + 1
  return { pageBytes, frames, unbroken, isDamaged: isHeaderLost || gap >= 0 }
}

interface WholeFrame extends Frame {
  readonly isCommit: boolean
  /** Counted from 0, broken ones included. */
  readonly index: number
}

/** Whether a frame's checksum is right. */
function isSummedUp(
  view: DataView,
  offset: number,
  { pageBytes, isLittle }: WalHeader,
  sumsBefore: Sums,
  checksums: Sums,
): boolean {
  const sums = checksum(view, offset, 8, isLittle, sumsBefore)
  const [first, second] = checksum(view, offset + frameHeaderBytes, pageBytes, isLittle, sums)
  return first === checksums[0] && second === checksums[1]
}

function readHeader(bytes: Buffer): WalHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const emptyHeader: WalHeader = { pageBytes: pageBytesUsual, isLittle: true, salt: undefined, sums: [0, 0] }
  if (bytes.length < headerBytes) return emptyHeader
  const sums: Sums = [view.getInt32(24), view.getInt32(28)]
  const magic = view.getUint32(0)
  const pageBytes = view.getUint32(8)
  if ((magic !== magicLittle && magic !== magicBig) || !isPageSize(pageBytes)) return { ...emptyHeader, sums }
  const isLittle = magic === magicLittle
  const [first, second] = checksum(view, 0, 24, isLittle, [0, 0])
  if (first !== sums[0] || second !== sums[1]) return { ...emptyHeader, sums }
  return { pageBytes, isLittle, salt: bytes.toString('latin1', 16, 24), sums }
}

/** Whether SQLite allows pages of this size. */
function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0
}

function checksum(view: DataView, offset: number, bytes: number, isLittle: boolean, [first, second]: Sums): Sums {
  let [sum, sumOfSums] = [first, second]
  for (let place = offset; place < offset + bytes; place += 8) {
    sum = (sum + view.getInt32(place, isLittle) + sumOfSums) | 0
    sumOfSums = (sumOfSums + view.getInt32(place + 4, isLittle) + sum) | 0
  }
  return [sum, sumOfSums]
}

/** The log of a database file. Closing it releases no lock: SQLite has none on its log. */
interface LogFile extends LogBytes {
  close(): void
}

/**
 * Opens the log of a database; an empty one if there is none.
 *
 * @throws errors of the file system, also for a folder at its path
 */
export function openLog(file: string): LogFile {
  const descriptor = openOrNone(`${file}-wal`)
  if (descriptor === undefined) return { length: 0, read: () => Buffer.alloc(0), close: () => {} }
  const stats = fstatSync(descriptor)
  if (stats.isDirectory()) {
    closeSync(descriptor)
    throw Object.assign(new Error('the log is a folder'), { code: 'EISDIR', path: `${file}-wal` })
  }
  return {
    length: stats.size,
    read: (offset, bytes) => readPart(descriptor, offset, bytes),
    close: () => closeSync(descriptor),
  }
}

function openOrNone(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The readable bytes of a part; none when the disk fails to read it. */
function readPart(descriptor: number, offset: number, bytes: number): Buffer {
  const part = Buffer.allocUnsafe(bytes)
  let bytesRead = 0
  try {
    while (bytesRead < bytes) {
      const some = readSync(descriptor, part, bytesRead, bytes - bytesRead, offset + bytesRead)
      if (some === 0) break
      bytesRead += some
    }
  } catch {
    // Keeps what was read before.
  }
  return part.subarray(0, bytesRead)
}
