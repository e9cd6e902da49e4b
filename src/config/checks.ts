import { circlesIn } from '../../collectors/values/circles.ts'
import { isRecord, valueAt } from '../model/json.ts'
import { type ConfigDocument, operatorForm, type PlaceOf } from './document.ts'
import { exampleOf, partAt } from './explain.ts'
import { ownIdOf, sanitised, slug } from './fields.ts'
import { didYouMean, type Place, type PlacedMistake, pathText, placeText, quoted } from './mistakes.ts'
import { mistypedAddresses } from './mistyped.ts'
import { namedAssets, tokensOfPrices } from './named-assets.ts'

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
  const main = first?.rawValue
  if (!first || !isRecord(main)) return []
  const protocols = documents.flatMap(({ rawValue, placeOf }) =>
    isRecord(rawValue) ? entriesOf({ map: rawValue, path: [], placeOf }, 'protocols') : [],
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
    ...checkLists(documents, protocols),
    ...checkKeys(first, protocols, isWhole),
    ...checkFleet(main, first.placeOf, protocols),
    ...documents.flatMap(mistypedAddresses),
  ]
}

/** Mistake of a configuration in which no file has `protocols`. An unreadable file may have them. */
function missingProtocols(documents: readonly ConfigDocument[]): PlacedMistake[] {
  const [main] = documents
  const mayHave = ({ rawValue }: ConfigDocument) => !isRecord(rawValue) || 'protocols' in rawValue
  if (!main || documents.some(mayHave)) return []
  const example = exampleOf(partAt(operatorForm.json(), ['protocols']))
  const isIncluding = valueAt(main.rawValue, ['include', 0]) !== undefined
  const where = isIncluding ? ', neither here nor in an included file' : ''
  const place = isIncluding ? main.placeOf(['include'], 'key') : main.placeOf([], 'key')
  return [{ place, message: `missing: protocols${where}`, fix: `add it, for example protocols: ${example}` }]
}

function entriesOf({ map, path, placeOf }: MapAtPath, key: string): MapAtPath[] {
  const list = map[key]
  if (!Array.isArray(list)) return []
  return list.flatMap((item, index) => (isRecord(item) ? [{ map: item, path: [...path, key, index], placeOf }] : []))
}

function twice(named: readonly NamedId[], kind: string): PlacedMistake[] {
  const firsts = new Map<string, NamedId>()
  return named.flatMap(({ id, path, place, fix }) => {
    const first = firsts.get(id)
    if (!first) firsts.set(id, { id, path, place, fix })
    if (!first) return []
    const where = first.place.file === place.file ? `on line ${first.place.line}` : `at ${placeText(first.place)}`
    return [{ place, message: `${pathText(path)}: the ${kind} ${quoted(id)} is taken by the one ${where}`, fix }]
  })
}

function checkCollectors(protocol: MapAtPath): PlacedMistake[] {
  const ids = entriesOf(protocol, 'collectors').flatMap(({ map, path, placeOf }): NamedId[] => {
    const { id, use } = map
    const locate = (key: string) => ({ path: [...path, key], place: placeOf([...path, key]) })
    if (typeof id === 'string') return [{ id, ...locate('id'), fix: `write another, for example id: ${id}-2` }]
    if ('id' in map || typeof use !== 'string' || use.trim() === '') return []
    const own = ownIdOf(use)
    return [{ id: own, ...locate('use'), fix: `add an id of its own, for example id: ${own}-2` }]
  })
  return [...twice(ids, 'collector id'), ...ids.flatMap(unnameable)]
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
  const maps = mapsOf(documents, 'prices')
  const tokens = mapsOf(documents, 'tokenPrices')
  const names = maps.flatMap(({ map }) => Object.keys(map))
  const pricedChains = tokens.flatMap(({ map }) => Object.keys(map))
  const keep = 'keep one of them: the first source that answers stands'
  return [
    ...twice(namesOf(maps, keep), 'price'),
    ...namesOf(maps, 'give it another name')
      .filter(({ id }) => id === 'token')
      .map(({ path, place, fix }) => {
        return {
          place,
          message: `${pathText(path)}: no option can name it: price: token is the price of each token`,
          fix,
        }
      }),
    ...twice(namesOf(tokens, keep), 'chain of tokenPrices'),
    ...tokens.flatMap(({ map, path, placeOf }) => [
      ...unknownNames('chain', keysOf(map, path), chainNames(documents), placeOf),
      ...unknownNames('price', tokenNamesIn(map, path), names, placeOf),
    ]),
    ...maps.flatMap(({ map, path, placeOf }) => [
      ...unknownNames('chain', chainsIn(map, path), chainNames(documents), placeOf),
      ...unknownNames('price', textsOf('price', map, path), names, placeOf),
      ...Object.entries(map).flatMap(([name, price]) => {
        const tokens = valueAt(price, ['tokens'])
        const chains = isRecord(tokens) ? keysOf(tokens, [...path, name, 'tokens']) : []
        return unknownNames('chain', chains, chainNames(documents), placeOf)
      }),
    ]),
    ...shippedOf(protocols).flatMap(({ map, path, placeOf }) => {
      const optionsPath = [...path, 'options']
      return [
        ...unknownNames('price', textsOf('price', map['options'], optionsPath).filter(isNamed), names, placeOf),
        ...unpricedTokens(map['options'], optionsPath, pricedChains, placeOf),
        ...unknownAssets(map, optionsPath, maps, placeOf),
      ]
    }),
    ...pricesInCircles(maps),
  ]
}

/** Mistakes of assets by the name of a price that is not there, or has no address on the chain. */
function unknownAssets(
  collector: WrittenMap,
  optionsPath: FilePath,
  prices: readonly MapAtPath[],
  placeOf: PlaceOf,
): PlacedMistake[] {
  const tokens = new Map(prices.flatMap(({ map }) => [...tokensOfPrices(map)]))
  return namedAssets(collector).flatMap(({ name, chain, path }) => {
    const chainsOfToken = tokens.get(name)
    const place = [...optionsPath, ...path]
    if (!chainsOfToken)
      return unknownNames('price', [{ name, path: place, side: 'value' }], [...tokens.keys()], placeOf)
    if (Object.hasOwn(chainsOfToken, chain)) return []
    const message = `${pathText(place)}: the price ${name} has no token on ${chain}`
    const fix = `add it: prices: { ${name}: { sources: […], tokens: { ${chain}: "0x…" } } }, or write { token: "0x…", price: ${name} } here`
    return [{ place: placeOf(place), message, fix }]
  })
}

function keysOf(map: WrittenMap, path: FilePath): OptionName[] {
  return Object.keys(map).map(name => ({ name, path: [...path, name], side: 'key' }))
}

/** The prices that give tokens theirs: `{ "0x…": USDC }` among the sources of a chain. */
function tokenNamesIn(map: WrittenMap, path: FilePath): OptionName[] {
  return Object.entries(map).flatMap(([chain, sources]) =>
    (Array.isArray(sources) ? sources : []).flatMap((source, index) =>
      Object.entries(isRecord(source) ? source : {}).flatMap(([key, name]): OptionName[] =>
        /^0x/i.test(key) && typeof name === 'string'
          ? [{ name, path: [...path, chain, index, key], side: 'value' }]
          : [],
      ),
    ),
  )
}

/** Mistakes of `price: token` in options where the tokens of the chain have no prices. */
function unpricedTokens(
  options: unknown,
  path: FilePath,
  pricedChains: readonly string[],
  placeOf: PlaceOf,
): PlacedMistake[] {
  return textsOf('price', options, path).flatMap(({ name, chain, path: optionPath }) => {
    if (name !== 'token' || chain === undefined || pricedChains.includes(chain)) return []
    const message = `${pathText(optionPath)}: there are no prices of the tokens of ${quoted(chain)} under tokenPrices:`
    return [{ place: placeOf(optionPath), message, fix: `add them: tokenPrices: { ${chain}: [{ "0x…": USDC }] }` }]
  })
}

/** Checks lists: their names and chains, and what shipped collectors read over them, which must be on the same chain. */
function checkLists(documents: readonly ConfigDocument[], protocols: readonly MapAtPath[]): PlacedMistake[] {
  const maps = mapsOf(documents, 'lists')
  const lists = new Map(maps.flatMap(({ map }) => Object.entries(map)))
  const listNames = [...lists.keys()]
  const chainOf = (name: string) => valueAt(lists.get(name), ['chain'])
  return [
    ...twice(namesOf(maps, 'give each list a name of its own'), 'list'),
    ...maps.flatMap(({ map, path, placeOf }) =>
      unknownNames('chain', chainsIn(map, path), chainNames(documents), placeOf),
    ),
    ...shippedOf(protocols).flatMap(({ map: { options }, path, placeOf }) => {
      const namesInOptions = textsOf('each', options, [...path, 'options'])
      const otherChainNames = namesInOptions.filter(
        ({ name, chain }) => listNames.includes(name) && chainOf(name) !== chain,
      )
      return [
        ...unknownNames('list', namesInOptions, listNames, placeOf),
        ...otherChainNames.map(({ name, chain, path: optionPath }) => ({
          place: placeOf(optionPath),
          message: `${pathText(optionPath)}: the list ${name} is of ${chainOf(name)}, and this is read on ${chain}`,
          fix: 'name a list of the same chain',
        })),
        ...tooManySteps(options, lists, [...path, 'options']).map(({ path: optionPath, message, fix }) => {
          return { place: placeOf(optionPath), message: `${pathText(optionPath)}: ${message}`, fix }
        }),
      ]
    }),
  ]
}

/** Calls of one collector, chain and hour that each wait for the one before. */
const stepsMax = 5

/** Finds values by calls that need more of them, one after the other, than an hour may have. */
function tooManySteps(options: unknown, lists: ReadonlyMap<string, unknown>, path: FilePath) {
  const values = valueAt(options, ['values'])
  if (!isRecord(values)) return []
  const list = lists.get(String(valueAt(options, ['each'])))
  const ofList = isRecord(list) ? (list['length'] !== undefined ? 2 : Number(list['array'] !== undefined)) : 0
  const steps = (label: string, labelsAbove: readonly string[]): number => {
    const { call, address, args, decimals } = isRecord(values[label]) ? values[label] : {}
    // A circle is a mistake of its own.
    if (call === undefined || labelsAbove.includes(label)) return 0
    const inputs = [address, args, valueAt(decimals, ['address'])]
      .flatMap(textsIn)
      .filter(name => Object.hasOwn(values, name))
    return 1 + Math.max(0, ...inputs.map(name => steps(name, [...labelsAbove, label])))
  }
  return Object.keys(values).flatMap(label => {
    const stepCount = ofList + steps(label, [])
    if (stepCount <= stepsMax) return []
    const of = ofList > 0 ? `, ${ofList} of them for the list` : ''
    const message = `needs ${stepCount} calls one after the other${of}, and an hour has at most ${stepsMax}`
    return [{ path: [...path, 'values', label], message, fix: 'write an address in place of one that is read' }]
  })
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** The maps of a section, one of each file. */
function mapsOf(documents: readonly ConfigDocument[], section: string): MapAtPath[] {
  return documents.flatMap(({ rawValue, placeOf }) => {
    const map = valueAt(rawValue, [section])
    return isRecord(map) ? [{ map, path: [section], placeOf }] : []
  })
}

function namesOf(maps: readonly MapAtPath[], fix: string): NamedId[] {
  return maps.flatMap(({ map, path, placeOf }) =>
    Object.keys(map).map(id => ({ id, path: [...path, id], place: placeOf([...path, id], 'key'), fix })),
  )
}

function chainNames(documents: readonly ConfigDocument[]): readonly string[] {
  const chains = valueAt(documents[0]?.rawValue, ['chains'])
  return isRecord(chains) ? Object.keys(chains) : []
}

/** The entries of shipped collectors: code of one's own may mean something else by a price or a list. */
function shippedOf(protocols: readonly MapAtPath[]): MapAtPath[] {
  return protocols
    .flatMap(protocol => entriesOf(protocol, 'collectors'))
    .filter(({ map: { use } }) => typeof use === 'string' && /^[a-z0-9-]+$/.test(use))
}

/** Mistake of a `use` whose last part cannot be an id. (The schema checks an `id` key.) */
function unnameable({ id, path, place }: NamedId): PlacedMistake[] {
  if (path.at(-1) !== 'use' || slug(id).ok) return []
  const message = `${pathText(path)}: the collector needs an id, as ${quoted(id)} cannot be one`
  return [{ place, message, fix: `add id: ${/[a-z0-9]/i.test(id) ? sanitised(id) : 'my-collector'}` }]
}

/** Checks that every protocol has a key for a remote service; the embedded one has its own. */
function checkKeys(
  { rawValue: tree, placeOf }: ConfigDocument,
  protocols: readonly MapAtPath[],
  isWhole: boolean,
): PlacedMistake[] {
  const service = valueAt(tree, ['service'])
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
  const knownLanes = [...Object.keys(chains), 'web']
  return lanes.flatMap((lane, index) => {
    if (typeof lane !== 'string' || knownLanes.includes(lane) || lane.startsWith('machine/') || lane.trim() === '')
      return []
    const path = ['fleet', 'lanes', index]
    const message = `${pathText(path)}: ${quoted(lane)} is neither a chain under chains: nor web nor machine/NAME`
    return [{ place: placeOf(path), message, fix: didYouMean(lane, knownLanes, `there are: ${knownLanes.join(', ')}`) }]
  })
}

/** The name of a chain, a price or a list in options, and where it stands. */
interface OptionName {
  readonly name: string
  readonly path: FilePath
  /** A chain is named by an option, or is the key of one. */
  readonly side: 'key' | 'value'
}

/** Finds chains, prices or lists that options name and that are not configured. */
function unknownNames(
  kind: keyof typeof examples,
  options: readonly OptionName[],
  names: readonly string[],
  placeOf: PlaceOf,
): PlacedMistake[] {
  return options
    .filter(({ name }) => !names.includes(name))
    .map(({ name, path, side }) => {
      // A price may be that of a token, by its address.
      const words = kind === 'price' ? [...names, 'token'] : names
      const add = `add it: ${kind}s: { ${/^[\w-]+$/.test(name) ? name : quoted(name)}: ${examples[kind]} }`
      const advice = names.length === 0 ? add : `configured: ${names.join(', ')}; or ${add}`
      return {
        place: placeOf(path, side),
        message: `${pathText(path)}: there is no ${kind} ${quoted(name)} under ${kind}s:`,
        // A similar name may be of something else: USDC is no typo of USDT.
        fix: didYouMean(name, words, advice, add),
      }
    })
}

/** An entry of each kind. */
const examples = {
  chain: '{ id: …, rpc: […] }',
  price: '[{ chain: …, feed: "0x…" }]',
  list: '{ chain: …, fixed: ["0x…"] }',
} as const

/** The chains that a collector's options name, in their order. */
export function namedChains(options: unknown): readonly string[] {
  return chainsIn(options, []).map(({ name }) => name)
}

/**
 * The chains that options name: an option `chain` is a chain's name, `chains` a list of them, and `of` a map of maps by
 * them, at any depth. Other shapes are left to the collector.
 */
function chainsIn(options: unknown, path: FilePath): OptionName[] {
  if (typeof options !== 'object' || options === null) return []
  return Object.entries(options).flatMap(([key, part]): OptionName[] => {
    const partPath = [...path, Array.isArray(options) ? Number(key) : key]
    if (key === 'chain' && typeof part === 'string') return [{ name: part, path: partPath, side: 'value' }]
    if (key === 'chains' && Array.isArray(part)) {
      return part.flatMap((name, index): OptionName[] =>
        typeof name === 'string' ? [{ name, path: [...partPath, index], side: 'value' }] : [],
      )
    }
    if (key !== 'of' || !isRecord(part) || !Object.values(part).every(isRecord)) return chainsIn(part, partPath)
    return [...keysOf(part, partPath), ...chainsIn(part, partPath)]
  })
}

/**
 * The texts of an option of that name, at any depth, with the chain they are read on: the nearest `chain` above, or the key
 * of `of`.
 */
export function textsOf(
  option: 'each' | 'price',
  options: unknown,
  path: FilePath,
  outerChain?: string,
): (OptionName & { readonly chain?: string })[] {
  if (typeof options !== 'object' || options === null) return []
  const own = valueAt(options, ['chain'])
  const chain = typeof own === 'string' ? own : outerChain
  return Object.entries(options).flatMap(([key, part]) => {
    const partPath = [...path, Array.isArray(options) ? Number(key) : key]
    if (key === option && typeof part === 'string')
      return [{ name: part, path: partPath, side: 'value' as const, ...(chain !== undefined && { chain }) }]
    if (key !== 'of' || !isRecord(part) || !Object.values(part).every(isRecord))
      return textsOf(option, part, partPath, chain)
    return Object.entries(part).flatMap(([name, inner]) => textsOf(option, inner, [...partPath, name], name))
  })
}

/** Whether a price has a name: `price: token` is that of the token itself. */
const isNamed = ({ name }: OptionName) => name !== 'token'

function pricesInCircles(files: readonly Pick<MapAtPath, 'map' | 'placeOf'>[]): PlacedMistake[] {
  const prices = new Map(
    files.flatMap(({ map, placeOf }) => Object.entries(map).map(([name, own]) => [name, { own, placeOf }])),
  )
  const neededBy = (name: string) => textsOf('price', prices.get(name)?.own, []).map(needed => needed.name)
  return circlesIn(prices.keys(), neededBy).flatMap(circle => {
    const [name = ''] = circle
    const message = `${pathText(['prices', name])}: needs itself: ${[...circle, name].join(' → ')}`
    const place = prices.get(name)?.placeOf(['prices', name], 'key')
    return place ? [{ place, message, fix: 'let one of them have a source of its own' }] : []
  })
}
