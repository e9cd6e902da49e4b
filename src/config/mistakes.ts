import { relative } from 'node:path'
import { Fault } from '../model/fault.ts'
import type { CollectorConfig, ConfigMistake, Place } from './config.ts'

/** A configuration that cannot be used: every mistake in it, in the order of the file. At least one. */
export class ConfigError extends Fault {
  readonly mistakes: readonly ConfigMistake[]
  /** Collectors whose own mistakes can be looked for all the same. */
  readonly drafts: readonly CollectorConfig[]

  constructor(file: string, mistakes: readonly ConfigMistake[], drafts: readonly CollectorConfig[] = []) {
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

/** How many mistakes are printed; one misplaced bracket can make thousands. */
const shownMax = 50

/** Like a compiler: `file:line:col: message`, and the fix on a line of its own. Files below here relative to it. */
export function formatMistakes(mistakes: readonly ConfigMistake[]): string {
  const shown = mistakes.slice(0, shownMax).flatMap(mistake => {
    const line = lineOf(mistake)
    return mistake.fix === undefined ? [line] : [line, `    ${mistake.fix}`]
  })
  const more = mistakes.length - shownMax
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

const lineOf = ({ place, message }: ConfigMistake) => `${placeText(place)}: ${message}`

/** `file:line:col`, as editors and terminals take it. */
export function placeText({ file, line, column }: Place): string {
  return `${shortest(file)}:${line}:${column}`
}

function shortest(file: string): string {
  const near = relative(process.cwd(), file)
  return near !== '' && !near.startsWith('..') && near.length < file.length ? near : file
}

/** In the order of the file; what is told twice of one place, once. */
export function inOrder(mistakes: readonly ConfigMistake[]): ConfigMistake[] {
  const seen = new Map(mistakes.map(mistake => [`${placeText(mistake.place)} ${mistake.message}`, mistake]))
  return [...seen.values()].sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
}
