import { existsSync, realpathSync } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasOwnLibraries, packageUrl, programParts } from '../../edge/program-files.ts'
import { readableEntriesMax } from './limits.ts'

/** Origin of the code that runs in a process, and what it may read apart from packages. */
export interface Readable {
  /** Folder of the collector's file; absent for a package or a shipped collector. */
  readonly folder: string | undefined
  /** Path of the configuration file. */
  readonly configFile: string
  /** Files and folders that the options declare. */
  readonly declared: readonly string[]
  /** Whether the code was shipped with the daemon: its declarations are trusted. */
  readonly isShipped: boolean
  /** Paths no collector may read, with all below them: the configuration, files of secrets, the data. */
  readonly hidden: readonly string[]
  /** Folders whose YAML files are hidden, too: those of the files of the configuration. */
  readonly configFolders: readonly string[]
}

const packageRoot = fileURLToPath(packageUrl)
const own = programParts.map(name => join(packageRoot, name))

/**
 * Files and folders a process may read, in the form of Node's permissions: a folder includes all below it. Permissions
 * have no exceptions, so the collector's own folder is walked: hidden paths, names with a leading dot, other
 * configurations than the one in force, and links that lead outside are left out.
 */
export async function readablePaths(readable: Readable): Promise<string[]> {
  const { folder, configFile, declared, isShipped, hidden, configFolders } = readable
  if (isShipped) return permitted([...shippedReads(), ...(await withReal(declared))])
  const from = folder ?? dirname(configFile)
  const walk = new FolderWalk(await withReal(hidden), await withReal([dirname(configFile), ...configFolders]))
  const packages = await Promise.all(
    [...packageFolders(packageRoot), ...packageFolders(from)].map(one => walk.packages(one)),
  )
  const neighbours = folder === undefined ? [] : await walk.below(folder)
  const given = await Promise.all(declared.map(path => walk.declared(path)))
  return permitted([...own, ...packages.flat(), ...neighbours, ...given.flat()])
}

/** Files and folders that shipped collectors without declarations read, whatever the configuration: the program. */
export function shippedReads(): string[] {
  const libraries = hasOwnLibraries ? [] : [...packageFolders(packageRoot)].filter(folder => existsSync(folder))
  // The folder may be a link; modules are loaded by its real path.
  return permitted([...own, ...libraries, ...libraries.map(folder => realpathSync(folder))])
}

/** A star is a wildcard in a permission, so file names with one are left out. The root can be written only as a star. */
function permitted(paths: readonly string[]): string[] {
  return [...new Set(paths)].filter(path => !path.includes('*')).map(path => (path === '/' ? '*' : path))
}

/** Whether no collector may read a path, by its name or its target. */
export async function isHidden(path: string, hidden: readonly string[]): Promise<boolean> {
  const [all, names] = [await withReal(hidden), await withReal([path])]
  return names.some(name => all.some(one => isAt(name, one)))
}

function* packageFolders(from: string): Generator<string> {
  for (let folder = from.replace(/(?<=.)\/$/, ''); ; folder = dirname(folder)) {
    yield join(folder, 'node_modules')
    if (folder === dirname(folder)) return
  }
}

const isAt = (path: string, above: string) =>
  path === above || path.startsWith(above.endsWith(sep) ? above : above + sep)

async function withReal(paths: readonly string[]): Promise<string[]> {
  return [...new Set([...paths, ...(await Promise.all(paths.map(real)))])]
}

/** The path with links resolved; unchanged when it does not exist. */
async function real(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** Walks folders up to a number of entries; further ones are not readable. */
class FolderWalk {
  readonly #hidden: readonly string[]
  readonly #configFolders: readonly string[]
  #left = readableEntriesMax

  constructor(hidden: readonly string[], configFolders: readonly string[]) {
    this.#hidden = hidden
    this.#configFolders = configFolders
  }

  /** A folder under its given name and, if a link leads there, under its real one, by which modules are loaded. */
  async below(folder: string): Promise<string[]> {
    const target = await real(folder)
    const { paths } = await this.#look(target, target)
    return [...paths, ...paths.filter(path => isAt(path, target)).map(path => join(folder, path.slice(target.length)))]
  }

  /** A declared path; if the folder contains hidden paths, the rest of it. */
  async declared(path: string): Promise<string[]> {
    const names = await withReal([path])
    if (names.some(name => this.#isHidden(name))) return []
    return names.some(name => this.#holdsHidden(name)) ? this.below(path) : names
  }

  /** A folder of packages, with those linked into it from elsewhere. */
  async packages(folder: string): Promise<string[]> {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) return []
    const links = [...(await linksIn(folder)), ...(await Promise.all((await scopesIn(folder)).map(linksIn))).flat()]
    const targets = [...new Set(await Promise.all(links.map(real)))].filter(target => !isAt(target, folder))
    const linked = targets.map(async target => (this.#holdsHidden(target) ? this.below(target) : [target]))
    return [...(await withReal([folder])), ...(await Promise.all(linked)).flat()]
  }

  /** The readable part of a folder; one path if that is all of it. */
  async #look(folder: string, root: string): Promise<{ readonly whole: boolean; readonly paths: readonly string[] }> {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    const seen = await Promise.all(
      entries.map(async entry => {
        this.#left -= 1
        const path = join(folder, entry.name)
        if (this.#left < 0 || this.#isLeftOut(path, entry.name)) return { whole: false, paths: [] }
        if (entry.isSymbolicLink()) return { whole: false, paths: await this.#linked(path, root) }
        return entry.isDirectory() && entry.name !== 'node_modules'
          ? this.#look(path, root)
          : { whole: true, paths: [path] }
      }),
    )
    const whole = seen.every(one => one.whole) && !this.#isHidden(folder)
    return { whole, paths: whole ? [folder] : seen.flatMap(({ paths }) => paths) }
  }

  async #linked(path: string, root: string): Promise<string[]> {
    const target = await real(path)
    const isFile = (await lstat(target).catch(() => undefined))?.isFile() ?? false
    return isFile && isAt(target, root) && !this.#isHidden(target) ? [path, target] : []
  }

  #isLeftOut(path: string, name: string): boolean {
    const isConfiguration = this.#configFolders.includes(dirname(path)) && /\.ya?ml$/i.test(name)
    return name.startsWith('.') || isConfiguration || this.#isHidden(path)
  }

  #isHidden(path: string): boolean {
    return this.#hidden.some(one => isAt(path, one))
  }

  #holdsHidden(path: string): boolean {
    return this.#hidden.some(one => isAt(one, path) || isAt(path, one))
  }
}

async function linksIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isSymbolicLink()).map(({ name }) => join(folder, name))
}

async function scopesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries
    .filter(entry => entry.isDirectory() && entry.name.startsWith('@'))
    .map(({ name }) => join(folder, name))
}
