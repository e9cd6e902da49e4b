import { type Config, type NamedConfig, protocolCollectors } from './config.ts'

/**
 * Describes the changes between two configurations as short sentences for the log: protocols, collectors and chains by
 * name, other sections by key. Pure; holds no secret, as a configuration only refers to secrets.
 */
export function changesOf(oldConfig: Config, newConfig: Config): string[] {
  const protocols = (config: Config) => config.protocols.map(({ collectors: _, ...own }) => own)
  return [
    ...listed('protocol', protocols(oldConfig), protocols(newConfig), ({ id }) => id),
    ...listed('collector', protocolCollectors(oldConfig), protocolCollectors(newConfig), ({ id }) => id),
    ...listed('chain', oldConfig.chains, newConfig.chains, ({ name }) => name),
    ...listed('price', oldConfig.prices, newConfig.prices, priceName),
    ...listed('list', oldConfig.lists, newConfig.lists, ({ name }) => name),
    ...sections.filter(key => textOf(oldConfig[key]) !== textOf(newConfig[key])).map(key => `${key} changed`),
  ]
}

const priceName = ({ name }: NamedConfig) => (name.endsWith('/') ? `of the tokens of ${name.slice(0, -1)}` : name)

/** Keys of the sections that are compared as a whole. */
const sections = [
  'service',
  'proxy',
  'ca',
  'data',
  'fleet',
  'collect',
  'delivery',
  'outbox',
  'status',
  'log',
  'heartbeat',
  'notify',
] as const

function listed<T>(kind: string, oldList: readonly T[], newList: readonly T[], nameOf: (thing: T) => string): string[] {
  const textsOf = (things: readonly T[]) => new Map(things.map(thing => [nameOf(thing), textOf(thing)]))
  const [oldTexts, newTexts] = [textsOf(oldList), textsOf(newList)]
  return [
    ...[...newTexts.keys()].filter(name => !oldTexts.has(name)).map(name => `${kind} ${name} added`),
    ...[...oldTexts.keys()].filter(name => !newTexts.has(name)).map(name => `${kind} ${name} removed`),
    ...[...newTexts.keys()]
      .filter(name => oldTexts.has(name) && oldTexts.get(name) !== newTexts.get(name))
      .map(name => `${kind} ${name} changed`),
  ]
}

/** Text of a value for comparison; its place in the file does not count. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => (key === 'place' || key === 'placeOf' ? undefined : part)) ?? ''
}
