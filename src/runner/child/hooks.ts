import { readFileSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { packageUrl, programUrl, sharedLibrary } from '../../edge/program-files.ts'
import { jsonOf } from '../../model/json.ts'

/** The daemon's own package: `tidegauge`, `viem` and `zod` of a collector resolve from there. */
const daemonUrl = new URL('package.json', packageUrl).href

/** Packages a collector gets from the daemon, wherever its file lies. */
const given = /^(tidegauge|viem|zod)(\/|$)/

const links = new Map<string, string>()

/** The path that the daemon found a link to lead to; unchanged for other paths. */
export function linkTarget(path: string): string {
  return links.get(path) ?? path
}

const packageScheme = 'tidegauge-package:'

/** A specifier that `import()` resolves as an npm package seen from the folder of `fromFile`. */
export function packageSpecifier(name: string, fromFile: string): string {
  return `${packageScheme}${new URLSearchParams({ name, from: pathToFileURL(fromFile).href })}`
}

/**
 * Lets collectors outside this package resolve the daemon's packages. In a `node_modules` folder a package's own
 * dependency comes first, so that a published collector keeps its version. Where that is the daemon's own, its bundle is
 * loaded, so that all have the same instance.
 *
 * TypeScript is an ES module, also below a package.json that says otherwise, as `npm init` writes one: Node would load
 * nothing of it, without an error.
 *
 * @param linksJson targets of links that the process must not follow itself, by their paths, as JSON
 */
export function registerCollectorHooks(linksJson: string): void {
  for (const [link, target] of Object.entries(jsonOf(linksJson) as Record<string, string>)) links.set(link, target)
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(packageScheme)) {
        const query = new URLSearchParams(specifier.slice(packageScheme.length))
        const [name, from] = [query.get('name') ?? '', query.get('from') ?? daemonUrl]
        const { specifier: found, parentURL } = linkedPackage(name, from) ?? { specifier: name, parentURL: from }
        return next(found, { ...context, parentURL })
      }
      if (!given.test(specifier)) {
        const linked = linkedPackage(specifier, context.parentURL)
        return linked ? next(linked.specifier, { ...context, parentURL: linked.parentURL }) : next(specifier, context)
      }
      const fromDaemon = () => next(bundleOf(specifier) ?? specifier, { ...context, parentURL: daemonUrl })
      if (!context.parentURL?.includes('/node_modules/')) return fromDaemon()
      try {
        const found = next(specifier, context)
        const isDaemons = found.url === next(specifier, { ...context, parentURL: daemonUrl }).url
        return isDaemons ? fromDaemon() : found
      } catch {
        return fromDaemon()
      }
    },
    load(url, context, next) {
      const isScript = context.format === 'commonjs-typescript' && /\.ts(\?|$)/.test(url)
      return next(url, isScript ? { ...context, format: 'module-typescript' } : context)
    },
  })
}

/** The daemon's own module for a specifier; absent when it is to be found among packages. */
function bundleOf(specifier: string): string | undefined {
  return specifier === 'tidegauge' ? programUrl('tidegauge').href : sharedLibrary(specifier)?.href
}

/** The part of a package.json that says where a package begins. */
interface LinkedManifest {
  readonly name?: string
  readonly main?: string
  readonly exports?: unknown
}

/** Resolves a package that is linked from elsewhere: from its own folder, by its own name. */
function linkedPackage(specifier: string, parentUrl: string | undefined) {
  const [, name, rest = ''] = /^((?:@[^/]+\/)?[^@./:][^/:]*)(\/.*)?$/.exec(specifier) ?? []
  if (links.size === 0 || name === undefined || !parentUrl?.startsWith('file:')) return undefined
  const target = nearestLink(name, dirname(fileURLToPath(parentUrl)))
  if (target === undefined) return undefined
  const manifest = jsonOf(readFileSync(join(target, 'package.json'), 'utf8')) as LinkedManifest
  const parentURL = pathToFileURL(join(target, 'package.json')).href
  if (manifest.exports !== undefined) return { specifier: `${manifest.name}${rest}`, parentURL }
  const entry = rest === '' ? (manifest.main ?? 'index.js') : rest.slice(1)
  const found = [entry, `${entry}.js`, join(entry, 'index.js')].find(path => isFile(join(target, path)))
  return { specifier: pathToFileURL(join(target, found ?? entry)).href, parentURL }
}

/** Target of the nearest package of that name, if it is a link. */
function nearestLink(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    const target = links.get(path)
    if (target !== undefined || isFile(join(path, 'package.json')) || folder === dirname(folder)) return target
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
