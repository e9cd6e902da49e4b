import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Files followed, at most: a collector is small, and each is looked at several times a second. */
const filesMax = 500

/** A relative path in quotes: of an import, or of a file that is read from its place. */
const relativePath = /(['"`])(\.{1,2}\/[^'"`\n]+)\1/g

/**
 * A source file and all that it names by a relative path, also files that do not exist yet.
 *
 * @param isTaken whether a file counts and is followed. Default: each
 */
export function importedFiles(file: string, isTaken = (_file: string) => true): readonly string[] {
  const found = new Set([file])
  for (const each of found) {
    if (found.size >= filesMax) break
    if (!/\.[cm]?[jt]s$/.test(each)) continue
    for (const [, , written = ''] of textOf(each).matchAll(relativePath)) {
      const path = resolve(dirname(each), written)
      if (isTaken(path)) found.add(path)
    }
  }
  return [...found]
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
