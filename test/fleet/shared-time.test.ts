import { describe, expect, it } from 'vitest'
import { SharedTime } from '../../src/fleet/shared-time.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { anHour } from '../support/metrics.ts'
import { VirtualTime } from '../support/virtual-time.ts'

/** The clock of a machine that is ahead of the database's, which answers after a while. */
function clocks(aheadMs: number) {
  const machine = new VirtualTime(anHour + aheadMs)
  const time = new SharedTime(machine)
  const database = () => machine.nowMs() - aheadMs
  const askFor = (delayMs: number) =>
    time.ask(async () => {
      await machine.sleep(delayMs / 2)
      const nowMs = database()
      await machine.sleep(delayMs / 2)
      return nowMs
    })
  return { machine, time, database, askFor }
}

describe('the clock of a fleet', () => {
  it('is the machine’s until the database was asked, then the database’s', async () => {
    const { machine, time, database, askFor } = clocks(10 * 60_000)
    expect(time.nowMs()).toBe(machine.nowMs())
    await askFor(40)
    expect(time.nowMs()).toBe(database())
    await machine.sleep(hourMs)
    expect(time.nowMs()).toBe(database())
    expect(time.steadyMs()).toBe(machine.steadyMs())
  })

  it('keeps a quick answer when a slow one contradicts it by no more than its error', async () => {
    const { time, database, machine, askFor } = clocks(-5 * 60_000)
    await askFor(2)
    await time.ask(async () => {
      const nowMs = database()
      await machine.sleep(4_000)
      return nowMs
    })
    expect(time.nowMs()).toBe(database())
  })

  it('follows a database whose clock was set', async () => {
    const { machine, time, askFor } = clocks(0)
    await askFor(2)
    await time.ask(async () => machine.nowMs() + 30_000)
    expect(time.nowMs()).toBe(machine.nowMs() + 30_000)
  })

  it('ticks at the database’s full hours', async () => {
    const { machine, time, database, askFor } = clocks(10 * 60_000)
    await askFor(0)
    const ticks: number[] = []
    const hourly = time.everyHour(() => ticks.push(database()))
    await machine.sleep(2 * hourMs + 60_000)
    hourly.stop()
    await machine.sleep(2 * hourMs)
    expect(ticks).toEqual([hourAfter(anHour, 1), hourAfter(anHour, 2)])
  })
})
