import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../model/fault.ts'

/** A file that a key will be written into. */
export interface KeyFile extends Disposable {
  /** Whole or not at all. Once. */
  write(key: string): void
}

/**
 * Makes sure that a key can be written into a file, readable by its owner alone (0600); folders that are missing are made.
 * What is not written until it is disposed of leaves nothing behind.
 *
 * @param replaces also a file that is there already
 * @throws Fault `usage` where it cannot
 */
export function keyFile(file: string, replaces: boolean): KeyFile {
  if (!replaces && existsSync(file)) throw taken(file)
  const fresh = `${file}.${process.pid}`
  const descriptor = attempt(file, () => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    return openSync(fresh, 'wx', 0o600)
  })
  return {
    write(key) {
      attempt(file, () => {
        writeSync(descriptor, `${key}\n`)
        fsyncSync(descriptor)
        // A link is refused where somebody was faster; a rename would replace it.
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
  return new Fault('usage', `${file} is there already`, {
    fix: 'name another file, or replace it with --force: the key in it is lost then',
  })
}

function attempt<T>(file: string, act: () => T): T {
  try {
    return act()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    // It may also be said of a folder on the way that is a file.
    if (code === 'EEXIST' && existsSync(file)) throw taken(file)
    throw new Fault('usage', `the key cannot be written into ${file} (${code})`, {
      fix: 'name a file in a folder that this user may write',
      cause,
    })
  }
}
