import { describe, expect, it } from 'vitest'
import { WatchedClock, witnessAskMs } from '../../src/intake/hour-clock.ts'
import { clockPatienceMs, witnessWaitMs } from '../../src/model/clock.ts'
import { hourMs } from '../../src/model/limits.ts'
import { WrongTime } from '../delivery/support/scripted-time.ts'
import { anHour } from '../support/metrics.ts'
import { steadyAt, VirtualTime } from '../support/virtual-time.ts'

const startMs = anHour + 11 * 60_000

/** Its two clocks run apart by fractions, as those of a machine do. */
class FractionTime extends VirtualTime {
  override steadyMs(): number {
    return steadyAt(this.nowMs())
  }
}

function stage(aheadMs = 0, time = new VirtualTime(startMs)) {
  const machine = new WrongTime(time)
  machine.aheadMs = aheadMs
  const clock = new WatchedClock(machine)
  clock.setWitnesses({ service: true, chains: true })
  return { time, machine, clock }
}

describe('a watched clock', () => {
  it('asks the service first, chains once that is silent, and none once it is believed', async () => {
    const { time, clock } = stage()
    expect([clock.wantsService(), clock.wantsHeads()]).toEqual([true, false])
    clock.asks('service')
    expect(clock.wantsService()).toBe(false)
    await time.sleep(witnessWaitMs)
    expect(clock.wantsHeads()).toBe(true)
    clock.asks('chains')
    expect(clock.wantsHeads()).toBe(false)
    await time.sleep(witnessAskMs)
    expect([clock.wantsService(), clock.wantsHeads()]).toEqual([true, true])
    clock.sawService(0)
    expect([clock.wantsService(), clock.wantsHeads()]).toEqual([false, false])
    expect(clock.hour).toBe(anHour)
  })

  it('asks a chain that lags in another hour again, until it has caught up', async () => {
    const { time, clock } = stage()
    clock.setWitnesses({ service: false, chains: true })
    clock.asks('chains')
    clock.sawHead('slow', time.nowMs() - 20 * 60_000)
    await time.sleep(clockPatienceMs)
    expect([clock.verdict.kind, clock.hour, clock.wantsHeads()]).toEqual(['trusted', undefined, true])
    clock.asks('chains')
    expect(clock.wantsHeads()).toBe(false)
    clock.sawHead('slow', time.nowMs())
    await time.sleep(witnessAskMs)
    expect([clock.hour, clock.wantsHeads()]).toEqual([anHour, false])
  })

  it('asks a service that is in another hour again, and no chain, which would not count', async () => {
    const { time, clock } = stage()
    clock.asks('service')
    clock.sawService(-20 * 60_000)
    expect([clock.verdict.kind, clock.hour, clock.wantsHeads()]).toEqual(['trusted', undefined, false])
    await time.sleep(witnessAskMs)
    expect([clock.wantsService(), clock.wantsHeads()]).toEqual([true, false])
  })

  it('goes on by the steady clock while it is set wrong, asks again at once, and learns when it is right', async () => {
    const { time, machine, clock } = stage()
    clock.asks('service')
    clock.sawService(0)
    const heard: number[] = []
    clock.onBelieved(byMs => heard.push(byMs))
    machine.aheadMs = 5 * hourMs
    await time.sleep(20_000)
    expect(clock.nowMs()).toBe(time.nowMs())
    expect([clock.hour, clock.mayPrune, clock.wantsService()]).toEqual([undefined, false, true])
    clock.sawService(0)
    expect(clock.verdict).toMatchObject({ kind: 'doubted', why: 'contradicted' })
    machine.aheadMs = 0
    expect([clock.hour, clock.mayPrune]).toEqual([anHour, true])
    expect(heard).toEqual([])
  })

  it('takes a time that was set while it slept once the service agrees, and says by how much', async () => {
    const { machine, clock } = stage()
    clock.sawService(0)
    const heard: number[] = []
    clock.onBelieved(byMs => heard.push(byMs))
    machine.aheadMs = 8 * hourMs
    expect(clock.hour).toBeUndefined()
    clock.sawService(8 * hourMs)
    expect(clock.hour).toBe(anHour + 8 * hourMs)
    expect(clock.serviceAheadMs).toBe(0)
    expect(heard).toEqual([8 * hourMs])
  })

  it('is believed after some patience where nothing answers, and doubted again once the service says otherwise', async () => {
    const { time, clock } = stage(5 * hourMs)
    await time.sleep(clockPatienceMs - 1_000)
    expect(clock.hour).toBeUndefined()
    await time.sleep(1_000)
    expect([clock.hour, clock.mayPrune]).toEqual([anHour + 5 * hourMs, false])
    clock.sawService(-5 * hourMs)
    expect(clock.verdict).toMatchObject({ kind: 'doubted', why: 'contradicted' })
  })

  it('is believed again after the service was wrong for a while', async () => {
    const { time, clock } = stage()
    clock.sawService(0)
    await time.sleep(1_000)
    clock.sawService(3 * hourMs)
    expect(clock.verdict).toMatchObject({ kind: 'trusted', remark: expect.stringContaining('3 h behind') })
    clock.sawService(0)
    expect(clock.verdict).not.toHaveProperty('remark')
  })

  it('gives whole instants at any reading of the steady clock, believed, doubted and set: they are stored', async () => {
    const { time, machine, clock } = stage(0, new FractionTime(startMs))
    const heard: number[] = []
    clock.onBelieved(byMs => heard.push(byMs))
    const instants = async () => {
      await time.sleep(12_345)
      const { verdict } = clock
      const bounds = verdict.kind === 'trusted' ? [verdict.earliestMs, verdict.latestMs] : []
      return [clock.nowMs(), clock.earliestMs ?? 0, ...bounds, ...heard].filter(ms => !Number.isInteger(ms))
    }
    clock.sawService(-7 * 60_000)
    expect(await instants()).toEqual([])
    machine.aheadMs = 3 * hourMs
    expect(await instants()).toEqual([])
    clock.sawService(3 * hourMs)
    expect(await instants()).toEqual([])
  })

  it('takes the youngest of all chains’ blocks', () => {
    const { time, clock } = stage()
    clock.sawHead('slow', time.nowMs() - 3 * hourMs)
    expect(clock.hour).toBeUndefined()
    clock.sawHead('quick', time.nowMs() - 12_000)
    clock.sawHead('slow', time.nowMs() - 3 * hourMs)
    expect(clock.hour).toBe(anHour)
  })
})
