import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageUrl } from '../../edge/program-files.ts'

const packageFolder = fileURLToPath(packageUrl)

/** Packages that collectors and their tests import, or whose types these need. */
const packages = ['viem', 'zod', '@types/node', 'typescript'] as const

/** Of these, the ones that no production install brings. */
const editorPackages = ['@types/node', 'typescript'] as const

/** Whether a folder finds this package, and the paths in it that were linked. */
export interface PackageLinks {
  /** Whether the folder finds this package, linked or before. */
  readonly isFound: boolean
  readonly links: readonly string[]
}

/**
 * Links the running package and its libraries into a folder that has none of them, so that tests and an editor find them
 * before anything is installed. Packages that the folder finds already stay. A package that npx fetched for one command is
 * not linked.
 */
export function linkPackages(folder: string): PackageLinks {
  const links: string[] = []
  if (found('tidegauge', folder)) return { isFound: true, links }
  if (/[/\\]_npx[/\\]/.test(packageFolder)) return { isFound: false, links }
  const link = (target: string, name: string) => {
    const path = join(folder, name)
    if (existsSync(path)) return
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(target, path)
    links.push(name)
  }
  try {
    link(packageFolder, 'node_modules/tidegauge')
    const { bin } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
    link(join(folder, 'node_modules/tidegauge', String(bin.tidegauge)), 'node_modules/.bin/tidegauge')
    for (const name of packages) {
      const target = found(name, folder) ? undefined : found(name, packageFolder)
      if (target) link(realpathSync(target), `node_modules/${name}`)
    }
    return { isFound: true, links }
  } catch {
    // Some systems allow no links: npm install does the same.
    return { isFound: false, links }
  }
}

/** The packages that the types of collectors need and a folder does not find, sorted. */
export function missingForTypes(folder: string): readonly string[] {
  return editorPackages.filter(name => found(name, folder) === undefined)
}

/** The folder of a package as seen from another folder; `undefined` when there is none. */
function found(name: string, from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}
