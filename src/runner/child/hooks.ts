import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { packageUrl, programUrl, sharedLibrary } from '../../edge/program-files.ts'

/** The daemon's own package: `tidegauge`, `viem` and `zod` of a collector resolve from there. */
const daemonUrl = new URL('package.json', packageUrl).href

/** Packages a collector gets from the daemon, wherever its file lies. */
const given = /^(tidegauge|viem|zod)(\/|$)/

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
 */
export function registerCollectorHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(packageScheme)) {
        const query = new URLSearchParams(specifier.slice(packageScheme.length))
        return next(query.get('name') ?? '', { ...context, parentURL: query.get('from') ?? daemonUrl })
      }
      if (!given.test(specifier)) return next(specifier, context)
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
