import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Prints the CycloneDX SBOM of the package: what an install brings, and what is bundled in `dist`, which npm counts as needed for
 * development alone. `dist` must have been built.
 */
const root = fileURLToPath(new URL('../..', import.meta.url))

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly type?: string
  readonly purl?: string
  readonly licenses?: readonly unknown[]
  readonly properties?: readonly { readonly name: string }[]
}

interface Bom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

/** Names and versions of the packages in the bundles, as their licences are listed. */
function bundledPackages(): ReadonlySet<string> {
  const texts = globSync('dist/*/LICENSES.txt', { cwd: root }).map(file => readFileSync(`${root}${file}`, 'utf8'))
  if (texts.length === 0) throw new Error('there is no bundle: npm run build')
  const named = texts.flatMap(text => [...text.matchAll(/^(\S+) (\d\S*) \([^)]*\)$/gm)])
  return new Set(named.map(([, name, version]) => `${name}@${version}`))
}

/** In the binary of better-sqlite3: its holes are those of no npm package. */
function sqlite(): Component {
  const header = readFileSync(`${root}node_modules/better-sqlite3/deps/sqlite3/sqlite3.h`, 'utf8')
  const version = /^#define SQLITE_VERSION +"([\d.]+)"/m.exec(header)?.[1] ?? ''
  const ref = `sqlite@${version}`
  const licenses = [{ license: { id: 'blessing' } }]
  return { type: 'library', 'bom-ref': ref, name: 'sqlite', version, purl: `pkg:generic/${ref}`, licenses }
}

const args = ['sbom', '--sbom-format', 'cyclonedx', '--workspaces=false']
const bom = JSON.parse(execFileSync('npm', args, { cwd: root, maxBuffer: 1e8 }).toString()) as Bom
const bundled = bundledPackages()
const isShipped = ({ name, version, properties = [] }: Component) =>
  bundled.has(`${name}@${version}`) || !properties.some(property => property.name === 'cdx:npm:package:development')
// As npm sees the clone, most of it is for development, and a scanner would leave it out.
const asPublished = <C extends Component>({ properties: _, ...component }: C) => component
const library = sqlite()
const components = [...bom.components.filter(isShipped).map(asPublished), library]
const refs = new Set(components.map(component => component['bom-ref']))
const holder = components.find(({ name }) => name === 'better-sqlite3')?.['bom-ref']
const dependencies = bom.dependencies
  .filter(({ ref }) => refs.has(ref) || !bom.components.some(component => component['bom-ref'] === ref))
  .map(({ ref, dependsOn = [] }) => ({
    ref,
    dependsOn: [...dependsOn.filter(each => refs.has(each)), ...(ref === holder ? [library['bom-ref']] : [])],
  }))
const own = asPublished(bom.metadata.component)
// npm takes the name of the clone's folder.
const metadata = { ...bom.metadata, component: { ...own, name: own['bom-ref'].replace(/@[^@]*$/, '') } }
process.stdout.write(`${JSON.stringify({ ...bom, metadata, components, dependencies }, null, 2)}\n`)
