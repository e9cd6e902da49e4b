import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** The rules of ARCHITECTURE.md, read off the sources. */

const root = fileURLToPath(new URL('..', import.meta.url))

interface Source {
  /** Relative to the root, with forward slashes. */
  readonly file: string
  readonly text: string
  /** What it imports: paths relative to the root for own files, package names for the rest; types marked. */
  readonly imports: readonly { readonly target: string; readonly isType: boolean }[]
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
}

const importPattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

function read(file: string): Source {
  const text = readFileSync(join(root, file), 'utf8')
  const imports = [...text.matchAll(importPattern)].map(([, type, from, dynamic]) => {
    const specifier = from ?? dynamic ?? ''
    const target = specifier.startsWith('.')
      ? relative(root, resolve(root, dirname(file), specifier))
      : packageOf(specifier)
    return { target, isType: type !== undefined }
  })
  return { file, text, imports }
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

const sources = filesBelow('src').map(read)
const collectors = filesBelow('collectors').map(read)
const tests = filesBelow('test').map(read)
const all = [...sources, ...collectors, ...tests]

/** Folders of src each may import from, itself not named. cli may import from all. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  edge: ['model'],
  model: [],
  sqlite: ['model'],
  telemetry: ['model'],
  config: ['model', 'edge'],
  chain: ['model', 'edge'],
  salvage: ['model', 'sqlite'],
  outbox: ['model', 'edge', 'sqlite', 'salvage'],
  runner: ['model', 'edge', 'config', 'chain'],
  intake: ['model', 'edge', 'config', 'outbox', 'runner', 'chain', 'telemetry'],
  delivery: ['model', 'edge', 'config', 'outbox', 'telemetry'],
  status: ['model', 'edge', 'config', 'outbox'],
  reference: ['model', 'edge', 'sqlite'],
  app: [
    'model',
    'edge',
    'config',
    'telemetry',
    'chain',
    'salvage',
    'outbox',
    'runner',
    'intake',
    'delivery',
    'status',
    'reference',
  ],
}

/** Folders among the above that are imported for their types alone. */
const typesOnly: Readonly<Record<string, readonly string[]>> = {
  app: ['salvage'],
  intake: ['telemetry', 'chain'],
  delivery: ['telemetry'],
}

/** The one home of each library; zod validates anywhere. */
const homes: Readonly<Record<string, readonly string[]>> = {
  '@noble/hashes': ['src/chain/'],
  'better-sqlite3': ['src/sqlite/'],
  viem: ['src/runner/child/typed/', 'src/collector.ts', 'collectors/'],
  undici: [
    'src/edge/service-client.ts',
    'src/runner/child/http/',
    'src/chain/endpoint/http-wire.ts',
    'src/chain/endpoint/sockets.ts',
  ],
  pino: ['src/telemetry/'],
  'prom-client': ['src/status/'],
  croner: ['src/edge/time.ts'],
  fastify: ['src/edge/web-server.ts'],
  '@fastify/swagger': ['src/reference/'],
  'fastify-type-provider-zod': ['src/reference/'],
  yaml: ['src/config/yaml/'],
  leven: ['src/config/mistakes/'],
  commander: ['src/cli/'],
  'cli-table3': ['src/cli/'],
  jsonpointer: ['collectors/'],
  zod: ['src/', 'collectors/'],
  tidegauge: ['collectors/'],
}

const folderOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '.') : '.')
/** Without comments and the contents of strings. */
const codeOf = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, '')

describe('the house is tidy:', () => {
  it('arrows point down, and the two loops do not know each other', () => {
    const wrong = sources.flatMap(({ file, imports }) => {
      const own = folderOf(file)
      if (own === '.' || own === 'cli') return []
      return imports
        .filter(({ target }) => target.startsWith('src/'))
        .filter(({ target, isType }) => {
          const other = folderOf(target)
          if (other === own || target === 'src/collector.ts') return false
          if (!mayImport[own]?.includes(other)) return true
          return Boolean(typesOnly[own]?.includes(other)) && !isType
        })
        .map(({ target }) => `${file} → ${target}`)
    })
    expect(wrong).toEqual([])
  })

  it('there is no cycle', () => {
    const graph = new Map(
      sources.map(({ file, imports }) => [file, imports.filter(({ isType }) => !isType).map(({ target }) => target)]),
    )
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): string[] => {
      if (path.includes(file)) return [[...path.slice(path.indexOf(file)), file].join(' → ')]
      if (done.has(file)) return []
      const found = (graph.get(file) ?? []).flatMap(target => visit(target, [...path, file]))
      done.add(file)
      return found
    }
    expect([...graph.keys()].flatMap(file => visit(file, []))).toEqual([])
  })

  it('each library has one home', () => {
    const wrong = [...sources, ...collectors].flatMap(({ file, imports }) =>
      imports
        .filter(({ target }) => !target.startsWith('node:') && !existsSync(join(root, target)))
        .filter(({ target }) => !homes[target]?.some(home => file.startsWith(home)))
        .map(({ target }) => `${file} → ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('every import leads somewhere', () => {
    const lost = all.flatMap(({ file, imports }) =>
      imports
        .filter(({ target }) => target.endsWith('.ts') && target.includes('/') && !existsSync(join(root, target)))
        .map(({ target }) => `${file} → ${target}`),
    )
    expect(lost).toEqual([])
  })

  it('time and chance come from one file', () => {
    const forbidden =
      /\bDate\.now\b|\bMath\.random\b|\bsetTimeout\b|\bsetInterval\b|\bAbortSignal\.timeout\b|\bnew Date\(\)|\bperformance\.now\b/
    const wrong = [...sources, ...collectors].filter(
      ({ file, text }) => file !== 'src/edge/time.ts' && forbidden.test(codeOf(text)),
    )
    expect(wrong.map(({ file }) => file)).toEqual([])
  })

  it('tests wait on signals and do not sleep', () => {
    const sleeping = tests.filter(
      ({ file, text }) =>
        /test\.ts$/.test(file) && file !== 'test/tidy.test.ts' && /\bsetTimeout\(|timers\/promises/.test(codeOf(text)),
    )
    expect(sleeping.map(({ file }) => file)).toEqual([])
  })

  it('there is no any, no silenced compiler or linter, and no test that is left out', () => {
    const forbidden = [
      /:\s*any\b|<any>|\bas any\b|any\[\]/,
      /\bas unknown as\b/,
      /@ts-(ignore|nocheck)|biome-ignore/,
      /\b(it|describe|test)\.only\(/,
      /\bTODO\b|\bFIXME\b/,
    ]
    const wrong = all
      .filter(({ file }) => file !== 'test/tidy.test.ts')
      .flatMap(({ file, text }) =>
        forbidden.filter(pattern => pattern.test(codeOf(text))).map(pattern => `${file}: ${pattern}`),
      )
    expect(wrong).toEqual([])
  })

  it('files are small', () => {
    const lines = sources
      .map(({ file, text }) => ({ file, count: text.split('\n').length }))
      .sort((a, b) => a.count - b.count)
    expect(lines.filter(({ count }) => count > 250)).toEqual([])
    expect(lines[Math.floor(lines.length * 0.9)]?.count).toBeLessThanOrEqual(200)
  })

  it('every export of the sources says what it is', () => {
    const silent = sources.flatMap(({ file, text }) =>
      [...text.matchAll(/^(.*)\n(export (?:async )?(?:function|class|const|interface) (\w+))/gm)]
        .filter(([, before]) => !/\*\/\s*$/.test(before ?? ''))
        .map(([, , , name]) => `${file}: ${name}`),
    )
    expect(silent).toEqual([])
  })

  it('words stand for one thing: no data, info, manager, helper, util, handle or process in names', () => {
    const wrong = sources.flatMap(({ file, text }) =>
      [
        ...codeOf(text).matchAll(
          /\b(?:function|class|const|let|interface|type)\s+(\w*(?:[Mm]anager|[Hh]elper|[Uu]tils?\b|[Hh]andle[A-Z]|process[A-Z]|[a-z]Info\b|[a-z]Data\b(?<!revertData|workerData))\w*)/g,
        ),
      ].map(([, name]) => `${file}: ${name}`),
    )
    expect(wrong).toEqual([])
  })
})
