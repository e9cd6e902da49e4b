import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Config, ProtocolConfig } from '../config/config.ts'
import { foldersOf, matchesOf } from '../config/include.ts'
import { importedFiles } from '../runner/daemon/imported-files.ts'
import { originOf } from '../runner/origin.ts'

/** Parts of a configuration that name files. */
export type NamingFiles = Pick<Config, 'file' | 'includes'> & {
  readonly protocols: readonly Pick<ProtocolConfig, 'collectors'>[]
}

/** Options of `WatchedFiles`. */
export interface WatchedOptions {
  /** Whether a file that a collector names by a relative path counts, too. Default: where it is code. */
  readonly isFollowed?: (file: string) => boolean
  /** Files of secrets: a change of one is no change of the configuration. Default: none. */
  readonly secrets?: readonly string[]
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
    this.haveSecretsChanged()
  }

  /** Whether a file has changed, appeared or vanished since the last look. */
  haveChanged(): boolean {
    const configs = [this.#inForce, ...(this.#refused ? [this.#refused] : [])]
    const { isFollowed = isCode, secrets = [] } = this.#options
    const files = [...new Set(configs.flatMap(config => filesOf(config, isFollowed)))].sort()
    this.#watch([...files, ...secrets, ...configs.flatMap(({ includes }) => includes.flatMap(foldersOf))])
    const before = this.#seen
    this.#seen = textsOf(files)
    return this.#seen !== before
  }

  /** Whether a file of a secret has changed, appeared or vanished since the last look. */
  haveSecretsChanged(): boolean {
    const before = this.#seenSecrets
    // A secret stays no longer in memory than it is needed.
    this.#seenSecrets = createHash('sha256')
      .update(textsOf(this.#options.secrets ?? []))
      .digest('base64')
    return this.#seenSecrets !== before
  }

  /** Watches the files of a newer configuration, too: one that is refused may be repaired in a file that only it names. */
  watchAlso(refused: NamingFiles): void {
    this.#refused = refused
    this.haveChanged()
  }
}

function filesOf(
  { file, includes, protocols }: NamingFiles,
  isFollowed: NonNullable<WatchedOptions['isFollowed']>,
): string[] {
  const origins = protocols
    .flatMap(({ collectors }) => collectors)
    .map(({ use, place }) => originOf({ use, configFile: place.file }))
  const own = origins.flatMap(origin => (origin.kind === 'file' ? [origin.file] : []))
  const sources = own.flatMap(one => importedFiles(one, isFollowed))
  return [file, ...includes.flatMap(({ pattern }) => matchesOf(pattern)), ...sources]
}

/** Names and contents of files; an unreadable one is reported when it is loaded. */
function textsOf(files: readonly string[]): string {
  return JSON.stringify(files.map(file => [file, attempt(() => readFileSync(file, 'utf8'))]))
}

function attempt(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
