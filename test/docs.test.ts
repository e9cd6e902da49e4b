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

it('what decides something is where ARCHITECTURE.md says', () => {
  const text = readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\|[^|]+\| `([\w/-]+\.ts)` \| (`[^|]+`) \|$/gm)]
  expect(rows.length).toBeGreaterThan(10)
  const lost = rows.flatMap(([, file = '', names = '']) => {
    const source = readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8')
    const functions = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    return functions.filter(name => !new RegExp(`^(export )?(async )?(function )? *${name}\\(`, 'm').test(source))
  })
  expect(lost).toEqual([])
})
