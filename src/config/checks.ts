import { isRecord, valueAt } from '../model/json.ts'
import { unknownChains } from './chain-names.ts'
import type { ConfigDocument, PlaceOf } from './document.ts'
import { fleetMistakes } from './fleet-keys.ts'
import { type Place, type PlacedMistake, placeText, type ValueMistake } from './mistakes/mistakes.ts'
import { pathText, quoted } from './mistakes/wording.ts'
import { pricesInCircles, unknownPrices } from './price-names.ts'
import { operatorForm } from './schema/file-forms.ts'
import { exampleOf, partAt } from './schema/schema-part.ts'
import { ownIdOf, sanitised, slug } from './schema/text-parsers.ts'

type FilePath = readonly PropertyKey[]

/** A map of a file, and its path. */
interface MapAtPath {
  readonly map: Readonly<Record<string, unknown>>
  readonly path: FilePath
  readonly placeOf: PlaceOf
}

/** An identifier, its place, and the fix when it is taken. */
interface NamedId {
  readonly id: string
  readonly path: FilePath
  readonly place: Place
  readonly fix: string
}

/**
 * Checks that concern several keys or files: duplicate ids, missing keys, keys without effect. They read the files as
 * written, so that they are reported together with the schema's mistakes; wrong shapes are left to the schema.
 *
 * @param documents the main file, and those it includes
 * @param isWhole whether every included file was found
 */
export function check(documents: readonly ConfigDocument[], isWhole: boolean): PlacedMistake[] {
  const [first] = documents
  const main = first?.written
  if (!first || !isRecord(main)) return []
  const protocols = documents.flatMap(({ written, placeOf }) =>
    isRecord(written) ? entriesOf({ map: written, path: [], placeOf }, 'protocols') : [],
  )
  const ids = protocols.flatMap(({ map: { id }, path, placeOf }) => {
    const idPath = [...path, 'id']
    return typeof id === 'string'
      ? [{ id, path: idPath, place: placeOf(idPath), fix: 'give each protocol an id of its own' }]
      : []
  })
  return [
    ...(isWhole ? missingProtocols(documents) : []),
    ...twice(ids, 'protocol id'),
    ...protocols.flatMap(checkCollectors),
    ...protocols.flatMap(protocol => checkChains(protocol, main['chains'])),
    ...checkPrices(documents, protocols),
    ...checkKeys(main['service'], protocols),
    ...fleetMistakes(
      main,
      first.placeOf,
      protocols.flatMap(protocol => entriesOf(protocol, 'collectors')),
    ),
  ]
}

/** Mistake of a configuration in which no file has `protocols`. An unreadable file may have them. */
function missingProtocols(documents: readonly ConfigDocument[]): PlacedMistake[] {
  const [main] = documents
  const mayHave = ({ written }: ConfigDocument) => !isRecord(written) || 'protocols' in written
  if (!main || documents.some(mayHave)) return []
  const example = exampleOf(partAt(operatorForm.json(), ['protocols']))
  const isIncluding = valueAt(main.written, ['include', 0]) !== undefined
  const where = isIncluding ? ', neither here nor in an included file' : ''
  const place = isIncluding ? main.placeOf(['include'], 'key') : main.placeOf([], 'key')
  return [{ place, message: `missing: protocols${where}`, fix: `add it, for example protocols: ${example}` }]
}

function entriesOf({ map, path, placeOf }: MapAtPath, key: string): MapAtPath[] {
  const list = map[key]
  if (!Array.isArray(list)) return []
  return list.flatMap((item, index) => (isRecord(item) ? [{ map: item, path: [...path, key, index], placeOf }] : []))
}

function twice(named: readonly NamedId[], what: string): PlacedMistake[] {
  const firsts = new Map<string, NamedId>()
  return named.flatMap(({ id, path, place, fix }) => {
    const first = firsts.get(id)
    if (!first) firsts.set(id, { id, path, place, fix })
    if (!first) return []
    const where = first.place.file === place.file ? `on line ${first.place.line}` : `at ${placeText(first.place)}`
    return [{ place, message: `${pathText(path)}: the ${what} ${quoted(id)} is taken by the one ${where}`, fix }]
  })
}

function checkCollectors(protocol: MapAtPath): PlacedMistake[] {
  const named = entriesOf(protocol, 'collectors').flatMap(({ map, path, placeOf }): NamedId[] => {
    const { id, use } = map
    const at = (key: string) => ({ path: [...path, key], place: placeOf([...path, key]) })
    if (typeof id === 'string') return [{ id, ...at('id'), fix: `write another, for example id: ${id}-2` }]
    if ('id' in map || typeof use !== 'string' || use.trim() === '') return []
    const own = ownIdOf(use)
    return [{ id: own, ...at('use'), fix: `add an id of its own, for example id: ${own}-2` }]
  })
  return [...twice(named, 'collector id'), ...named.flatMap(unnameable)]
}

function checkChains(protocol: MapAtPath, chains: unknown): PlacedMistake[] {
  // The schema reports what is not a map.
  if (chains !== undefined && !isRecord(chains)) return []
  const known = Object.keys(chains ?? {})
  return entriesOf(protocol, 'collectors').flatMap(({ map, path, placeOf }) =>
    unknownChains(map['options'], [...path, 'options'], known).map(placedBy(placeOf)),
  )
}

const placedBy =
  (placeOf: PlaceOf) =>
  ({ place, ...mistake }: ValueMistake): PlacedMistake => ({ ...mistake, place: placeOf(place.path, place.at) })

/** Checks prices: their names, the chains and prices that they need, and the prices that shipped collectors need. */
function checkPrices(documents: readonly ConfigDocument[], protocols: readonly MapAtPath[]): PlacedMistake[] {
  const chains = valueAt(documents[0]?.written, ['chains']) ?? {}
  const knownChains = isRecord(chains) ? Object.keys(chains) : []
  const maps = documents.flatMap(({ written, placeOf }) => {
    const map = valueAt(written, ['prices'])
    return isRecord(map) ? [{ map, path: ['prices'], placeOf }] : []
  })
  const known = maps.flatMap(({ map }) => Object.keys(map))
  const names = maps.flatMap(({ map, placeOf }) =>
    Object.keys(map).map((id): NamedId => {
      const path = ['prices', id]
      return { id, path, place: placeOf(path, 'key'), fix: 'keep one of them: the first source that answers stands' }
    }),
  )
  const shipped = protocols
    .flatMap(protocol => entriesOf(protocol, 'collectors'))
    // Code of one's own may mean something else by a price.
    .filter(({ map: { use } }) => typeof use === 'string' && /^[a-z0-9-]+$/.test(use))
  return [
    ...twice(names, 'price'),
    ...maps.flatMap(({ map, path, placeOf }) =>
      [...unknownChains(map, path, knownChains), ...unknownPrices(map, path, known)].map(placedBy(placeOf)),
    ),
    ...shipped.flatMap(({ map, path, placeOf }) =>
      unknownPrices(map['options'], [...path, 'options'], known).map(placedBy(placeOf)),
    ),
    ...pricesInCircles(maps),
  ]
}

/** Mistake of a `use` whose last part cannot be an id. (The schema checks an `id` key.) */
function unnameable({ id, path, place }: NamedId): PlacedMistake[] {
  if (path.at(-1) !== 'use' || slug(id).ok) return []
  const message = `${pathText(path)}: the collector needs an id, as ${quoted(id)} cannot be one`
  return [{ place, message, fix: `add id: ${/[a-z0-9]/i.test(id) ? sanitised(id) : 'my-collector'}` }]
}

/** Checks that every protocol has a key for a remote service; the embedded one has its own. */
function checkKeys(service: unknown, protocols: readonly MapAtPath[]): PlacedMistake[] {
  if (service === 'embedded') {
    return protocols
      .filter(({ map }) => 'key' in map)
      .map(({ path, placeOf }) => ({
        place: placeOf([...path, 'key'], 'key'),
        message: `${pathText(path)}.key: the embedded service has its own key`,
        fix: 'remove this one, or name a service by its url',
      }))
  }
  if (!isRecord(service) || 'key' in service) return []
  return protocols
    .filter(({ map }) => !('key' in map))
    .map(({ path, placeOf }) => ({
      place: placeOf(path, 'key'),
      message: `${pathText(path)}: no API key, neither here nor at the service`,
      fix: 'add key: { file: /run/secrets/metrics_key } to service, or to this protocol',
    }))
}
