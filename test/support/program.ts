import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where a program that tests start is, or why there is none. */
export type ProgramPlace =
  | { readonly kind: 'found'; readonly path: string }
  | { readonly kind: 'missing'; readonly reason: string }

/**
 * A program of the system by its name, on PATH or in one of the folders.
 *
 * @param from the Debian package that has it
 * @throws Error when there is none and `REQUIRE_SERVERS=1` says that there must be
 */
export function findProgram(name: string, from: string, folders: readonly string[] = []): ProgramPlace {
  const path = programOnPath(name, folders)
  if (path !== undefined) return { kind: 'found', path }
  const reason = `there is no ${name}; install Debian's package ${from}`
  if (process.env['REQUIRE_SERVERS'] === '1') throw new Error(reason)
  return { kind: 'missing', reason }
}

/** Path of a program on PATH, or in one of the folders; absent when there is none. */
export function programOnPath(name: string, folders: readonly string[] = []): string | undefined {
  const all = [...(process.env['PATH'] ?? '').split(delimiter), ...folders]
  return all.map(folder => join(folder, name)).find(existsSync)
}

/** Folders of a folder, whole; none where it does not exist. */
export function foldersIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map(name => join(folder, name)) : []
}
