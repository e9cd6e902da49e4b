import { accessSync, constants, globSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, resolve, sep } from 'node:path'
import { isRecord } from '../model/json.ts'
import {
  allCollectors,
  type Config,
  type ConfigSecret,
  configSecrets,
  type Include,
  type SecretRef,
  secretsWritten,
} from './config.ts'
import { path as pathForm } from './fields.ts'
import { type Mistake, type Place, type PlacedMistake, shortest } from './mistakes.ts'

/** Files that one configuration includes. */
const includedFilesMax = 1_000

/** Entries of `include` with the files that they match now, and the mistakes in them. */
interface Expanded {
  readonly includes: readonly Include[]
  readonly mistakes: readonly PlacedMistake[]
}

/**
 * Looks up the files of a configuration's `include`, in the order of its entries and by path within one. A file that is
 * matched again, also through a link, counts once.
 *
 * @param patterns the value of `include`; entries that are not paths are left to the schema
 */
export function expandIncludes(file: string, patterns: unknown, placeOf: (index: number) => Place): Expanded {
  const filesSeen = new Set([realOf(file)])
  const mistakes: PlacedMistake[] = []
  const includes = (Array.isArray(patterns) ? patterns : []).flatMap((entry: unknown, index): Include[] => {
    const path = isRecord(entry) ? entry['path'] : entry
    if (typeof path !== 'string' || !pathForm(path).ok) return []
    const [pattern, place] = [resolve(dirname(file), path), placeOf(index)]
    const matches = matchesOf(pattern)
    const wrong = mistakeOf(pattern, matches, file) ?? tooMany(filesSeen.size - 1 + matches.length)
    if (wrong) mistakes.push({ place, ...wrong, message: `include[${index}]: ${wrong.message}` })
    const files = wrong ? [] : matches.filter(one => !filesSeen.has(realOf(one)) && filesSeen.add(realOf(one)))
    return [{ pattern, files, place, ...grantedBy(entry, file) }]
  })
  return { includes, mistakes }
}

/** The secrets that an entry names. A name may be that of a variable, or of a file in this folder. */
function grantedBy(entry: unknown, file: string): Pick<Include, 'secrets'> {
  const written = isRecord(entry) ? entry['secrets'] : undefined
  if (!Array.isArray(written)) return {}
  const names = written.filter(name => typeof name === 'string')
  return { secrets: names.flatMap(name => [name, realOf(resolve(dirname(file), name))]) }
}

/**
 * Mistakes of included files that use secrets which the main file does not grant them: who may write such a file could
 * send any secret anywhere.
 */
export function ungrantedSecrets(config: Config): PlacedMistake[] {
  const uses = secretUses(config)
  return uses.flatMap(({ ref, place, what: subject }): PlacedMistake[] => {
    const reason = refusal(config, place.file, ref, uses)
    if (reason === undefined) return []
    const shown = ref.kind === 'env' ? ref.name : shortest(ref.path)
    const fix = `use another, or grant it in the main file: include: [{ path: …, secrets: [${shown}] }]`
    return [{ place, message: `${subject}: ${shown} ${reason}`, fix }]
  })
}

/** Variables of Node, PostgreSQL, OpenTelemetry and proxies: they may hold a secret of the operator that the main file does not name. */
const ofMachine = /^(OTEL|NODE|PG)_|_PROXY$/i

/** Why a file may not use a secret; `undefined` where it may, as the main file may use any. */
function refusal(config: Config, file: string, ref: SecretRef, uses: readonly SecretUse[]): string | undefined {
  const entry = config.includes.find(({ files }) => files.includes(file))
  if (!entry) return undefined
  const name = grantName(ref)
  if (entry.secrets)
    return entry.secrets.includes(name) ? undefined : 'is not among the secrets of its entry of include'
  const other = uses.find(use => use.place.file !== file && grantName(use.ref) === name)?.place.file
  if (other === config.file) return 'is a secret of the main file'
  if (other !== undefined) return `is a secret of ${shortest(other)}`
  if (ref.kind === 'env')
    return ofMachine.test(name) ? 'is a variable of Node, PostgreSQL, OpenTelemetry or a proxy' : undefined
  return mayOpen(config, file, ref.path) ? undefined : `is not below the folder of ${shortest(file)}`
}

/**
 * Whether the options of a file's collectors may name a path: the main file's may name any, an included one's those below
 * its own folder, and those that its entry of `include` names.
 */
export function mayOpen({ includes }: Pick<Config, 'includes'>, file: string, path: string): boolean {
  const entry = includes.find(({ files }) => files.includes(file))
  const name = realOf(path)
  return !entry || name.startsWith(`${realOf(dirname(file))}${sep}`) || entry.secrets?.includes(name) === true
}

const grantName = (ref: SecretRef) => (ref.kind === 'env' ? ref.name : realOf(ref.path))

type SecretUse = Pick<ConfigSecret, 'ref' | 'place' | 'what'>

/** All secrets that the files of a configuration name. */
function secretUses(config: Config): readonly SecretUse[] {
  const options = allCollectors(config).flatMap(({ id, options: written, place, placeOf }) =>
    secretsWritten(written, place.file).map(({ ref, path }) => ({ ref, place: placeOf(path), what: id })),
  )
  return [...configSecrets(config), ...options]
}

const leftOut = { exclude: (path: string) => basename(path) === 'node_modules' }

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Paths of the files that a pattern matches, in order: not folders, and not what has a leading dot. */
export function matchesOf(pattern: string): string[] {
  if (!isGlob(pattern)) return [pattern]
  return globSync(pattern, leftOut)
    .filter(one => !isFolder(one))
    .sort()
}

/** Whether a pattern may match several files. A name with special characters that exists is meant literally. */
function isGlob(pattern: string): boolean {
  return /[*?[\]{}]/.test(pattern) && !statSync(pattern, { throwIfNoEntry: false })
}

function mistakeOf(pattern: string, matches: readonly string[], file: string): Mistake | undefined {
  const folder = fixedFolderOf(pattern)
  if (!isFolder(folder)) {
    return {
      message: `there is no folder ${shortest(folder)}`,
      fix: 'a path is relative to this file; make the folder',
    }
  }
  const lost = matches.find(one => !statSync(one, { throwIfNoEntry: false }))
  if (lost !== undefined) {
    return { message: `there is no file ${shortest(lost)}`, fix: 'a path is relative to this file; make the file' }
  }
  if (isGlob(pattern)) return isReadable(folder) ? undefined : unreadable(folder)
  if (isFolder(pattern)) {
    const fix = `write ${shortest(pattern)}/*.yaml for the files in it`
    return { message: `${shortest(pattern)} is a folder`, fix }
  }
  return realOf(pattern) === realOf(file) ? { message: 'a file cannot include itself', fix: 'remove it' } : undefined
}

function isReadable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function unreadable(folder: string): Mistake {
  return {
    message: `the folder ${shortest(folder)} may not be read`,
    fix: 'let the user of this process read it, and look into it',
  }
}

function tooMany(files: number): Mistake | undefined {
  if (files <= includedFilesMax) return undefined
  return { message: `matches more than ${includedFilesMax} files`, fix: 'is it the right pattern?' }
}

/** The last folder of a pattern before its first wildcard. */
function fixedFolderOf(pattern: string): string {
  const folder = dirname(pattern)
  return isGlob(folder) ? fixedFolderOf(folder) : folder
}

/** Folders in which a file could appear that a pattern matches, and the folders above these up to its first wildcard. */
export function foldersOf({ pattern }: Pick<Include, 'pattern'>): string[] {
  const folder = dirname(pattern)
  if (!isGlob(folder)) return [folder]
  const folders = globSync(folder, leftOut).filter(one => isFolder(one) && basename(one) !== 'node_modules')
  return [...new Set([...foldersOf({ pattern: folder }), ...folders])]
}

/** The files of a configuration, in the order in which they are read. */
export function configFiles({ file, includes }: Pick<Config, 'file' | 'includes'>): string[] {
  return [file, ...includes.flatMap(({ files }) => files)]
}

function realOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** Files and folders that no collector may read: the configuration, secret files, and the data. */
export function hiddenPaths(config: Config): string[] {
  const { data, service } = config
  // The embedded service's folder lies in that of a real service, which may have been used before.
  const folders =
    data.kind === 'postgres' ? [data.keptIn] : [service.kind === 'embedded' ? dirname(data.folder) : data.folder]
  return [...configFiles(config), ...folders, ...secretFiles(config)]
}

/** The files that secrets are kept in. */
export function secretFiles(config: Config): string[] {
  const options = allCollectors(config).flatMap(({ options: written, place }) => secretsWritten(written, place.file))
  return [...configSecrets(config), ...options].flatMap(({ ref }) => (ref.kind === 'file' ? [ref.path] : []))
}

/** Folders of the files of the configuration: other YAML files there are probably configurations, too. */
export function configFolders(config: Config): string[] {
  return [...new Set(configFiles(config).map(file => dirname(file)))]
}
