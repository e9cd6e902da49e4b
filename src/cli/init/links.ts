import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolders } from '../../edge/make-folders.ts'
import { packageUrl } from '../../edge/program-files.ts'
import { jsonOf, parsedJson, valueAt } from '../../model/json.ts'

const packageFolder = fileURLToPath(packageUrl)

const ownName = 'tidegauge'

/** Packages that the types of collectors need, and that no production install brings. */
const typePackages = ['@types/node', 'typescript'] as const

/** Packages that collectors and their tests import, or whose types these need. */
const packages = ['viem', 'zod', ...typePackages] as const

/**
 * Links the running package and its libraries into a folder that has none of them, so that tests and an editor find them
 * before anything is installed. Packages that the folder finds already stay. A package that npx fetched for one command is
 * not linked.
 *
 * @returns the paths in the folder that were linked
 */
export function linkPackages(folder: string): readonly string[] {
  const links: string[] = []
  if (found(ownName, folder) || /[/\\]_npx[/\\]/.test(packageFolder)) return links
  const link = (target: string, name: string) => {
    const path = join(folder, name)
    if (existsSync(path)) return
    makeFolders(dirname(path))
    symlinkSync(target, path)
    links.push(name)
  }
  try {
    link(packageFolder, 'node_modules/tidegauge')
    const bin = valueAt(jsonOf(readFileSync(join(packageFolder, 'package.json'), 'utf8')), ['bin', 'tidegauge'])
    link(join(folder, 'node_modules/tidegauge', String(bin)), 'node_modules/.bin/tidegauge')
    for (const name of packages) {
      const target = found(name, folder) ? undefined : found(name, packageFolder)
      if (target) link(realpathSync(target), `node_modules/${name}`)
    }
  } catch {
    // Some systems allow no links: npm install does the same.
  }
  return links
}

/**
 * The command that installs what a folder with a `package.json` does not find of this package and the types of collectors;
 * `undefined` when it finds all.
 */
export function installCommand(folder: string): string | undefined {
  const isMissing = (name: string) => found(name, folder) === undefined
  if (![ownName, ...typePackages].some(isMissing)) return undefined
  const manifest = parsedJson(readFileSync(join(folder, 'package.json'), 'utf8'))
  const isNamed = (name: string) =>
    ['dependencies', 'devDependencies'].some(kind => valueAt(manifest, [kind, name]) !== undefined)
  const isUnnamed = (name: string) => isMissing(name) && !isNamed(name)
  const types = typePackages.filter(isUnnamed)
  const commands = [
    ...(isUnnamed(ownName) ? [`npm install ${ownName}`] : []),
    ...(types.length > 0 ? [`npm install --save-dev ${types.join(' ')}`] : []),
  ]
  return commands.length > 0 ? commands.join(' && ') : 'npm install'
}

/** The folder of a package as seen from another folder; `undefined` when there is none. */
function found(name: string, from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}
