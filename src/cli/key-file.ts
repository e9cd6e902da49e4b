import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolders } from '../edge/make-folders.ts'
import { Fault } from '../model/fault.ts'

/** A file that a key will be written to. */
export interface KeyFile extends Disposable {
  /** Writes the key, atomically and only once. */
  write(key: string): void
}

/**
 * Checks that a key can be written to a file, readable only by its owner (0600), creating missing folders. Disposing it
 * before `write` leaves nothing behind.
 *
 * @param replaces whether an existing file may be replaced
 * @throws Fault `usage` when it cannot
 */
export function keyFile(file: string, replaces: boolean): KeyFile {
  if (!replaces && existsSync(file)) throw taken(file)
  const fresh = `${file}.${process.pid}`
  const descriptor = attempt(file, () => {
    makeFolders(dirname(file), 0o700)
    return openSync(fresh, 'wx', 0o600)
  })
  return {
    write(key) {
      attempt(file, () => {
        writeSync(descriptor, `${key}\n`)
        fsyncSync(descriptor)
        // A link fails if another process created the file meanwhile; a rename would replace it.
        if (replaces) renameSync(fresh, file)
        else linkSync(fresh, file)
      })
    },
    [Symbol.dispose]() {
      closeSync(descriptor)
      rmSync(fresh, { force: true })
    },
  }
}

function taken(file: string): Fault {
  return new Fault('usage', `${file} already exists`, {
    fix: 'name another file, or replace it with --force: the key in it is lost then',
  })
}

function attempt<T>(file: string, act: () => T): T {
  try {
    return act()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    // The code is also used for a folder on the path that is a file.
    if (code === 'EEXIST' && existsSync(file)) throw taken(file)
    throw new Fault('usage', `the key cannot be written into ${file} (${code})`, {
      fix: 'name a file in a folder that this user may write',
      cause,
    })
  }
}
