import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { collectors, root, sources } from './sources.ts'

/** Folders of src each may import from, itself not named. cli may import from all. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  edge: ['model'],
  build: ['edge'],
  model: [],
  sqlite: ['model', 'edge'],
  telemetry: ['model'],
  config: ['model', 'edge'],
  chain: ['model', 'edge'],
  salvage: ['model', 'sqlite'],
  devchain: ['model', 'edge', 'chain'],
  outbox: ['model', 'edge', 'sqlite', 'salvage'],
  fleet: ['model', 'edge', 'config', 'outbox', 'telemetry'],
  runner: ['model', 'edge', 'config', 'chain'],
  intake: ['model', 'edge', 'config', 'outbox', 'runner', 'chain', 'telemetry'],
  delivery: ['model', 'edge', 'config', 'outbox', 'telemetry'],
  reports: ['model', 'edge', 'config', 'outbox', 'status', 'telemetry'],
  status: ['model', 'edge', 'config', 'outbox', 'telemetry'],
  reference: ['model', 'edge', 'sqlite'],
  testing: ['model', 'edge', 'config', 'telemetry', 'chain', 'runner', 'app'],
  app: [
    'model',
    'edge',
    'config',
    'telemetry',
    'chain',
    'outbox',
    'fleet',
    'runner',
    'intake',
    'delivery',
    'status',
    'reports',
    'reference',
  ],
}

/** Folders among the above that are imported for their types alone. */
const typesOnly: Readonly<Record<string, readonly string[]>> = {
  fleet: ['telemetry'],
  intake: ['telemetry', 'chain'],
  delivery: ['telemetry'],
  reports: ['telemetry'],
  status: ['telemetry'],
}

/** The one home of each library; zod validates anywhere. */
const homes: Readonly<Record<string, readonly string[]>> = {
  '@noble/hashes': ['src/chain/', 'src/config/'],
  'better-sqlite3': ['src/sqlite/'],
  viem: [
    'src/runner/child/typed-reads.ts',
    'src/runner/child/typed/',
    'src/collector.ts',
    'src/cli/new/',
    'src/cli/explain/',
    'src/devchain/',
    'collectors/',
  ],
  undici: [
    'src/edge/egress.ts',
    'src/edge/http-exchange.ts',
    'src/edge/undici-parts.d.ts',
    'src/runner/child/http.ts',
    'src/runner/child/network.ts',
    'src/chain/endpoint/sockets.ts',
  ],
  'pg-boss': ['src/fleet/'],
  pino: ['src/telemetry/'],
  'prom-client': ['src/status/'],
  croner: ['src/edge/time.ts'],
  fastify: ['src/edge/web-server.ts'],
  'fraction.js': ['collectors/values/fraction.ts'],
  '@fastify/swagger': ['src/reference/'],
  'fastify-type-provider-zod': ['src/reference/'],
  yaml: ['src/config/yaml.ts', 'src/config/despite.ts'],
  leven: ['src/config/mistakes.ts', 'collectors/values/similar-word.ts'],
  commander: ['src/cli/'],
  rolldown: ['src/build/'],
  'get-east-asian-width': ['src/cli/'],
  jsonpointer: ['collectors/'],
  pg: ['src/outbox/postgres/', 'collectors/sql/'],
  zod: ['src/', 'collectors/'],
  tidegauge: ['collectors/'],
}

/** Made in app alone; other rooms know its types. */
const madeInApp: readonly string[] = ['src/edge/service-client.ts']

/** Rooms with one door: the only file of theirs that others may import. */
const doors: Readonly<Record<string, string>> = { salvage: 'src/salvage/salvage.ts' }

/** Rooms that keep data in SQLite; the reference service has its own store. */
const withSqlite: readonly string[] = ['sqlite', 'outbox', 'salvage', 'reference']

/** Files that may lie directly in src: the entries and the face that collectors see. */
const entries: readonly string[] = ['bin.cjs', 'collector.ts', 'testing.ts']

const folderOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '.') : '.')

const arrows = sources.flatMap(({ file, imports }) =>
  imports.filter(({ target }) => target.startsWith('src/')).map(({ target, isType }) => ({ file, target, isType })),
)

/** Imports that lead up, to another loop, or past a door. */
export function wrongArrows(): string[] {
  return arrows
    .filter(({ file, target, isType }) => {
      const [own, other] = [folderOf(file), folderOf(target)]
      if (other === own || target === 'src/collector.ts') return false
      if (doors[other] !== undefined && doors[other] !== target) return true
      if (own === '.' || own === 'cli') return false
      if (madeInApp.includes(target) && own !== 'app' && !isType) return true
      return !mayImport[own]?.includes(other) || (Boolean(typesOnly[own]?.includes(other)) && !isType)
    })
    .map(({ file, target }) => `${file} → ${target}`)
}

/** Imports that know how the outbox is stored: past its contract and the files directly in its folder, or of SQLite. */
export function storeKnowers(): string[] {
  return arrows
    .filter(({ file, target }) => {
      if (file.startsWith('src/outbox/contract/')) return /^src\/outbox\/(sqlite|postgres)\//.test(target)
      if (target.startsWith('src/sqlite/')) return !withSqlite.includes(folderOf(file))
      const isInside = /^src\/outbox\/(?!contract\/).*\//.test(target)
      return isInside && folderOf(file) !== 'outbox'
    })
    .map(({ file, target }) => `${file} → ${target}`)
}

/** Files that import each other, imports of types included. */
export function fileCycles(): string[] {
  return cyclesOf(arrows.map(({ file, target }) => [file, target]))
}

/**
 * Folders that import each other: each folder with the files directly in it, and each with all that is below it among its
 * siblings. An entry in src is a folder of its own.
 */
export function folderCycles(): string[] {
  const between = (nodeOf: (file: string) => string | undefined) =>
    cyclesOf(
      arrows.flatMap(({ file, target }) => {
        const [from, to] = [nodeOf(file), nodeOf(target)]
        return from === undefined || to === undefined || from === to ? [] : [[from, to] as const]
      }),
    )
  const folders = new Set(sources.flatMap(({ file }) => foldersAbove(file)))
  const siblings = [...folders].flatMap(folder =>
    between(file => {
      const [child, ...below] = file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/') : []
      return below.length > 0 ? `${folder}/${child}` : undefined
    }),
  )
  const found = [...between(file => (dirname(file) === 'src' ? file : dirname(file))), ...siblings]
  return [...new Set(found)]
}

function foldersAbove(file: string): string[] {
  const folder = dirname(file)
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)]
}

function cyclesOf(edges: readonly (readonly [from: string, to: string])[]): string[] {
  const graph = Map.groupBy(edges, ([from]) => from)
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [[...path.slice(path.indexOf(node)), node].join(' → ')]
    if (done.has(node)) return []
    const found = (graph.get(node) ?? []).flatMap(([, to]) => visit(to, [...path, node]))
    done.add(node)
    return found
  }
  return [...graph.keys()].flatMap(node => visit(node, []))
}

/** Files directly in src that belong into a room. */
export function looseFiles(): string[] {
  return readdirSync(join(root, 'src'), { withFileTypes: true })
    .filter(entry => entry.isFile() && !entries.includes(entry.name))
    .map(({ name }) => `src/${name}`)
}

/** Imports of libraries outside of their home. */
export function strayLibraries(): string[] {
  return [...sources, ...collectors].flatMap(({ file, imports }) =>
    imports
      .filter(({ target }) => !target.startsWith('node:') && !existsSync(join(root, target)))
      .filter(({ target }) => !homes[target]?.some(home => file.startsWith(home)))
      .map(({ target }) => `${file} → ${target}`),
  )
}
