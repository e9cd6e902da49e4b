import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { LogBytes } from './wal.ts'

/** The log beside a database file. Closing it frees no lock: SQLite has none on its log. */
export interface LogFile extends LogBytes {
  close(): void
}

/**
 * Opens the log of a database; one without a byte where there is none.
 *
 * @throws what the file system throws, also for a folder in its place
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

/** What can be read of a part; nothing of one that the disk fails to read. */
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
    // What was read before counts.
  }
  return part.subarray(0, read)
}
