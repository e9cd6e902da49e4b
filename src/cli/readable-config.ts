import { type Config, ConfigError } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { formatMistakes } from '../config/mistakes.ts'
import { note } from './terminal.ts'

/** The configuration; `undefined` when it has mistakes, which are noted: an editor needs its schema all the more. */
export function readableConfig(file: string): Config | undefined {
  try {
    return loadConfig(file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    note(`${formatMistakes(error.mistakes)}\n→ the schema is without the options of its own collectors`)
    return undefined
  }
}
