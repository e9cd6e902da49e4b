/** Preloaded into a process (`--import`): writes the names of the packages it has loaded into a file when it ends. */
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const packages = new Set<string>()

registerHooks({
  load(url, context, next) {
    const path = url.split('/node_modules/').at(-1)
    if (path !== undefined && path !== url) packages.add(/^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path)
    return next(url, context)
  },
})
process.on('exit', () => writeFileSync(process.env['LOADED_PACKAGES'] ?? '', JSON.stringify([...packages])))
