import { describe, expect, it } from 'vitest'
import { breakerBaseMs } from '../../../src/delivery/breaker.ts'
import type { GateHold } from '../../../src/delivery/gate.ts'
import type { Stop } from '../../../src/delivery/isolate/state.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import type { Answer, Verdict } from '../../../src/model/verdict.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { answered } from '../support/answers.ts'
import { gateAt } from '../support/gate-bench.ts'

const startMs = anHour + 60_000
const goOn = new AbortController().signal
const down: Stop = { kind: 'transient', reason: '503' }
const keyRefused: Stop = { kind: 'key-refused', reason: '401' }
const refused: Verdict = { kind: 'key-refused', reason: '401' }
const settled: Verdict = { kind: 'settled', delivered: [], dead: [], resend: [], warnings: [] }
const delivered: Verdict = { ...settled, delivered: metrics(1) }
const asksToWait = (notBeforeMs: number): Verdict => ({ kind: 'transient', reason: '429', status: 429, notBeforeMs })
const page: Answer = { ...answered(200), described: 'text/html, "Sign in"' }
const whyOf = (hold: GateHold | undefined) => hold?.why

describe('whether a flush may begin', () => {
  type Why = GateHold['why'] | undefined
  const soon = asksToWait(startMs + 5_000)
  it.each<readonly [title: string, push: Verdict | undefined, end: Stop | 'well' | undefined, due: Why, asked: Why]>([
    ['a new gate', undefined, undefined, undefined, undefined],
    ['a flush that went well', undefined, 'well', undefined, undefined],
    ['a flush that failed', undefined, down, 'breaker', undefined],
    ['a push that asked to wait', soon, undefined, 'retry-after', 'retry-after'],
    ['a push that asked to wait, in a flush that failed', soon, down, 'retry-after', 'retry-after'],
    ['a refused key, in a flush that failed', refused, keyRefused, 'breaker', undefined],
  ])('depends on what happened before: %s', async (_, push, end, due, asked) => {
    const time = new VirtualTime(startMs)
    const { gate } = gateAt(time)
    if (push) await gate.pushed(push, 'a-key')
    if (end) await gate.flushed({ ...(end !== 'well' && { stop: end }), left: [] }, undefined)
    expect([whyOf(gate.hold('due')), whyOf(gate.hold('asked'))]).toEqual([due, asked])
    const hold = gate.hold('due')
    if (hold?.why !== 'retry-after') return
    await time.sleep(hold.untilMs - 1 - time.nowMs())
    expect(whyOf(gate.hold('due'))).toBe('retry-after')
    await time.sleep(1)
    expect(whyOf(gate.hold('asked'))).toBeUndefined()
  })

  const hours = (count: number) => hourAfter(anHour, count)
  it.each([
    ['no hour', undefined, undefined, 'breaker'],
    ['the current hour, of which a new process does not know', undefined, hours(0), undefined],
    ['an older hour, of which a new process does not know', undefined, hours(-1), 'breaker'],
    ['the hour that was tried', hours(0), hours(0), 'breaker'],
    ['an hour after it', hours(0), hours(1), undefined],
    ['no hour after it', hours(0), undefined, 'breaker'],
  ])('does not wait for the breaker with a new hour: %s', async (_, tried, newest, why) => {
    const { gate } = gateAt(new VirtualTime(startMs))
    if (tried !== undefined) await gate.enter('due', tried, goOn)
    await gate.flushed({ stop: down, left: [] }, tried)
    expect(whyOf(gate.hold('due', newest))).toBe(why)
  })

  // Keys that are read in turn; an empty one cannot be read.
  it.each<[title: string, stop: Stop, status: number, keys: Readonly<Record<string, Why>>]>([
    ['missing', { ...down, isKeyMissing: true }, 200, { '': 'breaker', 'a-key': undefined }],
    ['refused', keyRefused, 200, { 'a-key': 'breaker', '': 'breaker', new: undefined }],
    ['refused, and so was the next', keyRefused, 401, { new: undefined, 'new ': 'breaker', newer: undefined }],
  ])('does not wait for the breaker with a new key in place of one that was %s', async (_, stop, status, keys) => {
    let own = 'a-key'
    const readKey = () => own || expect.fail('it is empty')
    const { gate } = gateAt(new VirtualTime(startMs), { readKey, validate: () => answered(status) })
    if (stop.kind === 'key-refused') await gate.pushed(refused, own)
    await gate.flushed({ stop, left: [] }, undefined)
    for (const [key, why] of Object.entries(keys)) {
      own = key.trim()
      expect([key, whyOf(gate.hold('due'))]).toEqual([key, why])
      if (status === 401) await gate.enter('due', undefined, goOn)
    }
  })

  it('says until when: no flush begins before, and one begins then', async () => {
    const time = new VirtualTime(startMs, () => 0.5)
    const { gate } = gateAt(time)
    for (let count = 0; count < 10; count += 1) {
      await gate.flushed({ stop: down, left: [] }, undefined)
      const untilMs = gate.hold('due')?.untilMs ?? 0
      if (count === 0) expect(untilMs - startMs).toBe(0.75 * breakerBaseMs)
      expect(untilMs).toBeGreaterThan(time.nowMs())
      await time.sleep(untilMs - 1 - time.nowMs())
      expect(gate.hold('due')).toEqual({ why: 'breaker', untilMs })
      await time.sleep(1)
      expect(gate.hold('due')).toBeUndefined()
    }
  })

  it('is remembered across a restart', async () => {
    const bench = gateAt(new VirtualTime(startMs))
    await bench.gate.pushed(asksToWait(startMs + hourMs), 'a-key')
    await bench.gate.flushed({ stop: down, left: [] }, undefined)
    const next = bench.newGate()
    await next.occasion('due')
    expect(next.hold('asked')).toEqual({ why: 'retry-after', untilMs: startMs + hourMs })
    expect(next.failures).toBe(1)
  })

  it('begins again once a push got through, also for a daemon whose predecessor was killed then', async () => {
    const bench = gateAt(new VirtualTime(startMs), { state: { notBeforeMs: 0, probeAtMs: startMs - 1, failures: 1 } })
    await bench.gate.occasion('due')
    await bench.gate.pushed(settled, 'a-key')
    await bench.gate.pushed(settled, 'a-key')
    expect([bench.row, bench.writes]).toEqual([{ notBeforeMs: 0, probeAtMs: 0, failures: 0 }, 1])
    await bench.gate.flushed({ stop: down, left: [] }, undefined)
    expect(bench.row.failures).toBe(1)
    await bench.gate.pushed(settled, 'a-key')
    expect(bench.row.failures).toBe(0)
  })

  it.each<Stop>([
    { kind: 'key-refused', reason: '401' },
    { kind: 'transient', reason: 'the secret is empty', isKeyMissing: true },
    { kind: 'transient', reason: '502' },
    { kind: 'misdirected', reason: '404' },
    { kind: 'systemic', reason: 'the service rejects every metric; all are kept' },
  ])('says nothing of $reason any more once a push is accepted, in a flush that goes on', async stop => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time)
    const { gate } = bench
    await gate.flushed({ stop, left: ['protocol p is left out'] }, undefined)
    expect(bench.row.failures).toBe(1)
    await time.sleep(3_000)
    await gate.pushed(delivered, 'a-key')
    const lastPush = { atMs: time.nowMs(), verdict: 'delivered' }
    expect(bench.row).toEqual({ notBeforeMs: 0, probeAtMs: 0, failures: 0, lastPush })
  })

  it.each([
    ['a minute after the last one', delivered, 60_000, 1],
    ['sooner', delivered, 59_999, 0],
    ['and not when nothing was accepted', settled, 60_000, 0],
  ])('keeps what is left out in a long flush, and stores an accepted push: %s', async (_, verdict, afterMs, writes) => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time)
    const { gate } = bench
    await gate.occasion('due')
    await gate.pushed(verdict, 'a-key')
    await gate.flushed({ left: ['protocol p is left out'] }, undefined)
    await time.sleep(afterMs)
    await gate.pushed(verdict, 'a-key')
    await gate.pushed(verdict, 'a-key')
    const { waiting, lastPush } = bench.row
    expect([waiting, lastPush?.atMs]).toEqual(['protocol p is left out', startMs + writes * afterMs])
    expect(bench.writes).toBe(1 + writes)
  })

  it('stores the service’s clock in a long flush, when it or this machine’s was set', async () => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time)
    const { gate } = bench
    await gate.occasion('due')
    const stored: unknown[] = []
    for (const skewMs of [500, 30 * 60_000, 30 * 60_000 + 800, -900]) {
      gate.noteClock({ ...answered(200), skewMs })
      await gate.pushed(settled, 'a-key')
      stored.push(bench.row.skewMs)
    }
    expect(stored).toEqual([undefined, 30 * 60_000, 30 * 60_000, -900])
    expect(bench.writes).toBe(2)
  })
})

describe('a retry-after', () => {
  it('is the latest instant that was asked for, written at once, each time', async () => {
    const bench = gateAt(new VirtualTime(startMs))
    for (const [askedMs, keptMs] of [
      [60_000, 60_000],
      [30_000, 60_000],
      [90_000, 90_000],
    ] as const) {
      await bench.gate.pushed(asksToWait(startMs + askedMs), 'a-key')
      expect(bench.row.notBeforeMs).toBe(startMs + keptMs)
    }
    expect(bench.writes).toBe(3)
    expect(await bench.gate.flushed({ stop: down, left: [] }, undefined)).toMatchObject({
      notBeforeMs: startMs + 90_000,
    })
  })

  it('takes the place of one that a wrong clock has left', async () => {
    const state = { notBeforeMs: startMs + 100 * 365 * 24 * hourMs, probeAtMs: 0, failures: 0 }
    const { gate } = gateAt(new VirtualTime(startMs), { state })
    await gate.occasion('due')
    expect(gate.hold('due')).toBeUndefined()
    await gate.pushed(asksToWait(startMs + 1_000), 'a-key')
    expect(gate.hold('due')).toEqual({ why: 'retry-after', untilMs: startMs + 1_000 })
  })

  it('is kept by the process when the disk is full', async () => {
    const bench = gateAt(new VirtualTime(startMs))
    bench.diskError = new Error('disk full')
    await bench.gate.pushed(asksToWait(startMs + 1_000), 'a-key')
    expect(whyOf(bench.gate.hold('due'))).toBe('retry-after')
    await expect(bench.gate.flushed({ left: [] }, undefined)).rejects.toThrow('disk full')
    bench.diskError = undefined
    expect(await bench.gate.flushed({ left: [] }, undefined)).toMatchObject({ notBeforeMs: startMs + 1_000 })
  })

  it('that answers a question about the key binds the pushes, too', async () => {
    const { gate } = gateAt(new VirtualTime(startMs), {
      validate: () => answered(429, startMs + hourMs),
    })
    expect(await gate.enter('due', anHour, goOn)).toEqual({ stop: { kind: 'transient', reason: '429', status: 429 } })
    expect(gate.hold('asked')).toEqual({ why: 'retry-after', untilMs: startMs + hourMs })
  })

  it('holds a push for as long as a flush waits, and a longer one holds it back', async () => {
    const time = new VirtualTime(startMs)
    const { gate } = gateAt(time)
    await gate.pushed(asksToWait(startMs + 60_000), 'a-key')
    expect(gate.isRetrySoon).toBe(true)
    expect(await gate.pushSlot('a-key', goOn)).toBeUndefined()
    expect(time.nowMs()).toBeGreaterThanOrEqual(startMs + 60_000)
    const untilMs = time.nowMs() + 60_001
    await gate.pushed(asksToWait(untilMs), 'a-key')
    expect(gate.isRetrySoon).toBe(false)
    expect(await gate.pushSlot('a-key', goOn)).toEqual({ why: 'retry-after', untilMs })
  })

  it.each([
    ['later than its own', 90_001, 90_001, 2],
    ['as late as its own', 90_000, 90_000, 1],
    ['of a wrong clock', 9_999 * hourMs, 90_000, 1],
  ])('of another daemon holds pushes back, too: %s', async (_, sharedMs, untilMs, writes) => {
    const time = new VirtualTime(startMs)
    const noted: number[] = []
    const shared = { notBeforeMs: 0, note: async (ms: number) => void noted.push(ms) }
    const bench = gateAt(time, { shared, pacePerSecond: 1 })
    await bench.gate.pushSlot('a-key', goOn)
    const turn = bench.gate.pushSlot('a-key', goOn)
    await bench.gate.pushed(asksToWait(startMs + 90_000), 'a-key')
    shared.notBeforeMs = startMs + sharedMs
    expect(await turn).toEqual({ why: 'retry-after', untilMs: startMs + untilMs })
    expect([bench.writes, noted]).toEqual([writes, [startMs + 90_000]])
  })

  it('that comes while a push waits for its turn holds that push back, too', async () => {
    const time = new VirtualTime(startMs)
    const { gate } = gateAt(time, { pacePerSecond: 1 })
    await gate.pushSlot('a-key', goOn)
    const turn = gate.pushSlot('a-key', goOn)
    await gate.pushed(asksToWait(startMs + hourMs), 'a-key')
    expect(whyOf(await turn)).toBe('retry-after')
  })
})

describe('a push', () => {
  it('is held back by a key that was refused while it waited, until the service is asked again', async () => {
    const time = new VirtualTime(startMs)
    const { gate } = gateAt(time, { pacePerSecond: 1 })
    await gate.pushSlot('a-key', goOn)
    const turn = gate.pushSlot('a-key', goOn)
    await gate.pushed(refused, 'a-key')
    expect(await turn).toEqual({ why: 'key-refused', untilMs: startMs + hourMs })
  })

  it('waits longer after a 429 of its own destination, which slows no other', async () => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time, { pacePerSecond: 10 })
    const gapMs = async () => {
      const fromMs = time.nowMs()
      await bench.gate.pushSlot('a-key', goOn)
      return time.nowMs() - fromMs
    }
    await gapMs()
    expect(await gapMs()).toBe(100)
    await bench.gate.pushed({ kind: 'transient', reason: '429', status: 429 }, 'a-key')
    expect(await gapMs()).toBe(200)
    const fromMs = time.nowMs()
    await bench.gate.requestSlot(goOn)
    expect(time.nowMs() - fromMs).toBe(100)
    for (let count = 0; count < 20; count += 1) await bench.gate.pushed(settled, 'a-key')
    expect(await gapMs()).toBeLessThanOrEqual(100)
  })

  it('is given up when it is stopped while it waits', async () => {
    const { gate } = gateAt(new VirtualTime(startMs), { pacePerSecond: 1 / 600 })
    await gate.pushSlot('a-key', goOn)
    const stopping = new AbortController()
    const turn = gate.pushSlot('a-key', stopping.signal)
    stopping.abort(new Error('stopped'))
    await expect(turn).rejects.toThrow('stopped')
  })
})

describe('entering', () => {
  it.each<readonly [string, Answer, object]>([
    ['accepts it', answered(200), { key: 'a-key' }],
    ['refuses it', answered(401), { stop: { kind: 'key-refused', reason: '401', isUnchanged: true } }],
    ['forbids it', answered(403), { stop: { kind: 'key-refused', reason: '403', isUnchanged: true } }],
    ['answers 199', answered(199), { stop: { kind: 'misdirected', reason: '199' } }],
    ['answers 299', answered(299), { key: 'a-key' }],
    ['answers 300', answered(300), { stop: { kind: 'misdirected', reason: '300' } }],
    ['is not there', answered(404), { stop: { kind: 'misdirected', reason: '404' } }],
    ['shows a page', page, { stop: { kind: 'misdirected', reason: '200: text/html, "Sign in"' } }],
    ['fails', answered(503), { stop: { kind: 'transient', reason: 'the refused key could not be checked: 503' } }],
  ])('asks about a refused key where a person wants it, and the service %s', async (_, answer, expected) => {
    const bench = gateAt(new VirtualTime(startMs), { validate: () => answer })
    await bench.gate.pushed(refused, 'a-key')
    const stop = { kind: 'key-refused', reason: '401', isUnchanged: true }
    expect(await bench.gate.enter('due', undefined, goOn)).toEqual({ stop })
    expect(bench.checkedKeys).toEqual([])
    expect(await bench.gate.enter('asked', undefined, goOn)).toEqual(expected)
    // Until it is asked again, its last answer stands.
    const isFailing = answer.kind === 'answered' && answer.status >= 500
    expect(await bench.gate.enter('due', undefined, goOn)).toEqual(isFailing ? { stop } : expected)
    expect(bench.checkedKeys).toEqual(['a-key'])
    expect(bench.writes).toBe(0)
  })

  it('asks about a refused key each hour, and says how old the one of the environment is', async () => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time, { validate: () => answered(404), staleKey: () => 'restart the daemon' })
    await bench.gate.pushed(refused, 'a-key')
    const reason = '401; restart the daemon'
    await time.sleep(hourMs - 1)
    const stop = { kind: 'key-refused', reason, isUnchanged: true }
    expect(await bench.gate.enter('due', undefined, goOn)).toEqual({ stop })
    await time.sleep(1)
    expect(await bench.gate.enter('due', undefined, goOn)).toEqual({ stop: { kind: 'misdirected', reason: '404' } })
    expect(bench.checkedKeys).toHaveLength(1)
  })

  it.each([
    [401, { kind: 'key-refused', reason: '401' }, true],
    [403, { kind: 'key-refused', reason: '403' }, false],
    [503, { kind: 'transient', reason: 'the changed key could not be checked: 503' }, false],
  ])('asks about a changed key at once, and a refused one takes the place of the other: %i', async (...row) => {
    const [status, stop, isTaken] = row
    let key = 'a-key'
    const bench = gateAt(new VirtualTime(startMs), { readKey: () => key, validate: () => answered(status) })
    await bench.gate.pushed(refused, key)
    key = 'new'
    expect(await bench.gate.enter('due', undefined, goOn)).toEqual({ stop })
    const again = isTaken ? { ...stop, isUnchanged: true } : stop
    expect(await bench.gate.enter('due', undefined, goOn)).toEqual({ stop: again })
    expect(bench.checkedKeys).toHaveLength(isTaken ? 1 : 2)
  })

  it.each([
    ['nothing', undefined, 0, 0],
    ['what is not in its future', anHour, 9 * hourMs, 0],
    ['what lies in its future', hourAfter(anHour, 1), 59_999, 0],
    ['what lies in its future, a minute later', hourAfter(anHour, 1), 60_000, 1],
    ['what lies far ahead', hourAfter(anHour, 3), hourMs - 1, 0],
    ['what lies far ahead, an hour later', hourAfter(anHour, 3), hourMs, 1],
  ])('asks for the clock before the first push, then again with %s', async (_, newest, afterMs, asked) => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time, { validate: () => ({ ...answered(200), skewMs: 0 }) })
    const { gate, checkedKeys } = bench
    await gate.enter('due', undefined, goOn)
    expect(checkedKeys).toHaveLength(0)
    await gate.enter('due', anHour, goOn)
    await time.sleep(afterMs)
    expect(await gate.enter('due', newest, goOn)).toEqual({ key: 'a-key' })
    expect(checkedKeys).toHaveLength(1 + asked)
    expect(bench.writes).toBe(0)
  })

  it('asks for the clock while this machine’s is doubted, although nothing is to be sent', async () => {
    const said: unknown[] = []
    const comparison = {
      ...{ serviceAheadMs: 5, sawService: (ms: number) => void said.push(ms), asks: () => void said.push('asks') },
      wantsService: () => said.length === 0,
    }
    const validate = () => ({ ...answered(200), skewMs: 7 })
    const { gate, clock, checkedKeys } = gateAt(new VirtualTime(startMs), { comparison, validate })
    expect(clock.skewMs).toBe(5)
    for (const _ of [1, 2]) expect(await gate.enter('due', undefined, goOn)).toEqual({ key: 'a-key' })
    expect([checkedKeys.length, said, clock.skewMs]).toEqual([1, ['asks', 7], 7])
  })

  it.each<[string, Answer, object]>([
    ['refuses the key (401)', answered(401), { stop: { kind: 'key-refused', reason: '401' } }],
    ['answers 402', answered(402), { key: 'a-key' }],
    ['answers 503', answered(503), { key: 'a-key' }],
    ['does not answer', { kind: 'unanswered', reason: 'no answer' }, { key: 'a-key' }],
  ])(
    'goes on where the service does not show its clock, unless the key is refused: it %s',
    async (_, answer, expected) => {
      const bench = gateAt(new VirtualTime(startMs), { validate: () => answer })
      expect(await bench.gate.enter('due', anHour, goOn)).toEqual(expected)
      expect(await bench.gate.enter('due', undefined, goOn)).toMatchObject(expected)
      expect([bench.checkedKeys.length, bench.writes]).toEqual([1, 0])
    },
  )

  it.each([
    ['in the service’s future', hourAfter(anHour, 1), 1],
    ['the service takes', anHour, 0],
  ])('says of metrics what they wait for, where nothing was sent: an hour %s', async (_, newest, writes) => {
    const bench = gateAt(new VirtualTime(startMs))
    await bench.gate.rested([], newest)
    await bench.gate.rested([], newest)
    expect(bench.writes).toBe(writes)
    if (writes > 0) expect(bench.row.waiting).toContain('lie in the future')
    expect((await bench.gate.flushed({ left: [] }, newest)).waiting).toBe(bench.row.waiting)
  })

  it('throws what reading the key throws', async () => {
    const readKey = () => {
      throw new Error('the key’s file is empty')
    }
    const { gate } = gateAt(new VirtualTime(startMs), { readKey })
    await expect(gate.enter('due', undefined, goOn)).rejects.toThrow('is empty')
  })
})

describe('a person’s request from another process', () => {
  it.each([
    ['it is due', 'due', {}, 'due', 0, 0],
    ['it is due, while it waits', 'due', { notBeforeMs: startMs + 1 }, 'due', 0, 0],
    ['asked here, with nothing to wait for', 'asked', { notBeforeMs: startMs }, 'asked', 0, 0],
    ['asked here, while it waits', 'asked', { notBeforeMs: startMs + 1 }, 'asked', 1, 1],
    ['asked elsewhere', 'due', { isAsked: true }, 'asked', 0, 1],
    ['asked elsewhere, while it waits', 'due', { isAsked: true, notBeforeMs: startMs + 1 }, 'asked', 1, 1],
    ['that, after failures', 'due', { isAsked: true, notBeforeMs: startMs + 1, failures: 3 }, 'asked', 3, 1],
  ] as const)('ends what a flush waits for: %s', async (_, wanted, state, occasion, failures, writes) => {
    const noted: number[] = []
    const shared = { notBeforeMs: 0, note: async (ms: number) => void noted.push(ms) }
    const row = { ...{ notBeforeMs: 0, probeAtMs: startMs + 5, failures: 0 }, ...state }
    const bench = gateAt(new VirtualTime(startMs), { state: row, shared })
    expect(await bench.gate.occasion(wanted)).toBe(occasion)
    expect([bench.gate.failures, bench.writes, noted]).toEqual([failures, writes, writes > 0 ? [0] : []])
    expect(await bench.gate.occasion('due')).toBe('due')
    if (writes > 0) expect(bench.row).toEqual({ notBeforeMs: 0, probeAtMs: 0, failures })
  })

  it('is left for later while the disk is full', async () => {
    const bench = gateAt(new VirtualTime(startMs))
    bench.row = { ...bench.row, isAsked: true }
    bench.diskError = new Error('disk full')
    expect(await bench.gate.occasion('due')).toBe('due')
    bench.diskError = undefined
    expect(await bench.gate.occasion('due')).toBe('asked')
  })
})
