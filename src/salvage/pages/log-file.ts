import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { LogBytes } from './wal.ts'

/** The log of a database file. Closing it releases no lock: SQLite has none on its log. */
export interface LogFile extends LogBytes {
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
  const found = fstatSync(descriptor)
  if (found.isDirectory()) {
    closeSync(descriptor)
    throw Object.assign(new Error('the log is a folder'), { code: 'EISDIR', path: `${file}-wal` })
  }
  return {
    length: found.size,
    read: (at, bytes) => readPart(descriptor, at, bytes),
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
function readPart(descriptor: number, at: number, bytes: number): Buffer {
  const part = Buffer.allocUnsafe(bytes)
  let read = 0
  try {
    while (read < bytes) {
      const some = readSync(descriptor, part, read, bytes - read, at + read)
      if (some === 0) break
      read += some
    }
  } catch {
    // Keeps what was read before.
  }
  return part.subarray(0, read)
}
