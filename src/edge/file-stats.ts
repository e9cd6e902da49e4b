import { type Stats, statSync } from 'node:fs'

/** Size, times and identity of the file at a path; `undefined` when there is none that can be looked at. */
export function fileStats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
