import { describe, expect, it } from 'vitest'
import { Fault, faultRecord } from '../../../src/model/fault.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { overdueMs } from '../../../src/model/limits.ts'
import type { Lateness } from '../../../src/outbox/contract/status-store.ts'
import { type OpenHour, pingText, pingUrl, resultOf } from '../../../src/reports/heartbeat/heartbeat.ts'
import { type ReadinessInput, readinessOf } from '../../../src/status/readiness.ts'
import { collector } from '../../support/collectors.ts'
import { anHour } from '../../support/metrics.ts'

const nothing: Lateness = {
  late: [],
  missing: [],
  gaps: [],
  deadAndHeld: { dead: 0, held: 0 },
  destinations: [{ notBeforeMs: 0, probeAtMs: 0, failures: 0 }],
}
const down = [{ notBeforeMs: 0, probeAtMs: 0, failures: 3, waiting: 'm.example.com answers 503' }]
const passing = faultRecord(new Fault('chain-behind', 'no block past the hour yet'))
const lasting = faultRecord(new Fault('chain-call-reverted', 'the contract refused'))
const late = (fault?: typeof passing) => ({
  late: [{ collector: 'a/b', hours: 1, oldest: anHour, ...(fault && { fault }) }],
})
const soon = { nowMs: anHour + 20_000 }
const overdue = { nowMs: anHour + overdueMs }

/** State of a daemon with one collector, apart from its outbox. */
const observed: ReadinessInput = {
  config: { protocols: [{ id: 'a', collectors: [collector('b', { protocolId: 'a' })] }], status: { ready: 'late' } },
  configuration: { file: 'tidegauge.yaml', digest: 'd1', inForceSinceMs: 0 },
  outbox: { health: { fullSentence: undefined, lockedSentence: () => undefined } },
  host: 'm.example.com',
  destinations: ['service'],
  startedAtMs: 0,
} as never

function open(lateness: Partial<Lateness>, more: Partial<OpenHour> = {}, isStrict = false): OpenHour {
  const all = { ...nothing, ...lateness }
  const { protocols } = observed.config
  const config = { protocols, status: { ready: isStrict ? 'strict' : 'late' } } as ReadinessInput['config']
  const ready = readinessOf({ ...observed, config, nowMs: anHour + overdueMs }, all, undefined, anHour)
  return { hour: anHour, lateness: all, ready, startedAtMs: 0, ...soon, ...more }
}

describe('the result of an hour', () => {
  it.each<[string, Partial<Lateness>, Partial<OpenHour>]>([
    ['while it is being collected', late(), soon],
    ['while a collector is tried again', late(passing), soon],
    ['before it is planned', { missing: ['a/b'] }, soon],
    ['while its metrics are being delivered', { due: { oldest: anHour, metrics: 2 } }, soon],
    [
      'while a failed collector’s other metrics are being delivered',
      { ...late(lasting), due: { oldest: anHour, metrics: 2 } },
      soon,
    ],
    [
      'for a quarter of an hour after a start',
      late(),
      { nowMs: anHour + overdueMs + 60_000, startedAtMs: anHour + 60_001 },
    ],
  ])('is open %s', (_, lateness, more) => {
    expect(resultOf(open(lateness, more))).toBeUndefined()
  })

  it.each<[string, Partial<Lateness>, Partial<OpenHour>]>([
    ['as soon as all is collected and delivered', {}, soon],
    [
      'although a collector that was removed has a gap',
      { gaps: [{ collector: 'x/y', hour: anHour, state: 'gap', attempts: 0 }] },
      soon,
    ],
  ])('is a success %s', (_, lateness, more) => {
    expect(resultOf(open(lateness, more))).toEqual({ kind: 'success', hour: anHour, sentences: [] })
  })

  it.each<[string, Partial<Lateness>, Partial<OpenHour>, RegExp]>([
    [
      'at once for what fails until it is changed',
      late(lasting),
      soon,
      /^a\/b has not collected .*: the contract refused\. Next try within 10 min\.$/,
    ],
    [
      'at once for a gap',
      { gaps: [{ collector: 'a/b', hour: anHour, state: 'gap', attempts: 0, fault: lasting }] },
      soon,
      /no value of .* the contract refused\. What can be mended\? tidegauge gaps$/,
    ],
    ['after a quarter of an hour for what may pass', late(passing), overdue, /no block past the hour yet/],
    [
      'after a quarter of an hour for what is undelivered, with why',
      { due: { oldest: hourAfter(anHour, -3), metrics: 400 }, destinations: down },
      overdue,
      /^400 metrics are not delivered to m\.example\.com, .*\. m\.example\.com answers 503\. Nothing is lost/,
    ],
    ['after a quarter of an hour for what was not planned', { missing: ['a/b'] }, overdue, /not even planned/],
    [
      'although the clock was set back since the start',
      late(),
      { nowMs: anHour + 2 * overdueMs, startedAtMs: anHour * 2 },
      /has not collected/,
    ],
  ])('is a failure %s', (_, lateness, more, sentence) => {
    expect(resultOf(open(lateness, more))).toEqual({
      kind: 'fail',
      hour: anHour,
      sentences: [expect.stringMatching(sentence)],
    })
  })
})

it.each([
  ['dead', { dead: 2, held: 0 }, /refused 2 metrics .* for good\. Decide: tidegauge dead ls$/],
  ['held', { dead: 0, held: 1 }, /^1 value .* looks wrong/],
] as const)(
  '%s metrics are no failure of an hour and are reported, as in readiness; with "strict" they are one',
  (_, deadAndHeld, sentence) => {
    const sentences = [expect.stringMatching(sentence)]
    expect(resultOf(open({ deadAndHeld }))).toEqual({ kind: 'success', hour: anHour, sentences })
    expect(resultOf(open({ deadAndHeld }, {}, true))).toEqual({ kind: 'fail', hour: anHour, sentences })
  },
)

describe('a ping', () => {
  it.each([
    ['https://hc.example.com/uuid', 'start', 'https://hc.example.com/uuid/start'],
    ['https://hc.example.com/uuid/', 'fail', 'https://hc.example.com/uuid/fail'],
    ['https://hc.example.com/key/slug?create=1', 'fail', 'https://hc.example.com/key/slug/fail?create=1'],
    ['https://hc.example.com/key/slug?create=1', 'success', 'https://hc.example.com/key/slug?create=1'],
    ['http://127.0.0.1:8000', 'start', 'http://127.0.0.1:8000/start'],
  ] as const)('of %s for %s goes to %s', (check, kind, url) => {
    expect(pingUrl(check, kind)).toBe(url)
  })

  it('has the hour in its first line, and stays below what is kept of it', () => {
    const text = pingText({ kind: 'fail', hour: anHour, sentences: ['one', 'x'.repeat(20_000)] })
    expect(text.split('\n').slice(0, 2)).toEqual(['2026-11-20T13:00:00Z', 'one'])
    expect(text.length).toBeLessThan(10_000)
  })
})
