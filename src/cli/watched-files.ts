import { readFileSync } from 'node:fs'
import type { Config, ProtocolConfig } from '../config/config.ts'
import { foldersOf, matchesOf } from '../config/include.ts'
import { importedFiles } from '../runner/daemon/imported-files.ts'
import { originOf } from '../runner/origin.ts'

/** Parts of a configuration that name files. */
export type NamingFiles = Pick<Config, 'file' | 'includes'> & {
  readonly protocols: readonly Pick<ProtocolConfig, 'collectors'>[]
}

/**
 * Files that trigger a reload: the configuration, what it includes, and one's own collectors; and the folders in which
 * a further file to include could appear.
 */
export class WatchedFiles {
  readonly #inForce: NamingFiles
  readonly #watch: (files: readonly string[]) => void
  readonly #withImports: boolean
  #refused: NamingFiles | undefined
  #seen = ''

  /**
   * @param watch watches these files and folders, and no longer those of the last call
   * @param withImports whether files that collectors import count, too
   */
  constructor(inForce: NamingFiles, watch: (files: readonly string[]) => void, { withImports = false } = {}) {
    this.#inForce = inForce
    this.#withImports = withImports
    this.#watch = watch
    this.haveChanged()
  }

  /** Whether a file has changed, appeared or vanished since the last look. */
  haveChanged(): boolean {
    const configs = [this.#inForce, ...(this.#refused ? [this.#refused] : [])]
    const files = [...new Set(configs.flatMap(config => filesOf(config, this.#withImports)))].sort()
    this.#watch([...files, ...configs.flatMap(({ includes }) => includes.flatMap(foldersOf))])
    const before = this.#seen
    this.#seen = textsOf(files)
    return this.#seen !== before
  }

  /** Watches the files of a newer configuration, too: one that is refused may be repaired in a file that only it names. */
  watchAlso(refused: NamingFiles): void {
    this.#refused = refused
    this.haveChanged()
  }
}

function filesOf({ file, includes, protocols }: NamingFiles, withImports: boolean): string[] {
  const origins = protocols
    .flatMap(({ collectors }) => collectors)
    .map(({ use, place }) => originOf({ use, configFile: place.file }))
  const own = origins.flatMap(origin => (origin.kind === 'file' ? [origin.file] : []))
  const sources = withImports ? own.flatMap(one => importedFiles(one)) : own
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
