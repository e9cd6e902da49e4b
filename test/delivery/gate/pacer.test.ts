import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Pacer } from '../../../src/delivery/gate.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

const startMs = Date.UTC(2026, 10, 20, 13)
const goOn = new AbortController().signal

async function starts(pacer: Pacer, time: VirtualTime, count: number): Promise<number[]> {
  const turn = async () => {
    await pacer.slot(goOn)
    return time.nowMs()
  }
  return await Promise.all(Array.from({ length: count }, turn))
}
const gaps = (instants: readonly number[]) => instants.slice(1).map((ms, place) => ms - (instants[place] ?? 0))

describe('the pacer', () => {
  it('lets requests start no faster than its pace, however many ask', async () => {
    const time = new VirtualTime(startMs)
    const all = await starts(new Pacer(time, 5), time, 20)
    expect(all.map(ms => ms - startMs)).toEqual(Array.from({ length: 20 }, (_, place) => place * 200))
  })

  it('lets one start at once after a pause, and saves up nothing', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 5)
    await starts(pacer, time, 3)
    await time.sleep(60_000)
    const beganMs = time.nowMs()
    expect((await starts(pacer, time, 4)).map(ms => ms - beganMs)).toEqual([0, 200, 400, 600])
  })

  it('never lets two start closer than its pace, at any times of asking, in any order of 429s and acceptances', async () => {
    const step = fc.record({
      kind: fc.constantFrom('ask', 'ask', 'ask', 'slow', 'quicken'),
      restMs: fc.constantFrom(0, 0, 1, 150, 199, 200, 201, 5_000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom(1, 5, 50, 1_000), async (steps, pace) => {
        const time = new VirtualTime(startMs)
        const pacer = new Pacer(time, pace)
        const asked: Promise<number[]>[] = []
        for (const { kind, restMs } of steps) {
          if (kind === 'ask') asked.push(starts(pacer, time, 1))
          else pacer[kind === 'slow' ? 'slow' : 'quicken']()
          if (restMs > 0) await time.sleep(restMs)
        }
        const all = (await Promise.all(asked)).flat().sort((a, b) => a - b)
        for (const gap of gaps(all)) expect(gap).toBeGreaterThanOrEqual(1000 / pace)
      }),
      { numRuns: 40 },
    )
  })

  it('doubles the pause with each 429 up to a cap, and comes back with what is accepted', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 5)
    const pauseMs = async () => gaps(await starts(pacer, time, 2))[0]
    await time.sleep(1_000)
    expect(await pauseMs()).toBe(200)
    const slowed: (number | undefined)[] = []
    for (let count = 0; count < 12; count += 1) {
      pacer.slow()
      slowed.push(await pauseMs())
    }
    expect(slowed).toEqual([400, 800, 1_600, 3_200, 6_400, ...Array(7).fill(10_000)])
    let last = slowed.at(-1) ?? 0
    let recoveryMs = 0
    for (let count = 0; count < 38; count += 1) {
      pacer.quicken()
      const now = (await pauseMs()) ?? 0
      expect(now).toBeLessThanOrEqual(last)
      last = now
      recoveryMs += now
    }
    expect(last).toBe(200)
    expect(recoveryMs).toBeLessThan(120_000)
  })

  it('is never faster than configured, however slow that is', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 1 / 600)
    pacer.slow()
    pacer.quicken()
    expect(gaps(await starts(pacer, time, 3))).toEqual([600_000, 600_000])
  })

  it('is slowed to a millisecond at least, however fast', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 1_000_000)
    pacer.slow()
    expect(gaps(await starts(pacer, time, 3))).toEqual([1, 1])
  })

  it('neither waits for the old time nor hurries when the clock was set back', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 5)
    await starts(pacer, time, 3)
    const realMs = time.nowMs.bind(time)
    time.nowMs = () => realMs() - 24 * 3_600_000
    const setBackMs = time.nowMs()
    const all = (await starts(pacer, time, 3)).map(ms => ms - setBackMs)
    expect(all[0]).toBeLessThanOrEqual(600)
    expect(gaps(all)).toEqual([200, 200])
  })

  it('keeps its pace when the clock is set ahead', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 5)
    const realMs = time.nowMs.bind(time)
    await pacer.slot(goOn)
    time.nowMs = () => realMs() + 24 * 3_600_000
    await pacer.slot(goOn)
    expect(realMs()).toBe(startMs + 200)
  })

  it('does not let a request start before those that wait already when the clock was set back', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 5)
    const realMs = time.nowMs.bind(time)
    const turn = async () => {
      await pacer.slot(goOn)
      return realMs()
    }
    const before = [turn(), turn(), turn()]
    time.nowMs = () => realMs() - 24 * 3_600_000
    const all = await Promise.all([...before, turn(), turn()])
    for (const gap of gaps(all)) expect(gap).toBeGreaterThanOrEqual(200)
    expect(all.at(-1)).toBeLessThanOrEqual(startMs + 1_000)
  })

  it('ends a wait that is broken off', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 1 / 600)
    await pacer.slot(goOn)
    const stopping = new AbortController()
    const waiting = pacer.slot(stopping.signal)
    stopping.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })
})
