import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and those above it that are missing. Node's own `recursive` never ends where a file system answers
 * "no such file" for a new folder in an existing one, as `/proc` does.
 *
 * @param mode of the new folders. Default: the system's
 * @throws errors of the file system
 */
export function makeFolders(path: string, mode?: number): void {
  try {
    mkdirSync(path, mode)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error
    makeFolders(dirname(path), mode)
    mkdirSync(path, mode)
  }
}
