import { describe, expect, it } from 'vitest'
import { clockDoubtMs } from '../../src/delivery/gate.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { futureMsMax, hourMs } from '../../src/model/limits.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { type HttpBench, httpBench } from './support/http-bench.ts'
import { keyedDestination } from './support/protocol.ts'

const minuteMs = 60_000
const nextHour = hourAfter(anHour, 1)

/** The rule of the interface: what lies more than 5 minutes in the service's future is refused. */
function strict({ service, time }: HttpBench): void {
  service.rule = ({ metrics: sent }) => {
    const isFuture = sent.some(({ timestamp = '' }) => Date.parse(timestamp) > time.nowMs() + futureMsMax)
    return isFuture ? { status: 400, body: { error: 'timestamp is in the future' } } : undefined
  }
}

/** Flushes each second until an instant of the true time; when the metrics of the next hour arrived. */
async function untilDelivered({ bench, service, time }: HttpBench, untilMs: number): Promise<number | undefined> {
  while (time.nowMs() < untilMs) {
    await bench.flush()
    const isThere = service.pushes.some(({ metrics: sent }) =>
      sent.some(({ timestamp }) => timestamp === hourText(nextHour)),
    )
    if (isThere) return time.nowMs()
    await time.sleep(1_000)
  }
  return undefined
}

describe('a machine whose clock is ahead of the service’s', () => {
  it.each([6, 10, 30, 59])('by %i min holds the new hour until the service takes it, and says why', async ahead => {
    const made = await httpBench({ aheadMs: ahead * minuteMs })
    const { bench, service, time, machine } = made
    strict(made)
    await time.sleep(nextHour - machine.nowMs() + 30_000)
    await bench.store([...metrics(5), ...metrics(5, nextHour)])
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 5, due: 5, dead: 0 })
    const { waiting = '', skewMs = 0, failures } = bench.state()
    expect(waiting).toContain(`metrics of ${hourText(nextHour)} lie in the future and wait for it`)
    expect(waiting).toContain(`this machine's clock is ${ahead} min ahead of the service's: set it right`)
    expect(Math.abs(skewMs + ahead * minuteMs)).toBeLessThan(1_000)
    expect(failures).toBe(0)

    const arrivedMs = await untilDelivered(made, nextHour + hourMs)
    expect(arrivedMs).toBeGreaterThanOrEqual(nextHour - futureMsMax)
    expect(arrivedMs).toBeLessThanOrEqual(nextHour - futureMsMax + clockDoubtMs + 2_000)
    expect(bench.balance).toMatchObject({ delivered: 10, due: 0, dead: 0 })
    expect(bench.state().waiting).toBeUndefined()
    // The new hour was never refused; the clock was asked for once a minute meanwhile.
    expect(service.pushes).toHaveLength(2)
    expect(service.checkedKeys.length).toBeLessThanOrEqual(ahead + 1)
  })

  it('by less than it takes is not noticed', async () => {
    const made = await httpBench({ aheadMs: 4 * minuteMs })
    strict(made)
    await made.time.sleep(nextHour - made.machine.nowMs() + 1_000)
    await made.bench.store(metrics(5, nextHour))
    await made.bench.flush()
    expect(made.bench.balance).toMatchObject({ delivered: 5, due: 0 })
    expect(made.bench.state().waiting).toBeUndefined()
  })

  it('that goes wrong in a running process loses nothing: what is refused for it is not dead', async () => {
    const made = await httpBench()
    const { bench, time, machine } = made
    strict(made)
    await bench.store(metrics(5))
    await bench.flush()
    machine.aheadMs = hourMs
    await bench.store([...metrics(5, nextHour), ...metrics(5, hourAfter(anHour, -1))])
    await bench.flush()
    expect(bench.balance).toMatchObject({ dead: 0 })
    await untilDelivered(made, nextHour)
    await time.sleep(hourMs)
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 15, due: 0, dead: 0 })
  })

  it('that is set right is noticed within a minute', async () => {
    const made = await httpBench({ aheadMs: 10 * minuteMs })
    const { bench, time, machine } = made
    strict(made)
    await bench.store(metrics(5))
    await bench.flush()
    await time.sleep(hourMs)
    machine.aheadMs = 0
    await bench.store(metrics(5, nextHour))
    const beganMs = time.nowMs()
    expect(await untilDelivered(made, beganMs + hourMs)).toBeLessThanOrEqual(beganMs + minuteMs)
    expect(bench.state().skewMs).toBe(0)
  })
})

describe('a machine whose clock is behind the service’s', () => {
  it.each([1, 10, 60, 24 * 60])('by %i min delivers all the same', async behind => {
    const made = await httpBench({ aheadMs: -behind * minuteMs })
    strict(made)
    await made.bench.store(metrics(5))
    await made.bench.flush()
    expect(made.bench.balance).toMatchObject({ delivered: 5, due: 0 })
    expect(Math.abs((made.bench.state().skewMs ?? 0) - behind * minuteMs)).toBeLessThan(1_000)
    expect(made.bench.state().waiting).toBeUndefined()
  })

  it('because it was set back by a day in a running process goes on within a minute, breaker and pauses included', async () => {
    const made = await httpBench()
    const { bench, service, time, machine } = made
    await bench.store(metrics(5))
    service.rule = () => ({ status: 503 })
    await bench.flush()
    expect(bench.state().failures).toBe(1)
    machine.aheadMs = -24 * hourMs
    strict(made)
    await time.sleep(1_000)
    const beganMs = time.nowMs()
    while (bench.balance.due > 0 && time.nowMs() < beganMs + hourMs) {
      await bench.flush()
      await time.sleep(1_000)
    }
    expect(bench.balance).toMatchObject({ delivered: 5, due: 0 })
    expect(time.nowMs() - beganMs).toBeLessThanOrEqual(61_000)
  })
})

describe('metrics of an hour that is weeks ahead', () => {
  it('wait for it, and the service is asked for its clock once an hour', async () => {
    const { bench, service, time } = await httpBench()
    await bench.store(metrics(5, hourAfter(anHour, 30 * 24)))
    for (const endMs = time.nowMs() + 2 * hourMs - minuteMs; time.nowMs() < endMs; ) {
      await bench.flush()
      await time.sleep(30_000)
    }
    expect(bench.balance).toMatchObject({ due: 5, dead: 0 })
    expect(service.requests).toEqual(Array(2).fill('GET /api/validate-key'))
  })
})

describe('a machine whose clock is doubted', () => {
  it('asks the service although nothing is due, once a minute while it does not answer, and no more once it has', async () => {
    const asked: number[] = []
    let isWanted = true
    const { bench, service, time } = await httpBench({
      comparison: {
        serviceAheadMs: undefined,
        wantsService: () => isWanted && time.nowMs() - (asked.at(-1) ?? 0) >= minuteMs,
        asks: () => asked.push(time.nowMs()),
        sawService: () => {
          isWanted = false
        },
      },
    })
    service.keyReply = () => response => response.destroy()
    const flushes = async (count: number) => {
      for (let left = count; left > 0; left -= 1) {
        await bench.flush()
        await time.sleep(10_000)
      }
    }
    await flushes(9)
    expect(service.checkedKeys).toHaveLength(2)
    service.keyReply = () => ({ status: 200, body: {} })
    await flushes(30)
    expect(service.checkedKeys).toHaveLength(3)
    expect(bench.state().failures).toBe(0)
  })
})

describe('a service without a Date header', () => {
  it('is believed to have this machine’s time', async () => {
    const made = await httpBench()
    made.service.clockMs = undefined
    for (let count = 0; count < 5; count += 1) {
      await made.bench.store(metrics(5, hourAfter(anHour, -count)))
      await made.bench.flush()
    }
    expect(made.bench.balance).toMatchObject({ delivered: 25, due: 0 })
    expect(made.bench.state().skewMs).toBeUndefined()
    expect(made.service.checkedKeys).toHaveLength(1)
  })

  it('does not get what lies in this machine’s future: it was set back', async () => {
    const made = await httpBench()
    made.service.clockMs = undefined
    made.machine.aheadMs = -24 * hourMs
    await made.bench.store(metrics(5))
    await made.bench.flush()
    expect(made.service.pushes).toEqual([])
    expect(made.bench.state().waiting).toMatch(/lie in the future and wait for it: this machine’s clock was set back/)
    await made.time.sleep(24 * hourMs)
    await made.bench.flush()
    expect(made.bench.balance).toMatchObject({ delivered: 5, due: 0 })
  })
})

describe('the service’s clock', () => {
  it('is asked for once in a process when all is well, before the first push', async () => {
    const { bench, service, time } = await httpBench()
    for (let count = 0; count < 10; count += 1) {
      await bench.store(metrics(5, hourAfter(anHour, count)))
      await bench.flush()
      await time.sleep(hourMs)
    }
    expect(service.requests).toEqual(['GET /api/validate-key', ...Array(10).fill('POST /api/metrics')])
    expect(bench.state().skewMs).toBe(0)
    bench.restart()
    await bench.store(metrics(5, hourAfter(anHour, 10)))
    await bench.flush()
    expect(service.checkedKeys).toHaveLength(2)
  })

  it('is asked for once, too, for destinations that begin at the same time', async () => {
    const destinations = ['vault', 'other'].map(id => keyedDestination(id))
    const { bench, service } = await httpBench({ destinations })
    await bench.store([...metrics(3), ...metrics(3, anHour, 'other')])
    await bench.flush()
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 6, due: 0 })
    expect(service.checkedKeys.length).toBeLessThanOrEqual(destinations.length)
  })

  it('is not asked for when nothing is due', async () => {
    const { bench, service } = await httpBench()
    await bench.flush()
    expect(service.requests).toEqual([])
  })
})
