import { statSync } from 'node:fs'

/**
 * Identity of the file at a path: a text that differs when the file was replaced; `undefined` when there is no readable
 * file.
 */
export function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found && `${found.dev} ${found.ino}`
  } catch {
    return undefined
  }
}
