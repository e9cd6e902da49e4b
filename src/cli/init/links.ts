import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageUrl } from '../../edge/program-files.ts'

const packageFolder = fileURLToPath(packageUrl)

/** Packages that collectors and their tests import, or whose types these need. */
const packages = ['viem', 'zod', '@types/node', 'typescript'] as const

/**
 * Links the running package and its libraries into a folder that has none of them, so that tests and an editor find them
 * before anything is installed. Packages that the folder finds already stay.
 *
 * @returns whether the folder finds this package; a package that npx fetched for one command is not linked
 */
export function linkPackages(folder: string): boolean {
  if (found('tidegauge', folder)) return true
  if (/[/\\]_npx[/\\]/.test(packageFolder)) return false
  try {
    link(packageFolder, join(folder, 'node_modules/tidegauge'))
    const { bin } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
    link(join(folder, 'node_modules/tidegauge', String(bin.tidegauge)), join(folder, 'node_modules/.bin/tidegauge'))
    for (const name of packages) {
      const target = found(name, folder) ? undefined : found(name, packageFolder)
      if (target) link(realpathSync(target), join(folder, 'node_modules', name))
    }
    return true
  } catch {
    // Some systems allow no links: npm install does the same.
    return false
  }
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  if (!existsSync(path)) symlinkSync(target, path)
}

/** The folder of a package as seen from another folder; `undefined` when there is none. */
function found(name: string, from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}
