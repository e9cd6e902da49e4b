import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'

/** Paths in backticks or at the start of a line, from the root or from `src`; those with a placeholder are left out. */
function pathsIn(markdown: string): string[] {
  const named = /(?:`|^)((?:[a-z]+\/)[\w./-]+)(?:`|(?= ))/gm
  return [...markdown.matchAll(named)].flatMap(([, path]) => path ?? []).filter(isRealPath)
}

const decisions = readdirSync(new URL('../docs/decisions/', import.meta.url)).map(name => `docs/decisions/${name}`)

const isRealPath = (path: string) => !path.includes('NAME') && (path.endsWith('/') || /\.\w+$/.test(path))

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', ...decisions])('every file that %s names exists', file => {
  const paths = pathsIn(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))
  if (!file.startsWith('docs/')) expect(paths.length).toBeGreaterThan(10)
  const isThere = (path: string) => existsSync(new URL(`../${path}`, import.meta.url))
  expect(paths.filter(path => !isThere(path) && !isThere(`src/${path}`))).toEqual([])
})

it('a decision has its parts, at most 60 lines, and a line in the index', () => {
  const index = readFileSync(new URL('../docs/decisions/README.md', import.meta.url), 'utf8')
  const pages = decisions.filter(file => !file.endsWith('README.md'))
  expect([...index.matchAll(/\((\d{4}-[\w-]+\.md)\)/g)].map(([, name]) => `docs/decisions/${name}`)).toEqual(
    pages.sort(),
  )
  for (const file of pages) {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    expect(text.split('\n').length, file).toBeLessThanOrEqual(60)
    expect(
      [...text.matchAll(/^\*\*([\w ]+)\.\*\*/gm)].map(([, part]) => part).filter(part => part !== 'Figure'),
      file,
    ).toEqual(['Context', 'Decision', 'Cost', 'Held by'])
  }
})

it('what decides something is where ARCHITECTURE.md says', () => {
  const text = readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8')
  const [table = ''] = /(?<=^\| question .*\n)(?:\|.*\n)+/m.exec(text) ?? []
  const rows = [...table.matchAll(/^\|[^|]+\| `([\w/-]+\.ts)` \| (`[^|]+`) \|$/gm)]
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.length, 'each row names one file').toBe(table.trimEnd().split('\n').length - 1)
  const lost = rows.flatMap(([, file = '', names = '']) => {
    const source = readFileSync(
      new URL(file.startsWith('collectors/') ? `../${file}` : `../src/${file}`, import.meta.url),
      'utf8',
    )
    const named = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    const declaration = (name: string) =>
      new RegExp(`^(export )?(class ${name}\\b|(async )?(function[ *]+)? *(async )?#?${name}[(<])`, 'm')
    return named.filter(name => !declaration(name).test(source))
  })
  expect(lost).toEqual([])
})

it.each(['compose.yaml', 'compose-fleet.yaml', 'monitoring/compose.yaml'])(
  '%s mounts the folder of secrets into each daemon: a file that is mounted alone cannot be replaced by rename',
  file => {
    const { services } = parse(readFileSync(new URL(`../docs/deploy/${file}`, import.meta.url), 'utf8'), {
      merge: true,
    })
    const daemons = Object.values<{ image: string; volumes: string[]; secrets?: unknown }>(services).filter(
      ({ image }) => image === 'tidegauge',
    )
    expect(daemons.length).toBeGreaterThan(0)
    for (const { volumes, secrets } of daemons) {
      expect(secrets).toBeUndefined()
      expect(volumes.filter(each => each.includes('/run/secrets'))).toEqual(['./secrets:/run/secrets:ro'])
    }
  },
)
