import {
  type Dirent,
  existsSync,
  globSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { lstat, opendir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { meant } from '../../config/mistakes.ts'
import { hasOwnLibraries, packageUrl, programParts, sharedLibraries } from '../../edge/program-files.ts'
import { Fault } from '../../model/fault.ts'
import { isRecord, parsedJson } from '../../model/json.ts'
import type { CollectorRef } from '../messages.ts'
import { originOf } from '../origin.ts'

/** Collectors that share a process: code of one origin that may read the same files. */
export interface ProcessGroup extends Omit<Readable, 'hiddenRoots' | 'configFolders'> {
  /** Equal for equal groups. */
  readonly key: string
  /** See `foreignCode`. */
  readonly code: string | undefined
}

/** Equal for collectors of foreign code that a process may run together; `undefined` for shipped ones, which keep nothing of each other. */
export function foreignCode(ref: Pick<CollectorRef, 'use' | 'configFile'>): string | undefined {
  const origin = originOf(ref)
  return origin.kind === 'shipped' ? undefined : JSON.stringify([origin, ref.configFile])
}

/** The group of a collector whose options declare these paths. */
export function groupOf(ref: Pick<CollectorRef, 'use' | 'configFile'>, paths: readonly string[]): ProcessGroup {
  const origin = originOf(ref)
  const { configFile } = ref
  const namedFile = origin.kind === 'file' ? origin.file : undefined
  const file = namedFile && realOf(namedFile)
  const isShipped = origin.kind === 'shipped'
  // Permissions are set at the start: another file behind the link, or another import, needs another process.
  const importedPaths = file === undefined ? [] : importedFiles(file)
  // A shipped collector reads nothing next to the file that uses it: those of all files share a process.
  const code = foreignCode(ref)
  const key = JSON.stringify([code, [...paths].sort(), importedPaths])
  const packageName = origin.kind === 'package' ? origin.name : undefined
  return { key, code, file, namedFile, packageName, configFile, declaredPaths: paths, isShipped }
}

/**
 * Checks that there is a collector's file, and that no link leads out of its folder and the configuration's: a
 * Kubernetes ConfigMap is made of links within one folder.
 *
 * @throws Fault `collector-unusable`
 */
export function requireFile({ use, configFile }: Pick<CollectorRef, 'use' | 'configFile'>): void {
  const origin = originOf({ use, configFile })
  if (origin.kind !== 'file') return
  const { file } = origin
  const fileStatus = lookedAt(file)
  if (fileStatus?.isFile()) {
    // An error of what is no code shows its first words, which may be a secret.
    if (!/\.[cm]?[jt]s$/.test(realOf(file)))
      throw unusable(`${file} is not a file of JavaScript or TypeScript`, { fix: 'name one that ends with .ts or .js' })
    const roots = [dirname(file), dirname(configFile)].map(realOf)
    if (roots.some(root => isAt(realOf(file), root))) return
    throw unusable(`${file} is a link to ${realOf(file)}, which is outside of its folder and of the configuration's`, {
      fix: `name that path in \`use\`, or put the file itself there`,
    })
  }
  if (!fileStatus && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw unusable(`${file} is a link to ${readlinkSync(file)}, and there is no such file`, { fix: 'mend the link' })
  }
  const near = ['.ts', '.js', '.mjs', '/index.ts', '/index.js'].find(end => lookedAt(file + end)?.isFile())
  const likely = near === undefined ? likelyPath(use, file) : `${use}${near}`
  const fix = likely === undefined ? 'a path is relative to the configuration file' : `did you mean ${likely}?`
  throw unusable(`there is no file ${file}`, { fix })
}

/** The path of a file with a similar name in the folder of a missing one. */
function likelyPath(use: string, file: string): string | undefined {
  try {
    const near = meant(basename(file), readdirSync(dirname(file)))
    return near && `${use.slice(0, use.length - basename(use).length)}${near}`
  } catch {
    return undefined
  }
}

const unusable = (message: string, { fix }: { readonly fix: string }) =>
  new Fault('collector-unusable', message, { fix })

/** Status of a file; one that cannot be looked at counts as missing. */
function lookedAt(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Entries read in the folders of one collector; it cannot read further ones. */
const readableEntriesMax = 5_000

/** The same of a folder of packages. */
const packageEntriesMax = 200_000

/** Origin of the code that runs in a process, and what it may read apart from packages. */
interface Readable {
  /** The collector's file, without links; absent for a package or a shipped collector. */
  readonly file: string | undefined
  /** The same as the configuration names it. */
  readonly namedFile: string | undefined
  /** Name of the package with the collector; absent for a file or a shipped collector. */
  readonly packageName: string | undefined
  /** Path of the configuration file. */
  readonly configFile: string
  /** Files and folders that the options declare. */
  readonly declaredPaths: readonly string[]
  /** Whether the code was shipped with the daemon: its declarations are trusted. */
  readonly isShipped: boolean
  /** Paths no collector may read, with all below them: the configuration, files of secrets, the data. */
  readonly hiddenRoots: readonly string[]
  /** Folders whose YAML files are hidden, too: those of the files of the configuration. */
  readonly configFolders: readonly string[]
}

/** Permissions of a process. */
interface Permitted {
  /** Files and folders, in the form of Node's permissions: a folder includes all below it. */
  readonly reads: readonly string[]
  /**
   * Targets of links that the process must not follow itself: those of packages, by `…/node_modules/NAME`, and of the
   * collector's file. A permission for a link to a folder would include all below its target.
   */
  readonly links: Readonly<Record<string, string>>
}

/** Folders in which the system shows other processes and devices. */
const systemFolders = ['/proc', '/sys', '/dev']

/** Files there that tell about the machine alone. */
const machineFile = /^\/proc\/(cpuinfo|diskstats|loadavg|meminfo|stat|swaps|uptime|vmstat)$/

/** Whether a path leads to where other processes or devices can be read. */
export function isOfSystem(path: string): boolean {
  return !machineFile.test(path) && systemFolders.some(folder => isAt(path, folder) || isAt(realOf(path), folder))
}

const packageRoot = fileURLToPath(packageUrl)
const own = programParts.map(name => join(packageRoot, name))

/**
 * Walks of folders of packages under way, by folder and rules. Processes that start together need the same: a walk for
 * each would take the memory of all entries times their number.
 */
export type PackageWalks = Map<string, Promise<Walks>>

/**
 * Files and folders a process may read. Node's permissions judge a path by its name, follow links, and have no
 * exceptions. So every folder is walked: hidden paths and links that lead out of it are left out.
 *
 * @param underWay shared by the processes of a runner. Default: they share nothing
 */
export async function readablePaths(readable: Readable, underWay: PackageWalks = new Map()): Promise<Permitted> {
  const { file, namedFile, packageName, configFile, declaredPaths, isShipped, hiddenRoots, configFolders } = readable
  if (isShipped) return { reads: permitted([...shippedReads(), ...(await withReal(declaredPaths))]), links: {} }
  const configurations = await withReal([dirname(configFile), dirname(realOf(configFile)), ...configFolders])
  const hiddenPaths = [...(await withReal(hiddenRoots)), ...systemFolders]
  const walks = new Walks(hiddenPaths, configurations)
  // The program's own libraries are trusted, as the program is.
  const libraries = ownLibraries()
  for (const folder of packageName === undefined ? packageFolders(dirname(file ?? configFile)) : []) {
    if (libraries.includes(folder)) continue
    const key = JSON.stringify([folder, hiddenPaths, configurations])
    const found = underWay.get(key) ?? walkedPackages(folder, new Walks(hiddenPaths, configurations))
    underWay.set(key, found)
    walks.addAll(await found.finally(() => underWay.delete(key)))
  }
  if (packageName !== undefined) await walks.addPackage(packageName, dirname(configFile))
  if (file !== undefined) await walks.addOwn(file, namedFile ?? file)
  for (const path of declaredPaths) await walks.addDeclared(path)
  return { reads: permitted([...own, ...libraries, ...walks.paths]), links: Object.fromEntries(walks.links) }
}

async function walkedPackages(folder: string, walks: Walks): Promise<Walks> {
  await walks.addPackages(folder)
  return walks
}

/** Files and folders that shipped collectors without declarations read, whatever the configuration: the program. */
function shippedReads(): string[] {
  return permitted([...own, ...ownLibraries()])
}

/** Packages that collectors share with the program: those that are not bundled with it whole. */
function ownLibraries(): string[] {
  const all = [...packageFolders(packageRoot)]
  const shared = Object.keys(sharedLibraries).flatMap(name => all.map(folder => join(folder, name)))
  const folders = (hasOwnLibraries ? shared : all).filter(folder => existsSync(folder))
  // The folder may be a link; modules are loaded by its real path.
  return [...folders, ...folders.map(folder => realpathSync(folder))]
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
    if (basename(folder) !== 'node_modules') yield join(folder, 'node_modules')
    if (folder === dirname(folder)) return
  }
}

/** Whether a path is a folder or lies in it. */
function isAt(path: string, above: string): boolean {
  return path === above || path.startsWith(above.endsWith(sep) ? above : above + sep)
}

async function withReal(paths: readonly string[]): Promise<string[]> {
  return [...new Set([...paths, ...(await Promise.all(paths.map(real)))])]
}

/** The path with links resolved; unchanged when it does not exist. */
async function real(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** As `real`, at once. */
function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Rules for the walk of one folder. */
interface WalkRules {
  /** The folder, without links: what a link in it leads to must lie there. */
  readonly root: string
  /** Whether names with a leading dot are left out. */
  readonly hidesDots: boolean
  /** Whether it has packages: it is one, or a folder of them. */
  readonly isPackages: boolean
  /** Whether packages may be links to elsewhere: in a folder of packages. */
  readonly hasLinks?: boolean
  /** Further paths that are left out. */
  readonly excludedPaths?: ReadonlySet<string>
  /** Entries that may still be read. */
  left: number
}

/** The readable part of a folder. */
interface WalkedPart {
  /** Whether that is all of it, and no link leads out. */
  readonly isWhole: boolean
  /** Whether a link to another folder below the root is in it: a permission for this part would include that one. */
  readonly hasFolderLink: boolean
  readonly paths: readonly string[]
}

const noPart: WalkedPart = { isWhole: false, hasFolderLink: false, paths: [] }

/** Collects what a process may read from the folders that it needs. */
class Walks {
  readonly paths = new Set<string>()
  readonly links = new Map<string, string>()
  readonly #hidden: readonly string[]
  readonly #configFolders: readonly string[]
  readonly #packages = new Set<string>()

  constructor(hiddenPaths: readonly string[], configFolders: readonly string[]) {
    this.#hidden = hiddenPaths
    this.#configFolders = configFolders
  }

  addAll({ paths, links }: Walks): void {
    for (const path of paths) this.paths.add(path)
    for (const [link, target] of links) this.links.set(link, target)
  }

  /** The collector's folder; where a configuration lies in it, its file and what that imports alone. */
  async addOwn(file: string, namedFile: string): Promise<void> {
    if (file !== namedFile) this.links.set(namedFile, file)
    const root = dirname(file)
    if (!this.#configFolders.some(folder => isAt(folder, root))) {
      return this.#add(root, { root, hidesDots: true, isPackages: false, left: readableEntriesMax }, dirname(namedFile))
    }
    const isTaken = (path: string) =>
      /\.([cm]?[jt]s|json|wasm)$/.test(path) &&
      !hasDots(relative(root, path)) &&
      [path, realOf(path)].every(name => isAt(name, root) && !this.#isHidden(name))
    for (const path of importedFiles(file, isTaken)) for (const name of [path, realOf(path)]) this.paths.add(name)
  }

  /** A declared file or folder, under its given name and its real one. */
  async addDeclared(path: string): Promise<void> {
    const root = await real(path)
    if (machineFile.test(path)) this.paths.add(path)
    if (this.#isHidden(path) || this.#isHidden(root)) return
    if ((await stat(root).catch(() => undefined))?.isDirectory()) {
      await this.#add(root, { root, hidesDots: false, isPackages: false, left: readableEntriesMax }, path)
    } else {
      for (const name of [path, root]) this.paths.add(name)
    }
  }

  /** A folder of packages, with those linked into it from elsewhere. */
  async addPackages(folder: string): Promise<void> {
    const root = await real(folder)
    if (this.#packages.has(root) || !(await stat(root).catch(() => undefined))?.isDirectory()) return
    this.#packages.add(root)
    await this.#add(root, { root, hidesDots: false, isPackages: true, hasLinks: true, left: packageEntriesMax }, folder)
  }

  /** A package as seen from a folder, and the packages that it depends on; no others that lie next to them. */
  async addPackage(name: string, from: string): Promise<void> {
    const places = [...packageFolders(from)].map(folder => join(folder, name))
    const place = places.find(path => existsSync(path))
    if (place === undefined || this.#packages.has(place)) return
    this.#packages.add(place)
    const root = await real(place)
    // A link to where packages are installed, as pnpm makes them, needs no care; one to a folder of development does.
    if (isInstalled(root)) {
      await this.#add(root, { root, hidesDots: false, isPackages: true, left: packageEntriesMax }, place)
    } else await this.#addLinked(place, root)
    for (const dependency of dependenciesOf(root)) await this.addPackage(dependency, root)
  }

  async #add(root: string, rules: WalkRules, name: string): Promise<void> {
    const part = await this.#look(root, rules)
    for (const path of part.isWhole ? [root] : part.paths) {
      this.paths.add(path)
      if (isAt(path, root)) this.paths.add(join(name, path.slice(root.length)))
    }
  }

  /** One folder after the other, and one entry after the other: a folder of packages has a hundred thousand of them. */
  async #look(folder: string, rules: WalkRules): Promise<WalkedPart> {
    const entries = this.#isHidden(folder) ? undefined : await opendir(folder).catch(() => undefined)
    if (entries === undefined) return noPart
    const paths: string[] = []
    let [isWhole, hasFolderLink] = [true, false]
    for await (const entry of entries) {
      rules.left -= 1
      const part = await this.#lookAt(join(folder, entry.name), entry, rules)
      isWhole &&= part.isWhole
      hasFolderLink ||= part.hasFolderLink
      paths.push(...part.paths)
      if (rules.left < 0) break
    }
    return { isWhole, hasFolderLink, paths: isWhole && !hasFolderLink ? [folder] : paths }
  }

  #lookAt(path: string, entry: Dirent, rules: WalkRules): WalkedPart | Promise<WalkedPart> {
    if (rules.left < 0 || this.#isLeftOut(path, entry.name, rules)) return noPart
    if (entry.isSymbolicLink()) return this.#linked(path, rules)
    if (entry.isDirectory()) return this.#look(path, rules)
    return { isWhole: true, hasFolderLink: false, paths: [path] }
  }

  async #linked(path: string, rules: WalkRules): Promise<WalkedPart> {
    const target = await real(path)
    const status = await lstat(target).catch(() => undefined)
    if (!status || this.#isHidden(target)) return noPart
    if (isAt(target, rules.root)) {
      return status.isFile()
        ? { isWhole: true, hasFolderLink: false, paths: [path, target] }
        : { isWhole: status.isDirectory(), hasFolderLink: true, paths: [] }
    }
    // A link in a package leads nowhere: it could name any folder, and with it the packages around that.
    if (rules.hasLinks && status.isDirectory() && isPackagePlace(path, rules.root)) await this.#addLinked(path, target)
    return noPart
  }

  /** A package that is linked from elsewhere: its published files, because a folder of development has others, too. */
  async #addLinked(link: string, target: string): Promise<void> {
    this.links.set(link, target)
    if (target === realOf(packageRoot) || this.#packages.has(target)) return
    this.#packages.add(target)
    const { paths, excludedPaths } = isInstalled(target)
      ? { paths: [target], excludedPaths: new Set<string>() }
      : publishedFiles(target)
    const rules = {
      root: target,
      hidesDots: !isInstalled(target),
      isPackages: false,
      left: packageEntriesMax,
      excludedPaths,
    }
    for (const path of paths) {
      const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
      if (!isAt(realOf(path), target) || this.#isHidden(realOf(path)) || excludedPaths.has(path)) continue
      for (const one of isFolder ? (await this.#look(realOf(path), rules)).paths : [path]) this.paths.add(one)
    }
    for (const folder of packageFolders(target)) await this.addPackages(folder)
  }

  #isLeftOut(path: string, name: string, { hidesDots, isPackages, excludedPaths }: WalkRules): boolean {
    const isConfiguration = this.#configFolders.includes(dirname(path)) && /\.ya?ml$/i.test(name)
    const isOther = !isPackages && name === 'node_modules'
    return (
      (hidesDots && name.startsWith('.')) ||
      isConfiguration ||
      isOther ||
      excludedPaths?.has(path) ||
      this.#isHidden(path)
    )
  }

  #isHidden(path: string): boolean {
    return this.#hidden.some(one => isAt(path, one))
  }
}

/** Whether a package's folder is one that a package manager filled. */
const isInstalled = (folder: string) => folder.includes(`${sep}node_modules${sep}`)

const hasDots = (path: string) => path.split(sep).some(name => name.startsWith('.'))

/** Whether a path is `NAME` or `@SCOPE/NAME` in a folder of packages, also in that of a package there. */
function isPackagePlace(path: string, root: string): boolean {
  const inner = relative(root, path).split(`node_modules${sep}`).at(-1) ?? ''
  return /^(@[^/]+\/)?[^@./][^/]*$/.test(inner)
}

/** Files and folders of a package that its `files` names and leaves out; else its entry points and what they import. */
function publishedFiles(folder: string): {
  readonly paths: readonly string[]
  readonly excludedPaths: ReadonlySet<string>
} {
  const manifestFile = join(folder, 'package.json')
  const manifest = manifestOf(manifestFile)
  const files = Array.isArray(manifest['files']) ? manifest['files'].filter(one => typeof one === 'string') : undefined
  if (files) {
    const matches = (pattern: string) =>
      globSync(pattern.replace(/^\.?\//, ''), {
        cwd: folder,
        exclude: path => /^(node_modules|\.git)$/.test(basename(path)),
      }).map(path => resolve(folder, path))
    const excludedPaths = new Set(files.filter(one => one.startsWith('!')).flatMap(one => matches(one.slice(1))))
    return { paths: [manifestFile, ...files.filter(one => !one.startsWith('!')).flatMap(matches)], excludedPaths }
  }
  const entries = textsIn([manifest['main'] ?? 'index.js', manifest['module'], manifest['exports']])
  const isTaken = (path: string) => isAt(path, folder) && !hasDots(relative(folder, path))
  const named = entries.flatMap(entry => importedFiles(resolve(folder, entry), isTaken))
  return { paths: [manifestFile, ...named], excludedPaths: new Set() }
}

/** Names of the packages that a package imports, by its package.json. The program itself is the one that runs. */
function dependenciesOf(folder: string): string[] {
  const manifest = manifestOf(join(folder, 'package.json'))
  const kinds = ['dependencies', 'optionalDependencies'].map(kind => manifest[kind])
  const names = kinds.flatMap(kind => (isRecord(kind) ? Object.keys(kind) : []))
  return names.filter(name => name !== 'tidegauge' && packageName.test(name)).slice(0, dependenciesMax)
}

/** Dependencies of one package that are looked for: each is looked for in all folders above. */
const dependenciesMax = 1_000

/** Form of a package's name, as npm takes it, which is never a path. */
const packageName = /^(@[a-z\d~-][a-z\d._~-]{0,212}\/)?[a-z\d~-][a-z\d._~-]{0,212}$/i

/** The manifest of a package; empty where it cannot be read. */
export function manifestOf(file: string): Readonly<Record<string, unknown>> {
  const manifest = parsedJson(new CodeReader().textOf(file))
  return isRecord(manifest) ? manifest : {}
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Files followed, at most: a collector is small, and each is looked at several times a second. */
const filesMax = 500

/** Bytes of code of one collector that are read, at most. */
const codeBytesMax = 8 * 1_048_576

/** A relative path in quotes: of an import, or of a file that is read from its place; or a `#name` of `imports` in a package.json. */
const namedPath = /(['"`])(\.{1,2}\/[^'"`\n]+|#[^'"`\n]+)\1/g

/**
 * A source file and all that it names by a relative path or by `imports` of its package.json, also files that do not exist yet.
 *
 * @param isTaken whether a file counts and is followed. Default: each
 */
export function importedFiles(file: string, isTaken = (_file: string) => true): readonly string[] {
  const files = new Set([file])
  const code = new CodeReader()
  const importMaps = new ImportMaps()
  for (const sourceFile of files) {
    if (files.size >= filesMax) break
    if (!isCode(sourceFile)) continue
    const folder = dirname(sourceFile)
    for (const [, , written = ''] of code.textOf(sourceFile).matchAll(namedPath)) {
      const paths = written.startsWith('#') ? importMaps.pathsOf(written, folder) : [resolve(folder, written)]
      for (const path of paths) if (isTaken(path)) files.add(path)
    }
  }
  return [...files]
}

/** Meaning of `#names`, by the `imports` of the nearest package.json. */
class ImportMaps {
  readonly #byFolder = new Map<string, ImportMap | undefined>()

  /** The files that a name may stand for, under any condition: none of a package. */
  pathsOf(name: string, folder: string): readonly string[] {
    const { imports = {}, root = '' } = this.#mapOf(folder) ?? {}
    const [key, words = ''] = importKeyOf(name, Object.keys(imports))
    const targets = key === undefined ? [] : textsIn(imports[key]).filter(target => target.startsWith('./'))
    return targets.map(target =>
      resolve(
        root,
        target.replaceAll('*', () => words),
      ),
    )
  }

  #mapOf(folder: string): ImportMap | undefined {
    const known = this.#byFolder.get(folder)
    if (known || this.#byFolder.has(folder)) return known
    const manifestFile = join(folder, 'package.json')
    const isRoot = folder === dirname(folder) || basename(dirname(folder)) === 'node_modules'
    const imports = existsSync(manifestFile) ? (manifestOf(manifestFile)['imports'] ?? {}) : undefined
    const above = imports === undefined && !isRoot ? this.#mapOf(dirname(folder)) : undefined
    const map = isRecord(imports) ? { root: folder, imports } : above
    this.#byFolder.set(folder, map)
    return map
  }
}

interface ImportMap {
  /** Folder of the package.json. */
  readonly root: string
  readonly imports: Readonly<Record<string, unknown>>
}

/** The key of `imports` that a name is of, the longest of those with a star, and what stands for the star. */
function importKeyOf(name: string, keys: readonly string[]): readonly [key?: string, words?: string] {
  if (keys.includes(name)) return [name, '']
  const fits = keys.flatMap((key): [string, string][] => {
    const [before = '', after] = key.split('*')
    const isOne = after !== undefined && name.length >= key.length && name.startsWith(before) && name.endsWith(after)
    return isOne ? [[key, name.slice(before.length, name.length - after.length)]] : []
  })
  return fits.sort(([a], [b]) => b.indexOf('*') - a.indexOf('*'))[0] ?? []
}

/** The texts of a collector's code: its file and what that imports from its folder, and nothing else that it names. */
export function codeTexts(file: string): readonly string[] {
  const folder = dirname(realOf(file))
  const isOwn = (path: string) => isCode(path) && isAt(realOf(path), folder)
  const code = new CodeReader()
  return importedFiles(file, isOwn).map(path => code.textOf(path))
}

const isCode = (file: string) => /\.[cm]?[jt]s$/.test(file)

/** Reads files of code, up to a sum of their sizes: a name in quotes, even in a comment, may be of a device or of a large file. */
class CodeReader {
  #bytesLeft = codeBytesMax

  /** Empty for what is no regular file, cannot be read, or is too much. */
  textOf(file: string): string {
    try {
      const status = statSync(file)
      if (!status.isFile() || status.size > this.#bytesLeft) return ''
      this.#bytesLeft -= status.size
      return readFileSync(file, 'utf8')
    } catch {
      return ''
    }
  }
}
