import { Fault } from '../model/fault.ts'
import type { CollectorConfig } from './config.ts'
import { lineOf, type PlacedMistake, shortest } from './mistakes/mistakes.ts'

/** A configuration that cannot be used: all of its mistakes, at least one, in the order of the file. */
export class ConfigError extends Fault {
  readonly mistakes: readonly PlacedMistake[]
  /** Collectors whose options can be checked although the file has mistakes. */
  readonly drafts: readonly CollectorConfig[]

  constructor(file: string, mistakes: readonly PlacedMistake[], drafts: readonly CollectorConfig[] = []) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
    const first = mistakes[0] ? `: ${lineOf(mistakes[0])}` : ''
    const fix = mistakes[0]?.fix
    super('config', `${count} in the configuration${mistakes.length > 1 ? ', the first' : ''}${first}`, {
      facts: { file: shortest(file) },
      ...(fix === undefined ? {} : { fix }),
    })
    this.mistakes = mistakes
    this.drafts = drafts
  }
}
