import { isRecord, valueAt } from '../model/json.ts'
import type { OptionPath } from './chain-names.ts'
import type { PlaceOf } from './document.ts'
import type { PlacedMistake } from './mistakes/mistakes.ts'
import { meant, pathText, quoted } from './mistakes/wording.ts'

/** A collector's entry as written, and its path. */
interface WrittenCollector {
  readonly map: Readonly<Record<string, unknown>>
  readonly path: OptionPath
  readonly placeOf: PlaceOf
}

/**
 * Finds what contradicts the place of the outbox: the embedded service of a fleet, of which each daemon would have its own;
 * keys of a fleet where the outbox is in a folder; lanes that do not exist.
 */
export function fleetMistakes(
  main: Readonly<Record<string, unknown>>,
  placeOf: PlaceOf,
  collectors: readonly WrittenCollector[],
): PlacedMistake[] {
  if (!isRecord(main['data'])) return withoutFleet(main, placeOf, collectors)
  return [...embeddedInFleet(main, placeOf), ...unknownLanes(main, placeOf)]
}

function withoutFleet(
  main: Readonly<Record<string, unknown>>,
  placeOf: PlaceOf,
  collectors: readonly WrittenCollector[],
): PlacedMistake[] {
  const fix = 'remove it, or write data: { postgres: { env: DATABASE_URL } }'
  const message = (path: OptionPath) => `${pathText(path)}: the outbox is in a folder, so there is no fleet`
  const machines = collectors
    .filter(({ map }) => 'machine' in map)
    .map(each => ({ path: [...each.path, 'machine'], placeOf: each.placeOf }))
  return [...('fleet' in main ? [{ path: ['fleet'], placeOf }] : []), ...machines].map(({ path, placeOf: place }) => ({
    place: place(path, 'key'),
    message: message(path),
    fix,
  }))
}

function embeddedInFleet(main: Readonly<Record<string, unknown>>, placeOf: PlaceOf): PlacedMistake[] {
  if (main['service'] !== 'embedded') return []
  const message = 'service: each daemon of a fleet would have an embedded service of its own'
  return [
    {
      place: placeOf(['service']),
      message,
      fix: 'name a service by its url, or keep the data in a folder: data: ../data',
    },
  ]
}

function unknownLanes(main: Readonly<Record<string, unknown>>, placeOf: PlaceOf): PlacedMistake[] {
  const lanes = valueAt(main, ['fleet', 'lanes'])
  const chains = main['chains'] ?? {}
  // The schema reports what has another form.
  if (!Array.isArray(lanes) || !isRecord(chains)) return []
  const known = [...Object.keys(chains), 'web']
  return lanes.flatMap((lane, index) => {
    if (typeof lane !== 'string' || known.includes(lane) || lane.startsWith('machine/') || lane.trim() === '') return []
    const path = ['fleet', 'lanes', index]
    const near = meant(lane, known)
    const message = `${pathText(path)}: ${quoted(lane)} is neither a chain under chains: nor web nor machine/NAME`
    return [{ place: placeOf(path), message, fix: near ? `did you mean ${near}?` : `there are: ${known.join(', ')}` }]
  })
}
