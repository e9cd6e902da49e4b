import type { CollectorConfig, OptionMistake } from './config.ts'
import type { PlacedMistake } from './mistakes/mistakes.ts'
import { inOrder } from './mistakes/mistakes.ts'
import { meant, pathText, quoted } from './mistakes/words.ts'

/**
 * A collector's option mistakes with their places in the file, worded like other mistakes. An unknown option is first
 * compared with missing ones: if one was meant, that is one mistake.
 */
export function optionMistakes(collector: CollectorConfig, mistakes: readonly OptionMistake[]): PlacedMistake[] {
  const missing = mistakes.filter(mistake => !isUnknown(mistake) && isAbsent(collector.options, mistake.path))
  const meantBy = new Map(mistakes.filter(isUnknown).map(mistake => [mistake, nearest(mistake, missing)]))
  const echoes = new Set(meantBy.values())
  const placed = mistakes
    .filter(mistake => !echoes.has(mistake))
    .map(mistake => {
      if (isUnknown(mistake)) return unknown(collector, mistake, meantBy.get(mistake))
      return missing.includes(mistake) ? absent(collector, mistake) : wrong(collector, mistake)
    })
  return inOrder(placed)
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
  { path, known = [] }: OptionMistake,
  missed: OptionMistake | undefined,
): PlacedMistake {
  const name = String(path.at(-1))
  const near = missed ? String(missed.path.at(-1)) : meant(name, known)
  const others = known.length > 0 ? `known here: ${known.join(', ')}` : `${use} has no such option`
  return {
    place: placeOf(path, 'key'),
    message: `unknown option ${quoted(name)} of ${use}`,
    fix: near === undefined ? others : `did you mean ${quoted(near)}?`,
  }
}

function absent({ use, placeOf }: CollectorConfig, { path, message }: OptionMistake): PlacedMistake {
  return {
    place: placeOf(path),
    message: `missing: ${pathText(['options', ...path])} of ${use}`,
    fix: `add it: ${message.replace(/^must be /, '')}`,
  }
}

function wrong({ placeOf }: CollectorConfig, { path, message }: OptionMistake): PlacedMistake {
  return { place: placeOf(path), message: `${pathText(['options', ...path])}: ${message}` }
}
