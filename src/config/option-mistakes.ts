import { valueAt } from '../model/json.ts'
import type { CollectorConfig, OptionMistake } from './config.ts'
import type { PlacedMistake } from './mistakes/mistakes.ts'
import { inOrder } from './mistakes/mistakes.ts'
import { meant, pathText, quoted } from './mistakes/wording.ts'

/**
 * A collector's option mistakes with their places in the file, worded like other mistakes. An unknown option is first
 * compared with missing ones: if one was meant, that is one mistake. So is a map that is wrong as a whole and has a
 * mistyped option.
 */
export function optionMistakes(collector: CollectorConfig, mistakes: readonly OptionMistake[]): PlacedMistake[] {
  const missing = mistakes.filter(
    mistake => !isUnknown(mistake) && valueAt(collector.options, mistake.path) === undefined,
  )
  const meantBy = new Map(mistakes.filter(isUnknown).map(mistake => [mistake, nearest(mistake, missing)]))
  const echoes = new Set<OptionMistake | undefined>([...meantBy.values(), ...mistakes.filter(isEchoIn(mistakes))])
  const placed = mistakes
    .filter(mistake => !echoes.has(mistake))
    .map(mistake => {
      if (isUnknown(mistake)) return unknown(collector, mistake, meantBy.get(mistake))
      return missing.includes(mistake) ? absent(collector, mistake) : wrong(collector, mistake)
    })
  return inOrder(placed)
}

const ofOptions = (path: readonly PropertyKey[]) => ['options', ...path]

const isUnknown = ({ message }: OptionMistake) => message.startsWith('unknown option')

/** Whether a mistake is one of a map as a whole in which an option is mistyped. */
function isEchoIn(mistakes: readonly OptionMistake[]): (mistake: OptionMistake) => boolean {
  const typos = mistakes.filter(({ path, known = [], ...mistake }) => {
    return isUnknown({ path, ...mistake }) && meant(String(path.at(-1)), known) !== undefined
  })
  const maps = new Set(typos.map(({ path }) => pathText(path.slice(0, -1))))
  return mistake => !isUnknown(mistake) && maps.has(pathText(mistake.path))
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

function absent({ use, placeOf, pathOf }: CollectorConfig, { path, message }: OptionMistake): PlacedMistake {
  // The collector that reads a price is in no operator's file.
  const of = pathOf ? '' : ` of ${use}`
  return {
    place: placeOf(path),
    message: `missing: ${pathText((pathOf ?? ofOptions)(path))}${of}`,
    fix: `add it: ${message.replace(/^must be /, '')}`,
  }
}

function wrong({ placeOf, pathOf = ofOptions }: CollectorConfig, { path, message }: OptionMistake): PlacedMistake {
  return { place: placeOf(path), message: `${pathText(pathOf(path))}: ${message}` }
}
