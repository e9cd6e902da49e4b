import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeFolders } from '../../edge/make-folders.ts'
import { Fault } from '../../model/fault.ts'
import { parsedJson, valueAt } from '../../model/json.ts'
import type { FolderFiles, SourceExtension } from './starter.ts'

/** Paths of files that were written, and of those that were there and were left alone. */
export interface WrittenFiles {
  readonly written: string[]
  /** Relative paths of files that existed. */
  readonly kept: string[]
}

/**
 * Writes files that do not exist yet.
 *
 * @throws Fault `usage` when the folder cannot be written; when it or a folder in it is a file, before anything is written
 */
export function writeFiles(folder: string, files: FolderFiles): WrittenFiles {
  for (const parent of new Set(Object.keys(files).map(name => dirname(join(folder, name))))) demandNoFile(parent)
  const [written, kept]: [string[], string[]] = [[], []]
  for (const [name, text] of Object.entries(files)) (writeNew(join(folder, name), text) ? written : kept).push(name)
  return { written, kept }
}

/** @throws Fault `usage` when a folder, or one above it, is a file */
function demandNoFile(folder: string): void {
  const above = dirname(folder)
  if (above !== folder) demandNoFile(above)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== false) return
  throw new Fault('usage', `${folder} is a file, not a folder`, { fix: 'name another folder, or move the file' })
}

/** @returns false when there is such a file */
function writeNew(path: string, text: string): boolean {
  try {
    makeFolders(dirname(path))
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && existsSync(path)) return false
    throw new Fault('usage', `${path} cannot be written (${codeOf(error)})`, { fix: 'name another folder' })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/**
 * The extension of new collectors: `.ts` where Node takes that for a module, which the nearest `package.json` decides.
 *
 * @param isNew whether a `package.json` of our own is about to be written there
 */
export function extensionIn(folder: string, isNew: boolean): SourceExtension {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const file = join(at, 'package.json')
    if (existsSync(file)) return valueAt(parsedJson(readFileSync(file, 'utf8')), ['type']) === 'module' ? '.ts' : '.mts'
    if (isNew || at === dirname(at)) return '.ts'
  }
}
