import { Fault } from '../model/fault.ts'
import type { CollectorConfig, Include } from './config.ts'
import { lineOf, type PlacedMistake, shortest } from './mistakes/mistakes.ts'

/** Parts of a configuration with mistakes that could be read. */
type ReadNevertheless = Partial<Pick<ConfigError, 'drafts' | 'includes'>>

/** A configuration that cannot be used: all of its mistakes, at least one, in the order of its files. */
export class ConfigError extends Fault {
  readonly mistakes: readonly PlacedMistake[]
  /** Collectors whose options can be checked although the file has mistakes. */
  readonly drafts: readonly CollectorConfig[]
  /** Files that it includes, as far as that could be read: a mistake may be in one of them. */
  readonly includes: readonly Include[]

  constructor(file: string, mistakes: readonly PlacedMistake[], { drafts = [], includes = [] }: ReadNevertheless = {}) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
    const first = mistakes[0] ? `: ${lineOf(mistakes[0])}` : ''
    const fix = mistakes[0]?.fix
    super('config', `${count} in the configuration${mistakes.length > 1 ? ', the first' : ''}${first}`, {
      facts: { file: shortest(file) },
      ...(fix === undefined ? {} : { fix }),
    })
    this.mistakes = mistakes
    this.drafts = drafts
    this.includes = includes
  }
}
