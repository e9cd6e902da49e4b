import { beforeEach, describe, expect, it, vi } from 'vitest'
import { namedService } from '../../src/app/connection.ts'
import { FleetIdentity } from '../../src/app/fleet-identity.ts'
import { loadConfig } from '../../src/config/load.ts'
import { configurationParts, partBytes } from '../../src/outbox/contract/fleet-store.ts'
import { fleetState } from '../../src/status/fleet.ts'
import { configFile } from '../config/file.ts'

/** Places of the same key on two machines, and of another one. */
const places = { one: 'KEY_ONE', same: 'KEY_AT_ANOTHER_PLACE', other: 'ANOTHER_KEY' }

beforeEach(() => {
  vi.stubEnv(places.one, 'the-key')
  vi.stubEnv(places.same, 'the-key')
  vi.stubEnv(places.other, 'another-key')
})

const yaml = `service: { url: "https://m.example.com", key: { env: ${places.one} } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: eu-1, lanes: [web] }
delivery: { pace: 5 }
outbox: { keep: 30d }
collect: { catchUp: 7d }
status: { listen: "127.0.0.1:9464" }
chains: { ethereum: { id: 1, rpc: ["http://127.0.0.1:8545"] } }
protocols:
  - { id: zebra, name: Zebra, collectors: [{ use: contract-read, options: { chain: ethereum, decimals: 6 } }] }
  - { id: alpha, name: Alpha, collectors: [{ use: host }] }
`

function identityOf(text: string, salt = 'salt') {
  const config = loadConfig(configFile(text))
  const { destinations } = namedService(config)
  return { destinations, identity: new FleetIdentity(config, destinations, salt) }
}

function differing(text: string, salt?: string): string[] {
  const [before, after] = [identityOf(yaml).identity.digest, identityOf(text, salt).identity.digest]
  const part = (digest: Buffer, place: number) => digest.toString('hex', place * partBytes, (place + 1) * partBytes)
  return configurationParts.filter((_, place) => part(before, place) !== part(after, place))
}

describe('what a daemon says of its configuration', () => {
  it.each([
    ['nothing', '', '', []],
    ['what is of its machine', 'eu-1, lanes: [web]', 'eu-2', []],
    ['the address of its status', '9464', '9465', []],
    ['its node', '127.0.0.1:8545', '10.0.0.7:8545', []],
    ['the place of the same key', places.one, places.same, []],
    ['the key', places.one, places.other, ['keys']],
    ['a protocol of its own with the same key', 'id: alpha', 'id: aardvark', ['keys', 'collectors']],
    // A key belongs to one service.
    ['the service', 'm.example.com', 'n.example.com', ['service', 'keys']],
    ['its path', 'm.example.com', 'm.example.com/v2', ['service', 'keys']],
    ['the pace', 'pace: 5', 'pace: 6', ['settings']],
    ['the time for which values are kept', 'keep: 30d', 'keep: 31d', ['settings']],
    ['the range of catch-up', 'catchUp: 7d', 'catchUp: 6d', ['settings']],
    ['an option', 'decimals: 6', 'decimals: 18', ['collectors']],
    ['the name of a protocol', 'name: Zebra', 'name: Zebras', ['collectors']],
    ['a collector’s start', 'use: host', 'use: host, since: 2026-11-01T00:00:00Z', ['collectors']],
    ['the finality of a chain', '{ id: 1,', '{ id: 1, settle: 47m,', ['collectors']],
  ])('tells apart by %s', (_, was, is, parts) => {
    expect(differing(yaml.replace(was, is))).toEqual(parts)
  })

  it('shows nothing of a key: digests of another database differ', () => {
    expect(differing(yaml, 'pepper')).toEqual(['keys'])
    const { identity, destinations } = identityOf(yaml)
    const [destination] = destinations
    if (!destination) throw new Error('one is needed')
    expect(identity.keyName(destination)).toMatch(/^key\/[0-9a-f]{16}$/)
  })

  const ownKey = (id: string, place: string) => [`id: ${id},`, `id: ${id}, key: { env: ${place} },`] as const
  const changed = (...replaced: readonly (readonly [was: string, is: string])[]) =>
    replaced.reduce((text, [was, is]) => text.replace(was, is), yaml)
  const keysAt = (zebra: string, alpha: string) => changed(ownKey('zebra', zebra), ownKey('alpha', alpha))
  it.each<readonly [what: string, one: string, other: string, named: string | undefined]>([
    ['the same keys', keysAt(places.one, places.other), keysAt(places.same, places.other), undefined],
    [
      'two keys that are swapped',
      keysAt(places.one, places.other),
      keysAt(places.other, places.one),
      'zebra and 1 more',
    ],
    ['one other key', keysAt(places.one, places.other), keysAt(places.one, places.one), 'alpha'],
    ['the same key for another service', yaml, changed(['m.example.com', 'n.example.com']), undefined],
    [
      'a protocol of its own with another key',
      changed(['id: alpha', 'id: b, key: { env: ANOTHER_KEY }']),
      yaml,
      undefined,
    ],
  ])('shows in the state of the fleet for which protocols the keys differ: %s', (_, one, other, named) => {
    const seen = {
      version: '1',
      lanes: [],
      roles: [],
      pid: 7,
      host: 'h',
      configFile: 'c',
      clockOffMs: 0,
      startedAtMs: 0,
      differing: [],
      leftBehind: [],
    }
    const daemons = [one, other].map((text, place) => ({
      ...{ ...seen, name: `eu-${place}`, digest: identityOf(text).identity.digest, seenAtMs: 0 },
    }))
    const { differences } = fleetState({ daemons, dueLanes: [], nowMs: 0, protocolIds: ['alpha', 'zebra'] })
    const keys = differences.filter(sentence => sentence.includes('keys of the service'))
    if (named === undefined) return expect(keys).toEqual([])
    const digest = '[0-9a-f]{8}'
    const sentence = `The daemons have different keys of the service for ${named}: ${digest} on eu-0, ${digest} on eu-1\\. `
    expect(keys).toEqual([expect.stringMatching(new RegExp(`^${sentence}`))])
  })

  it('names a destination alike on all machines, and a rotated key by another name', () => {
    const moved = identityOf(yaml.replace(places.one, places.same))
    const { identity, destinations } = identityOf(yaml)
    expect(destinations.map(({ name }) => name)).toEqual(['alpha'])
    expect(moved.destinations.map(({ name }) => name)).toEqual(['alpha'])
    const names = () => [...destinations, ...moved.destinations].map(one => identity.keyName(one))
    const [before, same] = names()
    expect(same).toBe(before)
    vi.stubEnv(places.one, 'rotated-key')
    const [rotated] = names()
    expect(rotated).not.toBe(before)
    expect(identity.keyName({ name: 'alpha', readKey: () => JSON.parse('no key') })).toBe('alpha')
  })
})
