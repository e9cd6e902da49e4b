import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** Paths in backticks or at the start of a line, from the root or from `src`; those with a placeholder are left out. */
function pathsIn(markdown: string): string[] {
  const named = /(?:`|^)((?:[a-z]+\/)[\w./-]+)(?:`|(?= ))/gm
  return [...markdown.matchAll(named)].flatMap(([, path]) => path ?? []).filter(isRealPath)
}

const isRealPath = (path: string) => !path.includes('NAME') && (path.endsWith('/') || /\.\w+$/.test(path))

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('every file that %s names exists', file => {
  const paths = pathsIn(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))
  expect(paths.length).toBeGreaterThan(10)
  const isThere = (path: string) => existsSync(new URL(`../${path}`, import.meta.url))
  expect(paths.filter(path => !isThere(path) && !isThere(`src/${path}`))).toEqual([])
})
