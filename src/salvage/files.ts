import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * Replaces a damaged file by a new one so that a crash at any instant loses neither. The new file is written next to it
 * and renamed to a name that says "whole" and when; the damaged one and its log are moved aside; the new one is moved
 * in. A start that finds a file named "whole" continues from there.
 */

const wholePart = '.salvaged-'
const asidePart = '.corrupt-'
const parts = ['-wal', '-shm', ''] as const

/** Path where a new file is written. It is ignored until it is named whole. */
export function freshFile(file: string): string {
  const fresh = `${file}.salvaging`
  for (const part of ['', ...parts]) rmSync(`${fresh}${part}`, { force: true })
  return fresh
}

/** Path of a file that is used, and removed, while the new one is written. */
export function workFile(file: string): string {
  return `${file}.salvaging-work`
}

/** Renames the new file to its "whole" name. @returns path that the damaged one will be moved to */
export function callWhole(file: string, at: string): string {
  const fresh = `${file}.salvaging`
  syncPath(fresh)
  renameSync(fresh, `${file}${wholePart}${at}`)
  syncPath(dirname(file))
  return `${file}${asidePart}${at}`
}

/** Moves the damaged file, its log and its index aside. */
export function moveAside(file: string, aside: string): void {
  for (const part of parts) {
    if (existsSync(`${file}${part}`)) renameSync(`${file}${part}`, free(`${aside}${part}`))
  }
}

/** Moves the whole file into place. */
export function moveIn(file: string, at: string): void {
  renameSync(`${file}${wholePart}${at}`, file)
  syncPath(dirname(file))
}

/** Continues a replacement that a crash interrupted. */
export function finishMoves(file: string): void {
  const folder = dirname(file)
  if (!existsSync(folder)) return
  const prefix = `${basename(file)}${wholePart}`
  const whole = readdirSync(folder).filter(name => name.startsWith(prefix) && !/-(wal|shm|journal)$/.test(name))
  for (const name of whole.sort()) {
    const at = name.slice(prefix.length)
    moveAside(file, `${file}${asidePart}${at}`)
    moveIn(file, at)
  }
}

/** A file name for an instant that is not taken yet: `20261120T130000Z`. */
export function nameFor(file: string, nowMs: number): string {
  const at = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const isTaken = (name: string) =>
    readdirSync(dirname(file)).some(found => found.startsWith(`${basename(file)}${asidePart}${name}`))
  if (!isTaken(at)) return at
  for (let number = 2; ; number += 1) if (!isTaken(`${at}.${number}`)) return `${at}.${number}`
}

/** A text that changes when the file or its log is written to. */
export function stampOf(file: string): string {
  return ['', '-wal']
    .map(part => statSync(`${file}${part}`, { throwIfNoEntry: false }))
    .map(found => `${found?.ino} ${found?.size} ${found?.mtimeMs}`)
    .join(' ')
}

function free(path: string): string {
  if (!existsSync(path)) return path
  for (let number = 2; ; number += 1) if (!existsSync(`${path}.${number}`)) return `${path}.${number}`
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
