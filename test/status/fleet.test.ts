import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { daemonAwayMs } from '../../src/model/limits.ts'
import type { SeenDaemon } from '../../src/outbox/contract/fleet-store.ts'
import { fleetState } from '../../src/status/fleet.ts'
import { anHour } from '../support/metrics.ts'

const nowMs = anHour
const daemon = (name: string, changed: Partial<SeenDaemon> = {}): SeenDaemon => ({
  name,
  version: '1.0.0',
  digest: Buffer.alloc(32, 0xab),
  lanes: ['ethereum', `machine/${name}`],
  roles: ['finality/1', 'deliver/service', 'reports'],
  pid: 7,
  host: name,
  configFile: 'tidegauge.yaml',
  clockOffMs: 0,
  startedAtMs: nowMs - 60_000,
  seenAtMs: nowMs,
  differing: [],
  leftBehind: [],
  ...changed,
})
const due = (lane: string, hours = 1) => ({ lane, hours, oldest: hourAfter(anHour, 1 - hours) })
const away = { seenAtMs: nowMs - daemonAwayMs - 1 }
/** A digest with the key of a protocol. */
const withKey = (key: number) => ({ digest: Buffer.concat([Buffer.alloc(40, 0xab), Buffer.alloc(8, key)]) })
/** Differs in one part of the configuration. */
const differsIn = (part: number) => {
  const digest = Buffer.alloc(32, 0xab)
  digest.fill(0xcd, 8 * part, 8 * part + 8)
  return { digest }
}
const other = differsIn(2)

describe('the state of a fleet', () => {
  it.each<[string, Partial<SeenDaemon>, true | undefined]>([
    ['seen now', {}, undefined],
    ['seen one heartbeat late', { seenAtMs: nowMs - daemonAwayMs }, undefined],
    ['not seen for longer', away, true],
    ['seen in the future, by a clock that was set back', { seenAtMs: nowMs + 5_000 }, undefined],
  ])('has a daemon that was %s', (_, changed, isAway) => {
    const [shown] = fleetState({ daemons: [daemon('eu-1', changed)], dueLanes: [], nowMs }).daemons
    expect(shown).toEqual({
      name: 'eu-1',
      version: '1.0.0',
      configuration: 'abab'.repeat(4),
      lanes: ['ethereum', 'machine/eu-1'],
      delivers: isAway ? [] : ['service'],
      ...(!isAway && { isReporting: true }),
      startedAtMs: nowMs - 60_000,
      seenAtMs: changed.seenAtMs ?? nowMs,
      ...(isAway && { isAway }),
    })
  })

  it.each([
    ['a living daemon works', [daemon('eu-1')], [due('ethereum')], []],
    ['no daemon has', [daemon('eu-1')], [due('base')], ['base']],
    ['only a daemon has that is away', [daemon('eu-1', away)], [due('ethereum')], ['ethereum']],
    ['two have, one of which is away', [daemon('eu-1', away), daemon('eu-2')], [due('ethereum')], []],
    ['no daemon is there for', [], [due('ethereum'), due('web')], ['ethereum', 'web']],
    ['no hour is due in', [], [], []],
  ])('names a lane that %s as it is', (_, daemons, lanes, idle) => {
    expect(fleetState({ daemons, dueLanes: lanes, nowMs }).idleLanes.map(({ lane }) => lane)).toEqual(idle)
  })

  it.each([
    ['base', 'Start a daemon whose fleet.lanes has it, and that reaches a node of the chain'],
    ['web', 'Start a daemon whose fleet.lanes has it'],
    ['machine/eu-3', 'Start the daemon eu-3 again, or name another one as the machine of its collectors'],
  ])('says what to do about the idle lane %s', (lane, fix) => {
    const [one] = fleetState({ daemons: [], dueLanes: [due(lane)], nowMs }).idleLanes
    const [many] = fleetState({ daemons: [], dueLanes: [due(lane, 3)], nowMs }).idleLanes
    const start = `No living daemon works the lane ${lane}, and `
    expect(one?.reason).toBe(`${start}1 hour is due there, the oldest ${isoOf(anHour)}. ${fix}.`)
    expect(many?.reason).toBe(`${start}3 hours are due there, the oldest ${isoOf(hourAfter(anHour, -2))}. ${fix}.`)
  })

  it.each([
    ['equal daemons', [daemon('a'), daemon('b')], []],
    ['one daemon', [daemon('a')], []],
    [
      'two versions',
      [daemon('a'), daemon('b', { version: '2.0.0' }), daemon('c')],
      ['The daemons have different versions: 1.0.0 on a and c, 2.0.0 on b. Update them to the same.'],
    ],
    [
      'two configurations',
      [daemon('a'), daemon('b', other)],
      [
        'The daemons have different collectors or options: abababab on a, cdcdcdcd on b. Hours of a collector that one lacks wait for a daemon that has it: give all of them the same configuration.',
      ],
    ],
    [
      'two services',
      [daemon('a'), daemon('b', differsIn(0))],
      [
        'The service.url of b is not the service of this fleet: it delivers nothing. Correct it, or run tidegauge fleet take service where the right one is configured.',
      ],
    ],
    [
      'another definition of collectors',
      [daemon('a', { differing: ['x/y', 'x/z'] }), daemon('b', { ...away, differing: ['x/y'] })],
      [
        'a defines x/y and 1 more otherwise (code or options): it leaves its hours to the other daemons. Give all the same configuration, or run tidegauge fleet take collector x/y where the right one is.',
      ],
    ],
    [
      'two keys and settings',
      [daemon('a', withKey(0xab)), daemon('b', withKey(0xcd)), daemon('c', differsIn(3))],
      [
        expect.stringMatching(/different keys of the service for a protocol: abababab on a, cdcdcdcd on b\./),
        expect.stringMatching(/different settings .*: abababab on a and b, cdcdcdcd on c\./),
      ],
    ],
    [
      'two daemons of one name, and a clock that is off',
      [
        daemon('a', { namesake: 'us, pid 9' }),
        daemon('b', { clockOffMs: -240_000 }),
        daemon('c', { clockOffMs: 59_000 }),
      ],
      [
        'Two daemons have the name a (a, pid 7; us, pid 9). Give each a fleet.name of its own.',
        "The clock of b is 240 s behind the database's, by which the fleet goes. Set one of them right.",
      ],
    ],
    [
      'a daemon that has died, and left collectors behind, unless it may be started again',
      [
        daemon('a'),
        daemon('b', { seenAtMs: nowMs - 13_001, leftBehind: ['x/y', 'x/z'] }),
        daemon('c', { seenAtMs: nowMs - 13_000, leftBehind: ['v/w'] }),
      ],
      [
        'No living daemon runs x/y and 1 more, which b ran until it died. Start b again, or give another daemon its configuration; where others define it otherwise, theirs counts after a quarter of an hour, or with tidegauge fleet take collector x/y.',
      ],
    ],
    [
      'another version and configuration that are away',
      [daemon('a'), daemon('b', { ...other, ...away, version: '2' })],
      [],
    ],
  ])('names the differences of %s', (_, daemons, differences) => {
    const service = { name: 'service', digest: Buffer.alloc(32, 0xab) }
    expect(fleetState({ daemons, dueLanes: [], nowMs, service }).differences).toEqual(differences)
  })

  it('has the kind of each difference, and the daemon that it is of', () => {
    const daemons = [
      daemon('a'),
      daemon('b', { version: '2', ...differsIn(0) }),
      daemon('c', { ...differsIn(3), differing: ['x/y'], failing: 'the service refuses its key (401)' }),
      daemon('d', { namesake: 'us, pid 9', clockOffMs: 60_000 }),
    ]
    const service = { name: 'service', digest: Buffer.alloc(32, 0xab) }
    const { differing } = fleetState({ daemons, dueLanes: [], nowMs, service })
    expect(differing.map(({ kind, daemon: name }) => [kind, name])).toEqual([
      ['version', undefined],
      ['settings', undefined],
      ['service', 'b'],
      ['definition', 'c'],
      ['failing', 'c'],
      ['name', 'd'],
      ['clock', 'd'],
    ])
  })
})

function isoOf(hour: number): string {
  return new Date(hour).toISOString().replace('.000Z', 'Z')
}
