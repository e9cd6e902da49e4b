import { describe, expect, it } from 'vitest'
import { clockAskMs, type Gate, type GateHold, keyAskMs, retryAfterWaitMsMax } from '../../../src/delivery/gate.ts'
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
const refused: Verdict = { kind: 'key-refused', reason: '401' }
const settled: Verdict = { kind: 'settled', delivered: [], dead: [], resend: [], warnings: [] }
const delivered: Verdict = { ...settled, delivered: metrics(1) }
const asksToWait = (notBeforeMs: number): Verdict => ({ kind: 'transient', reason: '429', status: 429, notBeforeMs })
const page: Answer = { ...answered(200), described: 'text/html, "Sign in"' }
const whyOf = (hold: GateHold | undefined) => hold?.why

describe('whether a flush may begin', () => {
  it.each<
    readonly [string, (gate: Gate) => Promise<unknown>, GateHold['why'] | undefined, GateHold['why'] | undefined]
  >([
    ['a new gate', async () => {}, undefined, undefined],
    ['a flush that went well', gate => gate.flushed({ left: [] }, undefined), undefined, undefined],
    ['a flush that failed', gate => gate.flushed({ stop: down, left: [] }, undefined), 'breaker', undefined],
    [
      'a push that asked to wait',
      async gate => gate.pushed(asksToWait(startMs + 5_000), 'a-key'),
      'retry-after',
      'retry-after',
    ],
    [
      'a push that asked to wait, in a flush that failed',
      async gate => {
        await gate.pushed(asksToWait(startMs + 5_000), 'a-key')
        await gate.flushed({ stop: down, left: [] }, undefined)
      },
      'retry-after',
      'retry-after',
    ],
    [
      'a refused key, in a flush that failed',
      async gate => {
        await gate.pushed(refused, 'a-key')
        await gate.flushed({ stop: { kind: 'key-refused', reason: '401' }, left: [] }, undefined)
      },
      'breaker',
      undefined,
    ],
    [
      'a refused key that was exchanged, in a flush that failed',
      async gate => {
        await gate.pushed(refused, 'another-key')
        await gate.flushed({ stop: { kind: 'key-refused', reason: '401' }, left: [] }, undefined)
      },
      undefined,
      undefined,
    ],
  ])('depends on what happened before: %s', async (_, act, due, asked) => {
    const time = new VirtualTime(startMs)
    const { gate } = gateAt(time)
    await act(gate)
    expect([whyOf(gate.hold('due')), whyOf(gate.hold('asked'))]).toEqual([due, asked])
    const hold = gate.hold('due')
    if (hold?.why !== 'retry-after') return
    await time.sleep(hold.untilMs - 1 - time.nowMs())
    expect(whyOf(gate.hold('due'))).toBe('retry-after')
    await time.sleep(1)
    expect(whyOf(gate.hold('asked'))).toBeUndefined()
  })

  it('says until when: no flush begins before, and one begins then', async () => {
    const time = new VirtualTime(startMs, () => 0.5)
    const { gate } = gateAt(time)
    for (let count = 0; count < 10; count += 1) {
      await gate.flushed({ stop: down, left: [] }, undefined)
      const untilMs = gate.hold('due')?.untilMs ?? 0
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
    const bench = gateAt(new VirtualTime(startMs), { state: { notBeforeMs: 0, probeAtMs: startMs - 1, failures: 6 } })
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
    expect(bench.counters.gates.get('service')).not.toBe('open')
    await time.sleep(3_000)
    await gate.pushed(delivered, 'a-key')
    const lastPush = { atMs: time.nowMs(), verdict: 'delivered' }
    expect(bench.row).toEqual({ notBeforeMs: 0, probeAtMs: 0, failures: 0, lastPush })
    expect(bench.counters.gates.get('service')).toBe('open')
  })

  it('keeps what is left out in a long flush, and the instant of the last push grows', async () => {
    const time = new VirtualTime(startMs)
    const bench = gateAt(time)
    const { gate } = bench
    await gate.flushed({ left: ['protocol p is left out'] }, undefined)
    await time.sleep(10 * 60_000)
    await gate.pushed(delivered, 'a-key')
    await gate.pushed(delivered, 'a-key')
    const { waiting, lastPush } = bench.row
    expect([waiting, lastPush?.atMs]).toEqual(['protocol p is left out', time.nowMs()])
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
    await gate.pushed(asksToWait(startMs + retryAfterWaitMsMax), 'a-key')
    expect(gate.isRetrySoon).toBe(true)
    expect(await gate.pushSlot('a-key', goOn)).toBeUndefined()
    expect(time.nowMs()).toBeGreaterThanOrEqual(startMs + retryAfterWaitMsMax)
    const untilMs = time.nowMs() + retryAfterWaitMsMax + 1
    await gate.pushed(asksToWait(untilMs), 'a-key')
    expect(gate.isRetrySoon).toBe(false)
    expect(await gate.pushSlot('a-key', goOn)).toEqual({ why: 'retry-after', untilMs })
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
    expect(await turn).toEqual({ why: 'key-refused', untilMs: startMs + keyAskMs })
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
    ['has moved', answered(302), { stop: { kind: 'misdirected', reason: '302' } }],
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
  })

  it('asks for the clock before the first push, then only while something lies in its future', async () => {
    const time = new VirtualTime(startMs)
    let newest = anHour
    const validate = (): Answer => ({ ...answered(200), skewMs: 0 })
    const bench = gateAt(time, { validate })
    const asks = async () => {
      const before = bench.checkedKeys.length
      expect(await bench.gate.enter('due', newest, goOn)).toEqual({ key: 'a-key' })
      return bench.checkedKeys.length - before
    }
    expect([await asks(), await asks()]).toEqual([1, 0])
    newest = hourAfter(anHour, 1)
    await time.sleep(clockAskMs)
    expect([await asks(), await asks()]).toEqual([1, 0])
    expect((await bench.gate.flushed({ left: [] }, newest)).waiting).toContain('lie in the future')
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
  it('makes the next flush an asked one, once', async () => {
    const bench = gateAt(new VirtualTime(startMs))
    await bench.gate.flushed({ stop: down, left: [] }, undefined)
    bench.row = { ...bench.row, isAsked: true }
    expect(await bench.gate.occasion('due')).toBe('asked')
    expect(await bench.gate.occasion('due')).toBe('due')
    expect(bench.gate.hold('due')).toBeUndefined()
    expect(bench.gate.failures).toBe(1)
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
