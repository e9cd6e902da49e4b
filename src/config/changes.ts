import type { Config, NamedConfig } from './config.ts'

/**
 * Describes the changes between two configurations as short sentences for the log: protocols, collectors and chains by
 * name, other sections by key. Pure; holds no secret, as a configuration only refers to secrets.
 */
export function changesOf(before: Config, after: Config): string[] {
  const collectors = (config: Config) => config.protocols.flatMap(protocol => protocol.collectors)
  const protocols = (config: Config) => config.protocols.map(({ collectors: _, ...own }) => own)
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
  return [
    ...listed(
      'protocol',
      named(protocols(before), ({ id }) => id),
      named(protocols(after), ({ id }) => id),
    ),
    ...listed(
      'collector',
      named(collectors(before), ({ id }) => id),
      named(collectors(after), ({ id }) => id),
    ),
    ...listed(
      'chain',
      named(before.chains, ({ name }) => name),
      named(after.chains, ({ name }) => name),
    ),
    ...listed('price', named(before.prices, priceName), named(after.prices, priceName)),
    ...listed(
      'list',
      named(before.lists, ({ name }) => name),
      named(after.lists, ({ name }) => name),
    ),
    ...sections.filter(key => textOf(before[key]) !== textOf(after[key])).map(key => `${key} changed`),
  ]
}

const priceName = ({ name }: NamedConfig) => (name.endsWith('/') ? `of the tokens of ${name.slice(0, -1)}` : name)

type ByName = ReadonlyMap<string, string>

function named<T>(things: readonly T[], nameOf: (thing: T) => string): ByName {
  return new Map(things.map(thing => [nameOf(thing), textOf(thing)]))
}

function listed(kind: string, before: ByName, after: ByName): string[] {
  const added = [...after.keys()].filter(name => !before.has(name))
  const removed = [...before.keys()].filter(name => !after.has(name))
  const changed = [...after].filter(([name, text]) => before.has(name) && before.get(name) !== text)
  return [
    ...added.map(name => `${kind} ${name} added`),
    ...removed.map(name => `${kind} ${name} removed`),
    ...changed.map(([name]) => `${kind} ${name} changed`),
  ]
}

/** Text of a value for comparison; its place in the file does not count. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => (key === 'place' || key === 'placeOf' ? undefined : part)) ?? ''
}
