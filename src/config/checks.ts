import { isRecord, valueAt } from '../model/json.ts'
import { type ConfigDocument, operatorForm, type PlaceOf } from './document.ts'
import { exampleOf, partAt } from './explain.ts'
import { ownIdOf, sanitised, slug } from './fields.ts'
import { meant, type Place, type PlacedMistake, pathText, placeText, quoted } from './mistakes.ts'

/** A path in a file, down into the options of a collector. */
type FilePath = readonly PropertyKey[]

type WrittenMap = Readonly<Record<string, unknown>>

/** A map of a file, and its path. */
interface MapAtPath {
  readonly map: WrittenMap
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
    ...checkKeys(first, protocols, isWhole),
    ...checkFleet(main, first.placeOf, protocols),
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
    unknownNames('chain', chainsIn(map['options'], [...path, 'options']), known, placeOf),
  )
}

/** Checks prices: their names, the chains and prices that they need, and the prices that shipped collectors need. */
function checkPrices(documents: readonly ConfigDocument[], protocols: readonly MapAtPath[]): PlacedMistake[] {
  const chains = valueAt(documents[0]?.written, ['chains']) ?? {}
  const knownChains = isRecord(chains) ? Object.keys(chains) : []
  const maps = sectionsOf(documents, 'prices')
  const tokens = sectionsOf(documents, 'tokenPrices')
  const known = maps.flatMap(({ map }) => Object.keys(map))
  const shipped = protocols
    .flatMap(protocol => entriesOf(protocol, 'collectors'))
    // Code of one's own may mean something else by a price.
    .filter(({ map: { use } }) => typeof use === 'string' && /^[a-z0-9-]+$/.test(use))
  return [
    ...twice(keysOf(maps), 'price'),
    ...twice(keysOf(tokens), 'chain of tokenPrices'),
    ...tokens.flatMap(({ map, path, placeOf }) => [
      ...unknownNames(
        'chain',
        Object.keys(map).map((name): OptionName => ({ name, path: [...path, name], at: 'key' })),
        knownChains,
        placeOf,
      ),
      ...unknownNames('price', tokenNamesIn(map, path), known, placeOf),
    ]),
    ...maps.flatMap(({ map, path, placeOf }) => [
      ...unknownNames('chain', chainsIn(map, path), knownChains, placeOf),
      ...unknownNames('price', pricesIn(map, path), known, placeOf),
    ]),
    ...shipped.flatMap(({ map, path, placeOf }) => {
      const named = pricesIn(map['options'], [...path, 'options'])
      const priced = tokens.flatMap(each => Object.keys(each.map))
      return [
        ...unknownNames(
          'price',
          named.filter(({ name }) => name !== 'token'),
          known,
          placeOf,
        ),
        ...unpricedChains(map['options'], [...path, 'options'], priced, placeOf),
      ]
    }),
    ...pricesInCircles(maps),
  ]
}

function sectionsOf(documents: readonly ConfigDocument[], key: string): MapAtPath[] {
  return documents.flatMap(({ written, placeOf }) => {
    const map = valueAt(written, [key])
    return isRecord(map) ? [{ map, path: [key], placeOf }] : []
  })
}

function keysOf(sections: readonly MapAtPath[]): NamedId[] {
  return sections.flatMap(({ map, path, placeOf }) =>
    Object.keys(map).map(id => {
      const own = [...path, id]
      return {
        id,
        path: own,
        place: placeOf(own, 'key'),
        fix: 'keep one of them: the first source that answers stands',
      }
    }),
  )
}

/** The prices that give tokens theirs: `{ "0x…": USDC }` among the sources of a chain. */
function tokenNamesIn(map: WrittenMap, path: FilePath): OptionName[] {
  return Object.entries(map).flatMap(([chain, sources]) =>
    (Array.isArray(sources) ? sources : []).flatMap((source, index) =>
      Object.entries(isRecord(source) ? source : {}).flatMap(([key, name]): OptionName[] =>
        /^0x/i.test(key) && typeof name === 'string' ? [{ name, path: [...path, chain, index, key], at: 'value' }] : [],
      ),
    ),
  )
}

/** Mistakes of `price: token` in options where the tokens of the chain have no prices. */
function unpricedChains(
  options: unknown,
  path: FilePath,
  priced: readonly string[],
  placeOf: PlaceOf,
): PlacedMistake[] {
  return tokenPricesIn(options, path).flatMap(({ name: chain, path: at }) => {
    if (priced.includes(chain)) return []
    const message = `${pathText(at)}: there are no prices of the tokens of ${quoted(chain)} under tokenPrices:`
    return [{ place: placeOf(at), message, fix: `add them: tokenPrices: { ${chain}: [{ "0x…": USDC }] }` }]
  })
}

/** The chains of the places at which options say `price: token`. @param chain of the maps around */
function tokenPricesIn(value: unknown, path: FilePath, chain?: string): OptionName[] {
  if (typeof value !== 'object' || value === null) return []
  const own: unknown = Reflect.get(value, 'chain')
  const here = typeof own === 'string' ? own : chain
  return Object.entries(value).flatMap(([key, part]): OptionName[] => {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    if (key === 'price' && part === 'token') return here === undefined ? [] : [{ name: here, path: at, at: 'value' }]
    if (key !== 'of' || !isRecord(part)) return tokenPricesIn(part, at, here)
    return Object.entries(part).flatMap(([name, each]) => tokenPricesIn(each, [...at, name], name))
  })
}

/** Mistake of a `use` whose last part cannot be an id. (The schema checks an `id` key.) */
function unnameable({ id, path, place }: NamedId): PlacedMistake[] {
  if (path.at(-1) !== 'use' || slug(id).ok) return []
  const message = `${pathText(path)}: the collector needs an id, as ${quoted(id)} cannot be one`
  return [{ place, message, fix: `add id: ${/[a-z0-9]/i.test(id) ? sanitised(id) : 'my-collector'}` }]
}

/** Checks that every protocol has a key for a remote service; the embedded one has its own. */
function checkKeys(
  { written, placeOf }: ConfigDocument,
  protocols: readonly MapAtPath[],
  isWhole: boolean,
): PlacedMistake[] {
  const service = valueAt(written, ['service'])
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
  if (isWhole && protocols.length === 0) {
    const fix = 'add key: { file: /run/secrets/metrics_key } to it, or to each protocol'
    return [{ place: placeOf(['service'], 'key'), message: 'service: no API key, neither here nor at a protocol', fix }]
  }
  return protocols
    .filter(({ map }) => !('key' in map))
    .map(({ path, placeOf }) => ({
      place: placeOf(path, 'key'),
      message: `${pathText(path)}: no API key, neither here nor at the service`,
      fix: 'add key: { file: /run/secrets/metrics_key } to service, or to this protocol',
    }))
}

/** Checks what depends on where the outbox is: a fleet has no embedded service, and without a fleet its keys do nothing. */
function checkFleet(main: WrittenMap, placeOf: PlaceOf, protocols: readonly MapAtPath[]): PlacedMistake[] {
  if (isRecord(main['data'])) return [...embeddedInFleet(main, placeOf), ...unknownLanes(main, placeOf)]
  const machines = protocols
    .flatMap(protocol => entriesOf(protocol, 'collectors'))
    .filter(({ map }) => 'machine' in map)
    .map(collector => ({ path: [...collector.path, 'machine'], placeOf: collector.placeOf }))
  const keys = [...('fleet' in main ? [{ path: ['fleet'], placeOf }] : []), ...machines]
  return keys.map(({ path, placeOf: place }) => ({
    place: place(path, 'key'),
    message: `${pathText(path)}: the outbox is in a folder, so there is no fleet`,
    fix: 'remove it, or write data: { postgres: { env: DATABASE_URL } }',
  }))
}

function embeddedInFleet(main: WrittenMap, placeOf: PlaceOf): PlacedMistake[] {
  if (main['service'] !== 'embedded') return []
  const message = 'service: each daemon of a fleet would have an embedded service of its own'
  const fix = 'name a service by its url, or keep the data in a folder: data: ../data'
  return [{ place: placeOf(['service']), message, fix }]
}

function unknownLanes(main: WrittenMap, placeOf: PlaceOf): PlacedMistake[] {
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

/** The name of a chain or a price in options, and where it stands. */
interface OptionName {
  readonly name: string
  readonly path: FilePath
  /** A chain is named by an option, or is the key of one. */
  readonly at: 'key' | 'value'
}

/** Finds chains or prices that options name and that are not configured. */
function unknownNames(
  kind: 'chain' | 'price',
  named: readonly OptionName[],
  known: readonly string[],
  placeOf: PlaceOf,
): PlacedMistake[] {
  const entry = kind === 'chain' ? '{ id: …, rpc: […] }' : '[{ chain: …, feed: "0x…" }]'
  return named
    .filter(({ name }) => !known.includes(name))
    .map(({ name, path, at }) => {
      const near = meant(name, known)
      const add = `add it: ${kind}s: { ${/^[\w-]+$/.test(name) ? name : quoted(name)}: ${entry} }`
      const others = known.length === 0 ? add : `configured: ${known.join(', ')}; or ${add}`
      return {
        place: placeOf(path, at),
        message: `${pathText(path)}: there is no ${kind} ${quoted(name)} under ${kind}s:`,
        fix: near === undefined ? others : `did you mean ${near}?`,
      }
    })
}

/** The chains that a collector's options name, in their order. */
export function namedChains(options: unknown): readonly string[] {
  return chainsIn(options, []).map(({ name }) => name)
}

/**
 * The chains that options name: an option `chain` is a chain's name, `chains` a list of them, and `of` a map of maps by
 * them, at any depth. Other shapes are left to the collector.
 */
function chainsIn(options: unknown, path: FilePath): OptionName[] {
  return optionsIn(options, path, (key, part, at) => {
    if (key === 'chain' && typeof part === 'string') return [{ name: part, path: at, at: 'value' }]
    if (key === 'chains' && Array.isArray(part)) {
      return part.flatMap((name, index): OptionName[] =>
        typeof name === 'string' ? [{ name, path: [...at, index], at: 'value' }] : [],
      )
    }
    if (key !== 'of' || !isRecord(part) || !Object.values(part).every(isRecord)) return undefined
    const byChain = Object.keys(part).map((name): OptionName => ({ name, path: [...at, name], at: 'key' }))
    return [...byChain, ...chainsIn(part, at)]
  })
}

/** The prices that a shipped collector's options or the sources of a price name: an option `price`, at any depth. */
function pricesIn(options: unknown, path: FilePath): OptionName[] {
  return optionsIn(options, path, (key, part, at) =>
    key === 'price' && typeof part === 'string' ? [{ name: part, path: at, at: 'value' }] : undefined,
  )
}

/** The names in options. @param named those of one option; `undefined` to look into its value */
function optionsIn(
  value: unknown,
  path: FilePath,
  named: (key: string, part: unknown, at: FilePath) => OptionName[] | undefined,
): OptionName[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    return named(key, part, at) ?? optionsIn(part, at, named)
  })
}

/** Finds prices that need themselves, each circle once. */
function pricesInCircles(files: readonly Pick<MapAtPath, 'map' | 'placeOf'>[]): PlacedMistake[] {
  const prices = new Map(files.flatMap(({ map }) => Object.entries(map)))
  const sound = new Set<string>()
  const from = (name: string, above: readonly string[]): readonly string[] | undefined => {
    if (above.includes(name)) return above.slice(above.indexOf(name))
    if (sound.has(name)) return undefined
    sound.add(name)
    for (const needed of pricesIn(prices.get(name), [])) {
      const circle = from(needed.name, [...above, name])
      if (circle) return circle
    }
    return undefined
  }
  return files.flatMap(({ map, placeOf }) =>
    Object.keys(map).flatMap(name => {
      const circle = from(name, [])
      if (!circle) return []
      const message = `${pathText(['prices', name])}: needs itself: ${[...circle, circle[0]].join(' → ')}`
      return [{ place: placeOf(['prices', name], 'key'), message, fix: 'let one of them have a source of its own' }]
    }),
  )
}
