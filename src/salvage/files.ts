import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * How a new file takes the place of a damaged one, so that a crash at any instant loses neither: the new one is made
 * beside it and gets a name that says "whole" and when; then the damaged one is moved aside, its log with it; then the
 * new one is moved in. A start that finds one called "whole" goes on from there.
 */

const wholePart = '.salvaged-'
const asidePart = '.corrupt-'
const parts = ['-wal', '-shm', ''] as const

/** Where a new file is made. It counts for nothing until it is called whole. */
export function freshFile(file: string): string {
  const fresh = `${file}.salvaging`
  for (const part of ['', ...parts]) rmSync(`${fresh}${part}`, { force: true })
  return fresh
}

/** Calls the new file whole. From here on it will be put in place. @returns where the damaged one will lie */
export function callWhole(file: string, at: string): string {
  const fresh = `${file}.salvaging`
  syncPath(fresh)
  renameSync(fresh, `${file}${wholePart}${at}`)
  syncPath(dirname(file))
  return `${file}${asidePart}${at}`
}

/** Moves the damaged file and what belongs to it aside. */
export function moveAside(file: string, aside: string): void {
  for (const part of parts) {
    if (existsSync(`${file}${part}`)) renameSync(`${file}${part}`, free(`${aside}${part}`))
  }
}

/** Moves the whole file in. */
export function moveIn(file: string, at: string): void {
  renameSync(`${file}${wholePart}${at}`, file)
  syncPath(dirname(file))
}

/** Goes on where a crash has ended it. */
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

/** A name for an instant that no file has yet: `20261120T130000Z`. */
export function nameFor(file: string, nowMs: number): string {
  const at = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const isTaken = (name: string) =>
    readdirSync(dirname(file)).some(found => found.startsWith(`${basename(file)}${asidePart}${name}`))
  if (!isTaken(at)) return at
  for (let number = 2; ; number += 1) if (!isTaken(`${at}.${number}`)) return `${at}.${number}`
}

/** Changes whenever somebody writes to the file or its log. */
export function stampOf(file: string): string {
  return ['', '-wal']
    .map(part => statSync(`${file}${part}`, { throwIfNoEntry: false }))
    .map(found => `${found?.ino} ${found?.size} ${found?.mtimeMs}`)
    .join(' ')
}

function free(path: string): string {
  if (!existsSync(path)) return path
  for (let number = 2; ; number += 1) if (!existsSync(join(`${path}.${number}`))) return `${path}.${number}`
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
