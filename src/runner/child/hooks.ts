import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/** The daemon's own package: `tidegauge`, `viem` and `zod` of a collector resolve from there. */
const daemonUrl = new URL('../../../package.json', import.meta.url).href

/** Packages a collector gets from the daemon, wherever its file lies. */
const given = /^(tidegauge|viem|zod)(\/|$)/

const packageScheme = 'tidegauge-package:'

/** A specifier that `import()` resolves as an npm package seen from the folder of `fromFile`. */
export function packageSpecifier(name: string, fromFile: string): string {
  return `${packageScheme}${new URLSearchParams({ name, from: pathToFileURL(fromFile).href })}`
}

/**
 * Lets collectors outside this package resolve the daemon's packages. In a `node_modules` folder a package's own
 * dependency comes first, so that a published collector keeps its version.
 */
export function registerCollectorHooks(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(packageScheme)) {
        const query = new URLSearchParams(specifier.slice(packageScheme.length))
        return next(query.get('name') ?? '', { ...context, parentURL: query.get('from') ?? daemonUrl })
      }
      if (!given.test(specifier)) return next(specifier, context)
      const fromDaemon = () => next(specifier, { ...context, parentURL: daemonUrl })
      if (!context.parentURL?.includes('/node_modules/')) return fromDaemon()
      try {
        return next(specifier, context)
      } catch {
        return fromDaemon()
      }
    },
  })
}
