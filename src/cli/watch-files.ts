import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { type CollectorConfig, type Config, ConfigError, type ProtocolConfig } from '../config/config.ts'
import { presentDigest } from '../config/digest.ts'
import { foldersOf, matchesOf } from '../config/include.ts'
import { loadConfig } from '../config/load.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { importedFiles } from '../runner/daemon/sandbox.ts'
import { originOf } from '../runner/origin.ts'
import { reportError } from './exit.ts'
import { Signals } from './signals.ts'
import { counted, note } from './terminal.ts'

/** Interval of looking at the sources of a collector while a person works on it. */
const sourceLookMs = 200

/**
 * Does something now, and again whenever the configuration, a file that it includes, a collector of one's own or what
 * that imports is saved. Errors are reported and do not end it. Resolves after Ctrl-C.
 *
 * @param act aborted by Ctrl-C
 * @throws Fault until it has succeeded once: `usage`, and ConfigError for a file that does not exist. No save mends these
 */
export async function repeatAtSaves(
  configFile: string,
  act: (stopSignal: AbortSignal) => Promise<void>,
): Promise<void> {
  const signals = new Signals('stop')
  let knownFiles: NamingFiles | undefined
  let hasSucceeded = false
  for (;;) {
    knownFiles = namingFiles(configFile, knownFiles)
    let count = 0
    // It looks before it acts, so that no save is missed.
    const watchedFiles = new WatchedFiles(
      knownFiles,
      files => {
        count = files.length
        signals.watch(files, sourceLookMs)
      },
      { isFollowed: () => true },
    )
    try {
      await act(signals.stopSignal)
      hasSucceeded = true
    } catch (error) {
      if (!hasSucceeded && isMistyped(error, configFile)) {
        signals.watch([])
        throw error
      }
      if (!signals.stopSignal.aborted) await reportError(error)
    }
    if (!signals.stopSignal.aborted) note(`\nwatching ${counted(count, 'file')}; Ctrl-C ends`)
    if (!(await hasChanged(signals, watchedFiles))) break
    // An editor that replaces a file removes it for a moment.
    await systemTime.sleep(sourceLookMs / 2)
  }
  signals.watch([])
}

/** Resolves to false when it must stop. */
async function hasChanged(signals: Signals, watched: WatchedFiles): Promise<boolean> {
  for (let asked = await signals.next(); asked !== 'stop'; asked = await signals.next()) {
    if (watched.haveChanged()) return true
  }
  return false
}

/** The files to watch; of a configuration with mistakes, with the collectors of the one before. */
function namingFiles(file: string, previousFiles: NamingFiles | undefined): NamingFiles {
  try {
    return loadConfig(file)
  } catch (error) {
    const includes = error instanceof ConfigError ? error.includes : []
    const drafts: readonly CollectorConfig[] = error instanceof ConfigError ? error.drafts : []
    const own = previousFiles?.protocols ?? []
    return { file, includes, protocols: [...own, ...drafts.map(draft => ({ collectors: [draft] }))] }
  }
}

/** Whether the command line is wrong, and not a file that is being edited. */
function isMistyped(error: unknown, configFile: string): boolean {
  return (error instanceof Fault && error.code === 'usage') || !existsSync(configFile)
}

type NamingFiles = Pick<Config, 'file' | 'includes'> & {
  readonly protocols: readonly Pick<ProtocolConfig, 'collectors'>[]
}

interface WatchedOptions {
  /** Whether a file that a collector names by a relative path counts, too. Default: where it is code. */
  readonly isFollowed?: (file: string) => boolean
  /** Files of secrets: a change of one is no change of the configuration. Default: none. */
  readonly secrets?: readonly string[]
  /** `filesAsRead` of the configuration in force: the first look finds what was saved since. Default: as the files are now. */
  readonly asRead?: string
}

/** An import; other files next to a collector are data, which may be written often. */
const isCode = (file: string) => /\.[cm]?[jt]s$/.test(file)

/**
 * Files that trigger a reload: the configuration, what it includes, and one's own collectors with what they import; and
 * the folders in which a further file to include could appear. Also files of secrets.
 */
export class WatchedFiles {
  readonly #inForce: NamingFiles
  readonly #watch: (files: readonly string[]) => void
  readonly #options: WatchedOptions
  #refused: NamingFiles | undefined
  #seen = ''
  #seenSecrets = ''

  /** @param watch watches these files and folders, and no longer those of the last call */
  constructor(inForce: NamingFiles, watch: (files: readonly string[]) => void, options: WatchedOptions = {}) {
    this.#inForce = inForce
    this.#options = options
    this.#watch = watch
    this.haveChanged()
    if (options.asRead !== undefined) this.#seen = options.asRead
    this.haveSecretsChanged()
  }

  /** Whether a file has changed, appeared or vanished since the last look. */
  haveChanged(): boolean {
    const configs = [this.#inForce, ...(this.#refused ? [this.#refused] : [])]
    const { isFollowed = isCode, secrets = [] } = this.#options
    const [files, sources] = [configs.map(filesNow), configs.map(config => sourcesOf(config, isFollowed))]
    const folders = configs.flatMap(({ includes }) => includes.flatMap(foldersOf))
    this.#watch([...new Set([...files, ...sources].flat()), ...secrets, ...folders])
    const before = this.#seen
    this.#seen = stateOf(files.map(presentDigest), sources.flat())
    return this.#seen !== before
  }

  /** Whether a file of a secret has changed, appeared or vanished since the last look. */
  haveSecretsChanged(): boolean {
    const previousDigest = this.#seenSecrets
    // A secret stays no longer in memory than it is needed.
    this.#seenSecrets = createHash('sha256')
      .update(textsOf(this.#options.secrets ?? []))
      .digest('base64')
    return this.#seenSecrets !== previousDigest
  }

  /** Watches the files of a newer configuration, too: one that is refused may be repaired in a file that only it names. */
  watchAlso(refused: NamingFiles): void {
    this.#refused = refused
    this.haveChanged()
  }
}

/** The files of a configuration as it was read, and its collectors' sources as they are now, for `WatchedOptions.asRead`. */
export function filesAsRead(config: Config): string {
  return stateOf([config.digest], sourcesOf(config, isCode))
}

function stateOf(digests: readonly string[], sources: readonly string[]): string {
  return JSON.stringify([digests, textsOf([...new Set(sources)].sort())])
}

function filesNow({ file, includes }: NamingFiles): string[] {
  return [file, ...includes.flatMap(({ pattern }) => matchesOf(pattern))]
}

function sourcesOf({ protocols }: NamingFiles, isFollowed: NonNullable<WatchedOptions['isFollowed']>): string[] {
  const origins = protocols
    .flatMap(({ collectors }) => collectors)
    .map(({ use, place }) => originOf({ use, configFile: place.file }))
  const own = origins.flatMap(origin => (origin.kind === 'file' ? [origin.file] : []))
  return own.flatMap(one => importedFiles(one, isFollowed))
}

/** Names and contents of files; an unreadable one is reported when it is loaded. */
function textsOf(files: readonly string[]): string {
  const textOf = (file: string) => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      return undefined
    }
  }
  return JSON.stringify(files.map(file => [file, textOf(file)]))
}
