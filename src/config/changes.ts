import { type Config, type NamedConfig, protocolCollectors } from './config.ts'

/**
 * Describes the changes between two configurations as short sentences for the log: protocols, collectors and chains by
 * name, other sections by key. Pure; holds no secret, as a configuration only refers to secrets.
 */
export function changesOf(before: Config, after: Config): string[] {
  const protocols = (config: Config) => config.protocols.map(({ collectors: _, ...own }) => own)
  return [
    ...listed('protocol', protocols(before), protocols(after), ({ id }) => id),
    ...listed('collector', protocolCollectors(before), protocolCollectors(after), ({ id }) => id),
    ...listed('chain', before.chains, after.chains, ({ name }) => name),
    ...listed('price', before.prices, after.prices, priceName),
    ...listed('list', before.lists, after.lists, ({ name }) => name),
    ...sections.filter(key => textOf(before[key]) !== textOf(after[key])).map(key => `${key} changed`),
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

function listed<T>(kind: string, before: readonly T[], after: readonly T[], nameOf: (thing: T) => string): string[] {
  const textsOf = (things: readonly T[]) => new Map(things.map(thing => [nameOf(thing), textOf(thing)]))
  const [old, now] = [textsOf(before), textsOf(after)]
  return [
    ...[...now.keys()].filter(name => !old.has(name)).map(name => `${kind} ${name} added`),
    ...[...old.keys()].filter(name => !now.has(name)).map(name => `${kind} ${name} removed`),
    ...[...now.keys()]
      .filter(name => old.has(name) && old.get(name) !== now.get(name))
      .map(name => `${kind} ${name} changed`),
  ]
}

/** Text of a value for comparison; its place in the file does not count. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => (key === 'place' || key === 'placeOf' ? undefined : part)) ?? ''
}
