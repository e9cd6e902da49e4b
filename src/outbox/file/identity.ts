import { statSync } from 'node:fs'

/** Which file lies at a path: another text when it was replaced; `undefined` when none does, or none that can be seen. */
export function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found && `${found.dev} ${found.ino}`
  } catch {
    return undefined
  }
}
