import { unknownChains } from './chain-names.ts'
import type { ValueMistake } from './mistakes/mistakes.ts'
import { pathText, quoted } from './mistakes/words.ts'
import { ownIdOf, sanitised, slug } from './schema/forms.ts'

type FilePath = readonly PropertyKey[]
type LineOf = (path: FilePath) => number

/** A map of the file, and its path. */
interface MapAtPath {
  readonly map: Readonly<Record<string, unknown>>
  readonly path: FilePath
}

/** An identifier, its place, and the fix when it is taken. */
interface NamedId {
  readonly id: string
  readonly path: FilePath
  readonly fix: string
}

/**
 * Checks that concern several keys: duplicate ids, missing keys, keys without effect. They read the file as written, so
 * that they are reported together with the schema's mistakes; wrong shapes are left to the schema.
 */
export function check(written: unknown, lineOf: LineOf): ValueMistake[] {
  if (!isMap(written)) return []
  const protocols = entriesOf({ map: written, path: [] }, 'protocols')
  const ids = protocols.flatMap(({ map: { id }, path }) =>
    typeof id === 'string' ? [{ id, path: [...path, 'id'], fix: 'give each protocol an id of its own' }] : [],
  )
  return [
    ...twice(ids, 'protocol', lineOf),
    ...protocols.flatMap(protocol => checkCollectors(protocol, lineOf)),
    ...protocols.flatMap(protocol => checkChains(protocol, written['chains'])),
    ...checkKeys(written['service'], protocols),
  ]
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function entriesOf({ map, path }: MapAtPath, key: string): MapAtPath[] {
  const list = map[key]
  if (!Array.isArray(list)) return []
  return list.flatMap((item, index) => (isMap(item) ? [{ map: item, path: [...path, key, index] }] : []))
}

function twice(named: readonly NamedId[], what: string, lineOf: LineOf): ValueMistake[] {
  const firsts = new Map<string, NamedId>()
  return named.flatMap(({ id, path, fix }) => {
    const first = firsts.get(id)
    if (!first) firsts.set(id, { id, path, fix })
    if (!first) return []
    const message = `${pathText(path)}: the ${what} id ${quoted(id)} is taken by the one on line ${lineOf(first.path)}`
    return [{ place: { path, at: 'value' as const }, message, fix }]
  })
}

function checkCollectors(protocol: MapAtPath, lineOf: LineOf): ValueMistake[] {
  const named = entriesOf(protocol, 'collectors').flatMap(({ map, path }): NamedId[] => {
    const { id, use } = map
    if (typeof id === 'string') return [{ id, path: [...path, 'id'], fix: `write another, for example id: ${id}-2` }]
    if ('id' in map || typeof use !== 'string' || use.trim() === '') return []
    const own = ownIdOf(use)
    return [{ id: own, path: [...path, 'use'], fix: `add an id of its own, for example id: ${own}-2` }]
  })
  return [...twice(named, 'collector', lineOf), ...named.flatMap(unnameable)]
}

function checkChains(protocol: MapAtPath, chains: unknown): ValueMistake[] {
  // The schema reports what is not a map.
  if (chains !== undefined && !isMap(chains)) return []
  const known = Object.keys(chains ?? {})
  return entriesOf(protocol, 'collectors').flatMap(({ map, path }) =>
    unknownChains(map['options'], [...path, 'options'], known),
  )
}

/** Mistake of a `use` whose last part cannot be an id. (The schema checks an `id` key.) */
function unnameable({ id, path }: NamedId): ValueMistake[] {
  if (path.at(-1) !== 'use' || slug(id).ok) return []
  const message = `${pathText(path)}: the collector needs an id, as ${quoted(id)} cannot be one`
  return [
    { place: { path, at: 'value' }, message, fix: `add id: ${/[a-z0-9]/i.test(id) ? sanitised(id) : 'my-collector'}` },
  ]
}

/** Checks that every protocol has a key for a remote service; the embedded one has its own. */
function checkKeys(service: unknown, protocols: readonly MapAtPath[]): ValueMistake[] {
  if (service === 'embedded') {
    return protocols
      .filter(({ map }) => 'key' in map)
      .map(({ path }) => ({
        place: { path: [...path, 'key'], at: 'key' },
        message: `${pathText(path)}.key: the embedded service has its own key`,
        fix: 'remove this one, or name a service by its url',
      }))
  }
  if (!isMap(service) || 'key' in service) return []
  return protocols
    .filter(({ map }) => !('key' in map))
    .map(({ path }) => ({
      place: { path, at: 'key' },
      message: `${pathText(path)}: no API key, neither here nor at the service`,
      fix: 'add key: { file: /run/secrets/metrics_key } to service, or to this protocol',
    }))
}
