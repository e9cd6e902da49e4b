import { statSync } from 'node:fs'

/** Which file lies at a path: another text when it was replaced; `undefined` when none does. */
export function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}
