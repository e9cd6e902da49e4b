import { type Stats, statSync } from 'node:fs'

/** Size, times and identity of the file at a path; `undefined` when there is none that can be looked at. */
export function fileStats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether something is at a path; true where this user may not look: only opening it says why. */
export function mayBeThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}
