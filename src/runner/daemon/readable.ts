import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readableEntriesMax } from '../limits.ts'

/** Whose code runs in a process, and what it may read beside packages. */
export interface Readable {
  /** Folder of the collector's file; absent for a package or a collector that comes with the daemon. */
  readonly folder: string | undefined
  readonly configFile: string
  /** Files and folders that the options declare. */
  readonly declared: readonly string[]
  /** Whether the code came with the daemon: what it declares is given as it is. */
  readonly isShipped: boolean
  /** What no collector may read, and what is below it: the configuration, files of secrets, the data. */
  readonly hidden: readonly string[]
}

const packageRoot = fileURLToPath(new URL('../../../', import.meta.url))
const own = ['src', 'collectors', 'package.json'].map(name => join(packageRoot, name))

/**
 * Files and folders that a process may read, as Node's permissions take them: a folder with all that is below it. The
 * collector's own folder is looked through, since permissions know no exceptions: what is hidden, what begins with a dot,
 * other configurations beside the one in force, and links that lead elsewhere are left out.
 */
export async function readablePaths(readable: Readable): Promise<string[]> {
  const { folder, configFile, declared, isShipped, hidden } = readable
  const from = folder ?? dirname(configFile)
  const walk = new FolderWalk(await withReal(hidden), await real(dirname(configFile)))
  const packages = await Promise.all(
    [...packageFolders(packageRoot), ...packageFolders(from)].map(one => walk.packages(one)),
  )
  const beside = folder === undefined ? [] : await walk.below(folder)
  const given = isShipped ? [await withReal(declared)] : await Promise.all(declared.map(path => walk.declared(path)))
  const paths = [...own, ...packages.flat(), ...beside, ...given.flat()]
  // A star is a wildcard there, and a file's name need not mean one; of the root alone it is the only spelling.
  return [...new Set(paths)].filter(path => !path.includes('*')).map(path => (path === '/' ? '*' : path))
}

/** Whether a path is one that no collector may read, by its name or where it leads. */
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

/** Without links; as it is when there is no such thing. */
async function real(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** One look through folders, up to a number of entries: what is beyond is not readable. */
class FolderWalk {
  readonly #hidden: readonly string[]
  readonly #configFolder: string
  #left = readableEntriesMax

  constructor(hidden: readonly string[], configFolder: string) {
    this.#hidden = hidden
    this.#configFolder = configFolder
  }

  /** A folder under the name it was given, and under its own where a link leads there: modules are loaded by that. */
  async below(folder: string): Promise<string[]> {
    const target = await real(folder)
    const { paths } = await this.#look(target, target)
    return [...paths, ...paths.filter(path => isAt(path, target)).map(path => join(folder, path.slice(target.length)))]
  }

  /** What an option declares; of a folder that holds something hidden, the rest. */
  async declared(path: string): Promise<string[]> {
    const names = await withReal([path])
    if (names.some(name => this.#isHidden(name))) return []
    return names.some(name => this.#holdsHidden(name)) ? this.below(path) : names
  }

  /** A folder of packages, with those that are linked into it from elsewhere. */
  async packages(folder: string): Promise<string[]> {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) return []
    const links = [...(await linksIn(folder)), ...(await Promise.all((await scopesIn(folder)).map(linksIn))).flat()]
    const targets = [...new Set(await Promise.all(links.map(real)))].filter(target => !isAt(target, folder))
    const linked = targets.map(async target => (this.#holdsHidden(target) ? this.below(target) : [target]))
    return [...(await withReal([folder])), ...(await Promise.all(linked)).flat()]
  }

  /** What of a folder may be read; one path where that is all of it. */
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
    const isConfiguration = dirname(path) === this.#configFolder && /\.ya?ml$/i.test(name)
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
