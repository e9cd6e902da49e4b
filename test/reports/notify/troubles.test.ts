import { describe, expect, it } from 'vitest'
import type { Config } from '../../../src/config/config.ts'
import { Fault, faultRecord } from '../../../src/model/fault.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { overdueMs } from '../../../src/model/limits.ts'
import type { DestinationState } from '../../../src/outbox/contract/delivery-store.ts'
import type { Lateness } from '../../../src/outbox/contract/status-store.ts'
import { type TroubleInput, troublesOf } from '../../../src/reports/notify/troubles.ts'
import { differenceKinds, type FleetDifference } from '../../../src/status/fleet.ts'
import { anHour } from '../../support/metrics.ts'

const nothing: Lateness = { late: [], missing: [], gaps: [], deadAndHeld: { dead: 0, held: 0 }, destinations: [] }
const nowMs = anHour + overdueMs
const calm: TroubleInput = {
  nowMs,
  startedAtMs: 0,
  host: 'm.example.com',
  destinations: ['service'],
  config: { status: { ready: 'late' } } as Config,
  configuration: { file: '/config/tidegauge.yaml', digest: 'd1', inForceSinceMs: 0 },
  outbox: healthy(),
  hour: anHour,
  lateness: nothing,
  unresolvedCounts: [],
}

/** An outbox, and what keeps it from being written. */
function healthy(fullSentence?: string, locked?: string): TroubleInput['outbox'] {
  return { health: { fullSentence, isReadOnly: fullSentence?.includes('read'), lockedSentence: () => locked } } as never
}

const state = (verdict: string, waiting?: string): DestinationState => ({
  notBeforeMs: 0,
  probeAtMs: 0,
  failures: waiting === undefined ? 0 : 3,
  ...(waiting !== undefined && { waiting, cure: verdict === 'transient' ? 'service' : 'new-key' }),
  lastPush: { atMs: 1, verdict },
})
const down = state('transient', 'it answers 503')
const refused = state('key-refused', 'the key is refused (401)')
const due = { oldest: hourAfter(anHour, -2), metrics: 7 }
const fault = faultRecord(new Fault('chain-unreachable', 'the node does not answer', { fix: 'start it' }))
const window = faultRecord(new Fault('window-incomplete', 'b/y___A has no value'))
const strict = { config: { status: { ready: 'strict' } } as Config }
const late = (tried: boolean) => [{ collector: 'a/x', hours: 1, oldest: anHour, ...(tried && { fault }) }]
const look = (lateness: Partial<Lateness>, more: Partial<TroubleInput> = {}): TroubleInput => ({
  ...calm,
  ...more,
  lateness: { ...nothing, ...lateness },
})
const justStarted = { startedAtMs: nowMs - 60_000 }
const short = (of: TroubleInput) =>
  troublesOf(of).map(({ kind, subject, isWeak }) => `${isWeak ? '~' : ''}${kind} ${subject}`.trim())

describe('the troubles of a daemon', () => {
  it.each<[string, TroubleInput, string[]]>([
    ['are none where nothing is late', calm, []],
    ['are metrics that are late', look({ due, destinations: [state('delivered')] }), ['not-delivered']],
    ['are hours that are late', look({ late: late(true) }), ['not-delivered']],
    ['are hours that were not planned', look({ missing: ['a/x'] }), ['not-delivered']],
    ['are one, however many are late', look({ due, late: late(true), missing: ['b/y'] }), ['not-delivered']],
    [
      'do not begin with what is caught up after a start',
      look({ due, late: late(false), missing: ['b/y'] }, justStarted),
      ['~not-delivered'],
    ],
    ['begin after a start with what fails', look({ late: late(true) }, justStarted), ['not-delivered']],
    [
      'begin after a start with what waits',
      look({ due, destinations: [down] }, justStarted),
      ['not-delivered', '~key-refused service'],
    ],
    [
      'are a refused key alone, however late its metrics are',
      look({ due, destinations: [refused] }),
      ['~not-delivered', 'key-refused service'],
    ],
    [
      'are a refused key, and what is late for another reason',
      look({ due, late: late(true), destinations: [refused] }),
      ['not-delivered', 'key-refused service'],
    ],
    ['are a refused key before anything is late', look({ destinations: [refused] }), ['key-refused service']],
    [
      'keep a refused key while its destination fails otherwise',
      look({ destinations: [down] }),
      ['~key-refused service'],
    ],
    ['are no refused key once a push was answered', look({ destinations: [state('delivered')] }), []],
    [
      'are the refused key of one protocol',
      look({ destinations: [state('delivered'), refused] }, { destinations: ['service', 'env:OWN'] }),
      ['key-refused env:OWN'],
    ],
    [
      'are gaps, dead and held metrics by collector',
      {
        ...calm,
        unresolvedCounts: (['gap', 'dead', 'held'] as const).map(kind => ({
          kind,
          collector: 'a/x',
          count: 2,
          hour: anHour,
          reason: 'r',
        })),
      },
      ['gap a/x', 'dead a/x', 'held a/x'],
    ],
    [
      'are a refused configuration',
      { ...calm, configuration: { ...calm.configuration, refused: { atMs: 1, reason: 'r' } } },
      ['not-ready configuration'],
    ],
    ['are a full disk', { ...calm, outbox: healthy('no room') }, ['not-ready disk']],
    [
      'are a full disk alone, where it is why hours are not planned',
      look({ missing: ['a/x'] }, { outbox: healthy('no room') }),
      ['not-ready disk'],
    ],
    [
      'are an outbox that another process locks',
      { ...calm, outbox: healthy(undefined, 'for 60 s') },
      ['not-ready lock'],
    ],
    [
      'are no window that is not full, as in readiness',
      look({ late: [{ ...late(true)[0], fault: window }] as never }),
      [],
    ],
    [
      'are a window that is not full where readiness is strict',
      look({ late: [{ ...late(true)[0], fault: window }] as never }, strict),
      ['not-delivered'],
    ],
    [
      'are a wrong clock, which plans nothing',
      look({ missing: ['a/x'] }, { clock: { kind: 'doubted', why: 'unconfirmed', reason: 'r' } as never }),
      ['not-ready clock'],
    ],
    [
      'do not begin with a clock that is not confirmed yet',
      { ...calm, startedAtMs: nowMs - 2_000, clock: { kind: 'doubted', why: 'unconfirmed', reason: 'r' } as never },
      ['~not-ready clock'],
    ],
  ])('%s', (_, of, troubles) => {
    expect(short(of)).toEqual(troubles)
  })

  it('say what is wrong, why, and what to do', () => {
    const [first] = troublesOf(look({ due, late: late(true), destinations: [down] }))
    expect(first).toEqual({
      kind: 'not-delivered',
      subject: '',
      hour: due.oldest,
      what: '7 metrics are not delivered to m.example.com, the oldest of 2026-11-20T11:00:00Z\na/x has not collected the hour 2026-11-20T13:00:00Z',
      why: 'It answers 503.\nthe node does not answer',
      do: expect.stringMatching(/^nothing is lost.*\nstart it$/),
      items: [
        expect.objectContaining({ why: 'It answers 503.' }),
        {
          what: 'a/x has not collected the hour 2026-11-20T13:00:00Z',
          why: 'the node does not answer',
          do: 'start it',
        },
      ],
    })
  })

  it('name the source that does not answer, which doctor does not ask', () => {
    const away = faultRecord(
      new Fault('http-unreachable', 'a.example does not answer', { facts: { host: 'a.example' } }),
    )
    const [first] = troublesOf(look({ late: [{ collector: 'a/x', hours: 1, oldest: anHour, fault: away }] }))
    expect(first?.do).toBe(
      'it is tried again automatically; if that goes on, check the address, and ask who runs a.example',
    )
  })

  it('are the daemons of a fleet that leave work to others, of which one with another service is reported at once', () => {
    const of = (kind: FleetDifference['kind'], daemon?: string): FleetDifference => {
      return { kind, reason: `why of ${kind}`, fix: 'fix', ...(daemon !== undefined && { daemon }) }
    }
    const differing = [of('service'), ...differenceKinds.map(kind => of(kind, 'eu-2'))]
    const troubles = troublesOf({ ...calm, fleet: { differing } })
    expect(troubles.map(({ subject, beginsAfterMs }) => [subject, beginsAfterMs])).toEqual([
      ['service eu-2', undefined],
      ['definition eu-2', 15 * 60_000],
      ['name eu-2', 15 * 60_000],
    ])
    expect(troubles[0]).toMatchObject({
      kind: 'fleet-differs',
      what: 'eu-2 differs from its fleet, and does only part of the work',
      why: 'why of service',
      do: 'fix',
    })
  })

  it('are kept short, however many have them', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      collector: `a/${index}`,
      hours: 1,
      oldest: anHour,
      fault,
    }))
    const [first] = troublesOf(look({ late: many }))
    expect(first?.what.split('\n')).toHaveLength(6)
    expect(first?.what).toMatch(/and 495 more$/)
    expect(first?.why).toBe('the node does not answer')
  })
})
