import { fileStats } from '../../../edge/file-stats.ts'

/**
 * Identity of the file at a path: a text that differs when the file was replaced; `undefined` when there is no readable
 * file.
 */
export function identityOf(path: string): string | undefined {
  const found = fileStats(path)
  return found && `${found.dev} ${found.ino}`
}
