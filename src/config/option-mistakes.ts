import type { CollectorConfig, ConfigMistake, OptionMistake } from './config.ts'
import { inOrder } from './mistakes.ts'
import { meant, pathText, quoted } from './words.ts'

/**
 * A collector's own option mistakes, at their places in the file and in the words of all other mistakes. Texts of the
 * collector's author are left as they are. Of the options that exist only those are known here that are missing, so an
 * unknown one is compared with these; then it is told once.
 */
export function optionMistakes(collector: CollectorConfig, mistakes: readonly OptionMistake[]): ConfigMistake[] {
  const missing = mistakes.filter(mistake => !isUnknown(mistake) && isAbsent(collector.options, mistake.path))
  const meantBy = new Map(mistakes.filter(isUnknown).map(mistake => [mistake, nearest(mistake, missing)]))
  const echoes = new Set(meantBy.values())
  const told = mistakes
    .filter(mistake => !echoes.has(mistake))
    .map(mistake => {
      if (isUnknown(mistake)) return unknown(collector, mistake, meantBy.get(mistake))
      return missing.includes(mistake) ? absent(collector, mistake) : wrong(collector, mistake)
    })
  return inOrder(told)
}

const isUnknown = ({ message }: OptionMistake) => message.startsWith('unknown option')

function isAbsent(options: unknown, path: readonly PropertyKey[]): boolean {
  const value = path.reduce<unknown>(
    (part, step) => (typeof part === 'object' && part !== null ? Reflect.get(part, step) : undefined),
    options,
  )
  return value === undefined
}

/** The missing option of the same map that an unknown one was probably meant for. */
function nearest({ path }: OptionMistake, missing: readonly OptionMistake[]): OptionMistake | undefined {
  const around = (full: OptionMistake['path']) => pathText(full.slice(0, -1))
  const here = missing.filter(other => other.path.length > 0 && around(other.path) === around(path))
  const names = here.map(other => String(other.path.at(-1)))
  return here[names.indexOf(meant(String(path.at(-1)), names) ?? '')]
}

function unknown(
  { use, placeOf }: CollectorConfig,
  { path }: OptionMistake,
  near: OptionMistake | undefined,
): ConfigMistake {
  const fix = near ? `did you mean ${quoted(String(near.path.at(-1)))}?` : `${use} has no such option`
  return { place: placeOf(path, 'key'), message: `unknown option ${quoted(String(path.at(-1)))} of ${use}`, fix }
}

function absent({ use, placeOf }: CollectorConfig, { path, message }: OptionMistake): ConfigMistake {
  const fix = inWords(message.replace(/^is missing: /, ''))
  return {
    place: placeOf(path),
    message: `missing: ${pathText(['options', ...path])} of ${use}`,
    fix: `add it: ${fix}`,
  }
}

function wrong({ placeOf }: CollectorConfig, { path, message }: OptionMistake): ConfigMistake {
  return { place: placeOf(path), message: `${pathText(['options', ...path])}: ${inWords(message)}` }
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'nothing',
}

/** `expected string, not number`, as the runner puts what zod says, in an operator's words. */
function inWords(message: string): string {
  const match = /^expected (\w+)(?:, not (\w+))?$/.exec(message)
  const [want, got] = [typeWords[match?.[1] ?? ''], typeWords[match?.[2] ?? '']]
  if (!match || !want) return message
  return got ? `must be ${want}, not ${got}` : want
}
