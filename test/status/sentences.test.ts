import { expect, it } from 'vitest'
import { allFailed, EndpointFailure, type FailureKind } from '../../src/chain/endpoint/failures.ts'
import { afterFlush } from '../../src/delivery/breaker.ts'
import type { Stop } from '../../src/delivery/isolate/state.ts'
import { networkWords } from '../../src/edge/network-reason.ts'
import { judgeClock } from '../../src/model/clock.ts'
import { Fault, faultRecord } from '../../src/model/fault.ts'
import { overdueMs } from '../../src/model/limits.ts'
import type { Lateness } from '../../src/outbox/contract/status-store.ts'
import { fleetState } from '../../src/status/fleet.ts'
import { type ReadinessInput, readinessOf } from '../../src/status/readiness.ts'
import { clockSentences, failingSentence } from '../../src/status/sentences.ts'
import { collector } from '../support/collectors.ts'
import { anHour } from '../support/metrics.ts'

const closed = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
const none: Lateness = {
  late: [],
  missing: [],
  gaps: [],
  deadAndHeld: { dead: 0, held: 0 },
  destinations: [closed],
}
const nowMs = anHour + overdueMs

function observedWith(more: Partial<ReadinessInput> = {}, full?: string, locked?: string): ReadinessInput {
  return {
    config: { protocols: [{ id: 'vault', collectors: [collector('c')] }], status: { ready: 'late' } },
    configuration: { file: 'tidegauge.yaml', digest: 'd1', inForceSinceMs: 0 },
    outbox: { health: { fullSentence: full, isReadOnly: full?.includes('read'), lockedSentence: () => locked } },
    host: 'm.example.com',
    destinations: ['service'],
    startedAtMs: 0,
    nowMs,
    ...more,
  } as never
}

/** Reasons and warnings of a daemon with the collector `vault/c`, a quarter of an hour after `anHour`. */
function said(lateness: Partial<Lateness>, more: Partial<ReadinessInput> = {}, full?: string, locked?: string): string {
  const observed = observedWith(more, full, locked)
  const fleetRows = { daemons: [], dueLanes: [{ lane: 'base', hours: 2, oldest: anHour }], nowMs }
  const { reasons, warnings = [] } = readinessOf(
    observed,
    { ...none, ...lateness },
    more.fleetTroubles && fleetState({ ...fleetRows, troubles: more.fleetTroubles }),
  )
  return [...reasons, ...warnings].join('\n')
}

const undelivered = '7 metrics are not delivered to m.example.com, the oldest of 2026-11-20T13:00:00Z.'
/** Of a flush that ended now, with a pause of 2.5 s. */
function waits(
  stop: Omit<Stop, 'kind'> & Partial<Pick<Stop, 'kind'>>,
  notBeforeMs = 0,
  more?: Partial<ReadinessInput>,
) {
  const end = { stop: { kind: 'transient', ...stop } as const, left: [] }
  const state = afterFlush({ ...closed, notBeforeMs }, end, nowMs, 0)
  return said({ due: { oldest: anHour, metrics: 7 }, destinations: [state] }, more)
}
const leftOut = { ...closed, waiting: 'protocol vault is refused (404): register it with tidegauge register vault' }
const unattended = { isUnattended: true }

const failed = (fault: Fault, more?: Partial<ReadinessInput>) =>
  said({ late: [{ collector: 'vault/c', hours: 1, oldest: anHour, fault: faultRecord(fault) }] }, more)
const notCollected = 'vault/c has not collected the hour 2026-11-20T13:00:00Z'
const node = (reason: string, kind: FailureKind, more?: Partial<ReadinessInput>) =>
  failed(allFailed('ethereum', [new EndpointFailure('n.example.com', reason, kind)]), more)

const goesOn = 'Nothing is lost; next try 13:15:02 UTC.'

it.each<[trouble: string, said: () => string, reads: string]>([
  [
    '503',
    () => waits({ reason: '503', status: 503 }),
    `${undelivered} The service answers 503. ${goesOn} The service is at fault: if that goes on, ask who runs it.`,
  ],
  [
    'Retry-After',
    () => waits({ reason: '429', status: 429 }, nowMs + 60_000),
    `${undelivered} The service answers 429, and its Retry-After asks to wait. Nothing is lost; next try 13:16:00 UTC. Nothing is to be done; tidegauge flush sends one small batch at once.`,
  ],
  [
    'Retry-After, and no daemon',
    () => waits({ reason: '429', status: 429 }, nowMs + 60_000, unattended),
    `${undelivered} The service answers 429, and its Retry-After asks to wait until 13:16:00 UTC. Nothing is lost, but no daemon runs, so nothing is tried again: tidegauge flush, or tidegauge run.`,
  ],
  [
    'a redirect, and no daemon: a flush helps only when the address is right',
    () => waits({ kind: 'misdirected', reason: '302' }, 0, unattended),
    `${undelivered} The address does not answer like the service (302). Nothing is lost; check service.url, then: tidegauge flush, or tidegauge run.`,
  ],
  [
    'a name that does not resolve',
    () => waits({ reason: networkWords('ENOTFOUND') }),
    `${undelivered} Delivery waits (there is no such host, ENOTFOUND). ${goesOn} tidegauge doctor says what to do.`,
  ],
  [
    'a certificate that has expired',
    () => waits({ reason: networkWords('CERT_HAS_EXPIRED') }),
    `${undelivered} Delivery waits (its certificate has expired, CERT_HAS_EXPIRED). ${goesOn} tidegauge doctor says what to do.`,
  ],
  [
    'a refused key that is what it was',
    () => waits({ kind: 'key-refused', reason: '401', isUnchanged: true }),
    `${undelivered} The service refuses the key (401), and it has not changed since. Nothing is lost; put a valid key in its place, and delivery goes on at once. The service is asked about the refused key each hour, and at once by tidegauge flush.`,
  ],
  [
    'a redirect',
    () => waits({ kind: 'misdirected', reason: '302 to https://www.example.com' }),
    `${undelivered} The address does not answer like the service (302 to https://www.example.com). ${goesOn} Check service.url.`,
  ],
  [
    'a page of something else, as a success',
    () => waits({ reason: 'the answer is not a push result (200: text/html)', status: 200, isNoResult: true }),
    `${undelivered} Delivery waits (the answer is not a push result (200: text/html)). ${goesOn} Check service.url.`,
  ],
  [
    'a page that asks for a login, before the service',
    () => waits({ kind: 'key-refused', reason: '401: text/html, "Authorization Required"' }),
    `${undelivered} The address does not answer like the service (401: text/html, "Authorization Required"). ${goesOn} Check service.url.`,
  ],
  [
    'metrics that are left out, while the rest is delivered',
    () => said({ due: { oldest: anHour, metrics: 7 }, destinations: [leftOut] }),
    `${undelivered} Protocol vault is refused (404): register it with tidegauge register vault. Nothing is lost, and it is tried again.`,
  ],
  [
    'the same, and no daemon',
    () => said({ due: { oldest: anHour, metrics: 7 }, destinations: [leftOut] }, unattended),
    `${undelivered} Protocol vault is refused (404): register it with tidegauge register vault. Nothing is lost, but no daemon runs, so nothing is tried again: tidegauge flush, or tidegauge run.`,
  ],
  [
    'a key whose file is missing',
    () => waits({ reason: "the secret's file does not exist", isKeyMissing: true }),
    `${undelivered} The key of the service cannot be read: the secret's file does not exist. Nothing is lost; put the key there, and delivery goes on at once.`,
  ],
  [
    'metrics that are all rejected',
    () => waits({ kind: 'systemic', reason: 'the service rejects every metric; all are kept: 400: odd.' }),
    `${undelivered} The service rejects every metric; all are kept: 400: odd. ${goesOn} Compare them with what the service says (tidegauge due ls), or ask who runs it.`,
  ],
  [
    'a refused key, and no daemon',
    () => waits({ kind: 'key-refused', reason: '401' }, 0, unattended),
    `${undelivered} The service refuses the key (401). Nothing is lost; put a valid key in its place, then: tidegauge flush, or tidegauge run.`,
  ],
  [
    '503, whose next try is due',
    () => waits({ reason: '503', status: 503 }, 0, { nowMs: nowMs + 2_500 }),
    `${undelivered} The service answers 503. Nothing is lost; it is tried now. The service is at fault: if that goes on, ask who runs it.`,
  ],
  [
    'hours of many that were not planned, and no daemon: one reason',
    () => said({ missing: ['a/c', 'b/c', 'c/c', 'd/c', 'e/c'] }, unattended),
    'a/c, b/c, c/c and 2 more were not asked for the hour 2026-11-20T13:00:00Z, as no daemon runs. Start it: tidegauge run',
  ],
  [
    'an hour that was not tried, and no daemon',
    () => said({ late: [{ collector: 'vault/c', hours: 1, oldest: anHour }] }, unattended),
    `${notCollected}, as no daemon runs. Start it: tidegauge run`,
  ],
  [
    '503, and no daemon',
    () => waits({ reason: '503', status: 503 }, 0, unattended),
    `${undelivered} The service answers 503. Nothing is lost, but no daemon runs, so nothing is tried again: tidegauge flush, or tidegauge run. The service is at fault: if that goes on, ask who runs it.`,
  ],
  [
    'a backlog, and no daemon',
    () => said({ due: { oldest: anHour, metrics: 7 } }, unattended),
    `${undelivered} Nothing is lost, but no daemon runs, so nothing is tried again: tidegauge flush, or tidegauge run.`,
  ],
  [
    'a node that is down, and no daemon',
    () => node('does not answer', 'unreachable', unattended),
    `${notCollected}: ethereum: n.example.com does not answer. Check that the node runs and can be reached from here; a second endpoint under rpc: takes over. No daemon runs, so nothing is tried again: tidegauge run`,
  ],
  [
    'an hour that was not planned, and no daemon',
    () => said({ missing: ['vault/c'] }, unattended),
    'vault/c was not asked for the hour 2026-11-20T13:00:00Z, as no daemon runs. Start it: tidegauge run',
  ],
  [
    'a backlog that nothing holds back',
    () => said({ due: { oldest: anHour, metrics: 1 } }),
    '1 metric is not delivered to m.example.com, the oldest of 2026-11-20T13:00:00Z. Nothing is lost; delivery goes on.',
  ],
  [
    'a node that is down',
    () => node('does not answer: nothing listens there, ECONNREFUSED', 'unreachable'),
    `${notCollected}: ethereum: n.example.com does not answer: nothing listens there, ECONNREFUSED. Next try within 10 min. Check that the node runs and can be reached from here; a second endpoint under rpc: takes over`,
  ],
  [
    'a node without old state',
    () => node('has no state of block 7', 'pruned'),
    `${notCollected}: ethereum: n.example.com has no state of block 7. Next try within 10 min. A past hour needs an archive node, which keeps old state: put one under rpc:`,
  ],
  [
    'a call that reverts, with two labels',
    () => failed(new Fault('chain-call-reverted', 'TVL, Price: totalAssets() reverted', { fix: 'check the address' })),
    `${notCollected}: TVL, Price: totalAssets() reverted. Next try within 10 min. Check the address`,
  ],
  [
    'nodes that contradict each other',
    () => failed(new Fault('chain-disagreement', 'a.example says 7, b.example 8', { fix: 'compare with an explorer' })),
    `${notCollected}: a.example says 7, b.example 8. Next try within 10 min. Compare with an explorer`,
  ],
  [
    'a missing secret',
    () => failed(new Fault('secret-missing', "the secret's file does not exist", { fix: 'put the secret there' })),
    `${notCollected}: the secret's file does not exist. Next try within 10 min. Put the secret there`,
  ],
  [
    'a collector that cannot be loaded, for hours',
    () => {
      const fault = faultRecord(new Fault('collector-unusable', 'own.ts:3:1: Unexpected token'))
      return said({ late: [{ collector: 'vault/c', hours: 3, oldest: anHour, fault }] })
    },
    'vault/c has not collected 3 hours, the oldest 2026-11-20T13:00:00Z: own.ts:3:1: Unexpected token. Next try within 10 min.',
  ],
  [
    'the bound of memory',
    () =>
      failed(
        new Fault('collector-hung', 'collector ./own.ts gave no answer: its process took more than 256 MB', {
          fix: 'read less at a time',
        }),
      ),
    `${notCollected}: collector ./own.ts gave no answer: its process took more than 256 MB. Next try within 10 min. Read less at a time`,
  ],
  [
    'an hour that was not tried',
    () => said({ late: [{ collector: 'vault/c', hours: 1, oldest: anHour }] }),
    `${notCollected}, and has not tried yet. What holds it up? tidegauge doctor`,
  ],
  [
    'an hour without a row',
    () => said({ missing: ['vault/c'] }),
    'vault/c was not asked for the hour 2026-11-20T13:00:00Z, which is not even planned. What holds it up? tidegauge doctor',
  ],
  [
    'a gap',
    () => {
      const fault = faultRecord(new Fault('hour-too-old', 'older than 48 h', { fix: 'tidegauge backfill collects it' }))
      return said({ gaps: [{ collector: 'vault/c', hour: anHour, state: 'gap', attempts: 0, fault }] })
    },
    'vault/c has no value of 2026-11-20T13:00:00Z, and it can no longer be collected: older than 48 h. tidegauge backfill collects it. What can be mended? tidegauge gaps',
  ],
  [
    'a derived value whose window is not full',
    () =>
      failed(new Fault('window-incomplete', 'vault___A of 2026-11-13T13:00:00Z has no value', { fix: 'it follows' })),
    `${notCollected}: vault___A of 2026-11-13T13:00:00Z has no value. Next try within 10 min. It follows`,
  ],
  [
    'dead and held metrics',
    () => said({ deadAndHeld: { dead: 2, held: 1 } }),
    'm.example.com refused 2 metrics of 2026-11-20T13:00:00Z for good. Decide: tidegauge dead ls\n1 value of 2026-11-20T13:00:00Z looks wrong and was not sent. Decide: tidegauge held ls',
  ],
  [
    'a refused configuration',
    () =>
      said(
        {},
        {
          configuration: {
            digest: 'd1',
            file: 'tidegauge.yaml',
            inForceSinceMs: 0,
            refused: { atMs: anHour, reason: 'tidegauge.yaml:6:5: "colectors" is not a key here' },
          },
        },
      ),
    'tidegauge.yaml was changed and has been refused since 2026-11-20T13:00:00Z. The previous configuration stays in force until it is mended: tidegauge.yaml:6:5: "colectors" is not a key here',
  ],
  [
    'a configuration that waits for its database',
    () => {
      const refused = {
        atMs: anHour,
        reason: 'the database db.example.com/tides cannot be reached',
        isWaiting: true as const,
      }
      return said({}, { configuration: { digest: 'd1', file: 'tidegauge.yaml', inForceSinceMs: 0, refused } })
    },
    'tidegauge.yaml was changed and has waited for its database since 2026-11-20T13:00:00Z. The previous configuration stays in force until that can be used: the database db.example.com/tides cannot be reached',
  ],
  [
    'a wrong clock',
    () => {
      const clock = judgeClock({ wallMs: nowMs, evenMs: 0, serviceMs: nowMs - 3 * 3_600_000, witness: 'awaited' })
      return said({}, { clock })
    },
    "This machine's clock is 3 h ahead of the service's: set it right (is NTP running?); nothing is collected until then.",
  ],
  [
    'a full disk',
    () =>
      said(
        {},
        {},
        'the disk is full: nothing new is collected until 32 MiB are free in /data; due metrics are still delivered',
      ),
    'The disk is full: nothing new is collected until 32 MiB are free in /data; due metrics are still delivered.',
  ],
  [
    'a database that can only be read',
    () => said({}, {}, 'the database d can only be read now: nothing new is collected until it can be written again'),
    'The database d can only be read now: nothing new is collected until it can be written again.',
  ],
  [
    'a lock of another process',
    () =>
      said(
        {},
        {},
        undefined,
        "another process has had the outbox's write lock for 60 s: about 5 rows wait in memory until it ends",
      ),
    "Another process has had the outbox's write lock for 60 s: about 5 rows wait in memory until it ends.",
  ],
  [
    'a fleet that stands still',
    () =>
      said(
        {},
        {
          fleetTroubles: [
            'the database has accepted no claim of this daemon for 31 s: the database d can only be read now',
          ],
        },
      ),
    'The database has accepted no claim of this daemon for 31 s: the database d can only be read now.\nNo living daemon works the lane base, and 2 hours are due there, the oldest 2026-11-20T13:00:00Z. Start a daemon whose fleet.lanes has it, and that reaches a node of the chain.',
  ],
  [
    'values that wait for a database',
    () => said({}, { kept: { hours: 1, collectors: 2, folder: '/var/kept' } }),
    'Values of 1 hour of 2 collectors wait in /var/kept until the database takes them. Nothing is lost.',
  ],
  [
    'an hour that fails and is not late yet',
    () =>
      failingSentence(
        'vault/c',
        '2026-11-20T13:00:00Z',
        { message: 'Gone, Lost: no number at /gone.', fix: 'compare the pointer with the answer' },
        { nowMs },
      ),
    `${notCollected} yet: Gone, Lost: no number at /gone. Next try within 10 min. Compare the pointer with the answer`,
  ],
])('a person reads of %s what it is, what follows, and what to do', (_, text, reads) => {
  expect(text()).toBe(reads)
})

const later = { startedAtMs: 0 }
const atStart = { startedAtMs: nowMs - overdueMs + 1 }
const untried = { late: [{ collector: 'vault/c', hours: 1, oldest: anHour }] }
const tried = { late: [{ ...untried.late[0], fault: faultRecord(new Fault('collector-threw', 'dry')) }] } as never
const due = { due: { oldest: anHour, metrics: 7 } }
const doubted = { clock: { kind: 'doubted', why: 'contradicted', reason: 'it jumped' } } as const
const fullDisk = 'the disk is full'

it.each<[what: string, of: (start: object) => string, isLater: boolean, isAtStart: boolean]>([
  ['an hour that was not tried', start => said(untried, start), true, false],
  ['an hour that failed', start => said(tried, start), true, true],
  ['an hour without a row', start => said({ missing: ['vault/c'] }, start), true, false],
  ['metrics that are late', start => said(due, start), true, false],
  ['metrics that are late and left out', start => said({ ...due, destinations: [leftOut] }, start), true, true],
  ['a reason to wait without a late metric', start => said({ destinations: [leftOut] }, start), false, false],
  ['a lane that no daemon works', start => said({}, { ...start, fleetTroubles: [] }), true, false],
  [
    'a gap of a collector that is gone',
    start => said({ gaps: [{ collector: 'old/c' } as never] }, start),
    false,
    false,
  ],
])('%s is a reason, or is caught up right after a start', (_, of, isLater, isAtStart) => {
  expect([of(later) !== '', of(atStart) !== '']).toEqual([isLater, isAtStart])
})

it('an hour without a row is no reason of its own where nothing is planned', () => {
  expect(said({ missing: ['vault/c'] }, doubted)).toBe('It jumped.')
  expect(said({ missing: ['vault/c'] }, {}, fullDisk)).toBe('The disk is full.')
})

it.each([
  ['is no reason right after a start', 1_000, []],
  ['is one when nothing has confirmed it for minutes', 300_000, ['Nothing confirms it.']],
  ['is one at once where it was set back since the start', -1, ['Nothing confirms it.']],
])('a clock that nothing confirms %s', (_, upMs, sentences) => {
  const clock = { kind: 'doubted', why: 'unconfirmed', reason: 'nothing confirms it' } as const
  expect(clockSentences({ clock, destinations: [], nowMs: 1_000_000 + upMs, startedAtMs: 1_000_000 })).toEqual(
    sentences,
  )
})

it('a derived value whose window is not full is a warning alone', () => {
  const fault = faultRecord(new Fault('window-incomplete', 'vault___A has no value'))
  const late = [{ collector: 'vault/c', hours: 200, oldest: anHour, fault }]
  const { ok, warnings } = readinessOf(observedWith(), { ...none, late }, undefined)
  expect({ ok, warnings: warnings?.length }).toEqual({ ok: true, warnings: 1 })
})
