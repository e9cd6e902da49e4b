import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { type Batch, isBatch } from '../../../src/model/batch.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import type { Metric } from '../../../src/model/metric.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { answered } from '../support/answers.ts'
import { FlushBench } from '../support/flush-bench.ts'
import { protocol } from '../support/protocol.ts'

const isOf = (id: string) => (metric: Metric) => metric.protocolId === id

describe('a flush', () => {
  it('sends everything due in batches of at most 100', async () => {
    const bench = new FlushBench(metrics(250))
    expect(await bench.flush()).toBeUndefined()
    expect(bench.pushes.map(batch => batch.length)).toEqual([100, 100, 50])
    expect(bench.due.size).toBe(0)
  })

  it('rejects only when nothing is under way any more', async () => {
    const bench = new FlushBench(metrics(1_000))
    let recorded = 0
    bench.recording = () => {
      recorded += 1
      if (recorded === 3) throw new Error('disk full')
    }
    await expect(bench.flush(4)).rejects.toThrow('disk full')
    expect(bench.underWay).toBe(0)
  })

  it.each([1, 2, 4, 8])('has no more than %i pushes under way, and none with the same metric twice', async inFlight => {
    const bench = new FlushBench(metrics(2_000))
    await bench.flush(inFlight)
    expect(bench.underWayMost).toBe(inFlight)
    expect(bench.pushes).toHaveLength(20)
  })

  it('uses all it may have under way also when the first batch had to be split', async () => {
    const [bad] = metrics(1)
    const bench = new FlushBench(metrics(2_000), batch =>
      batch.some(({ id }) => id === bad?.id) ? answered(400) : undefined,
    )
    await bench.flush(4)
    expect(bench.dead).toHaveLength(1)
    expect(bench.underWayMost).toBe(4)
  })

  it('sends one push after the other until one is accepted: a service that is down gets no more', async () => {
    const bench = new FlushBench(metrics(2_000), () => answered(503))
    expect(await bench.flush()).toMatchObject({ kind: 'transient', reason: '503' })
    expect(bench.pushes).toHaveLength(1)
    expect(bench.due.size).toBe(2_000)
  })

  it.each([1, 4, 8])('makes five attempts in all while nothing is accepted, with %i lanes', async inFlight => {
    const ids = Array.from({ length: 12 }, (_, place) => `p${place}`)
    const due = ids.flatMap(id => metrics(5, undefined, id))
    const protocols = ids.map(id => protocol(id))
    const down = new FlushBench(due, () => answered(503), { protocols })
    expect(await down.flush(inFlight)).toMatchObject({ kind: 'transient' })
    expect(down.pushes).toHaveLength(5)
    const recovered = new FlushBench(due, (_, { pushes }) => (pushes.length < 3 ? answered(503) : undefined), {
      protocols,
    })
    expect(await recovered.flush(inFlight)).toBeUndefined()
    expect(recovered.due.size).toBe(0)
  })

  it('sends the probe first, alone, and the rest when it is accepted', async () => {
    const due = metrics(300)
    const probe = due.slice(40, 45)
    if (!isBatch(probe)) throw new Error('empty')
    const bench = new FlushBench(due, undefined, { probes: [probe] })
    expect(await bench.flush()).toBeUndefined()
    expect(bench.pushes[0]).toEqual(probe)
    expect(bench.pushes.map(batch => batch.length)).toEqual([5, 100, 100, 95])
  })

  it('leaves alone what is in quarantine', async () => {
    const due = metrics(150)
    const bench = new FlushBench(due, undefined, { quarantined: due.slice(10, 20) })
    expect(await bench.flush()).toBeUndefined()
    expect([...bench.due]).toEqual(due.slice(10, 20))
  })

  it('stops at once on a refused key', async () => {
    const bench = new FlushBench(metrics(1_000), (_, { pushes }) => (pushes.length > 3 ? answered(401) : undefined))
    expect(await bench.flush(1)).toMatchObject({ kind: 'key-refused' })
    expect(bench.pushes).toHaveLength(4)
    expect(bench.due.size).toBe(700)
  })

  it.each([301, 302, 307, 402, 405, 410])(
    'stops at once when the address first answers %i, and keeps all',
    async status => {
      const bench = new FlushBench(metrics(1_000), () => answered(status))
      expect(await bench.flush()).toMatchObject({ kind: 'misdirected', reason: `${status}` })
      expect(bench.pushes).toHaveLength(1)
      expect(bench.due.size).toBe(1_000)
    },
  )

  it.each([402, 405, 409, 410, 418, 451, 600])(
    'takes a %i for a refusal of what was sent, once anything was accepted',
    async status => {
      const [bad] = metrics(1)
      const refuseBad = (batch: Batch) => (batch.some(({ id }) => id === bad?.id) ? answered(status) : undefined)
      for (const due of [metrics(300), metrics(300).reverse()]) {
        const bench = new FlushBench(due, refuseBad)
        // In the first batch there is nothing to go by yet but what was delivered before.
        bench.hasDelivered = due[0]?.id === bad?.id
        expect(await bench.flush()).toBeUndefined()
        expect(bench.deadMetrics.map(({ id }) => id)).toEqual([bad?.id])
        expect(bench.delivered).toHaveLength(299)
      }
    },
  )

  it.each([402, 405, 410, 451])('keeps all when everything is answered %i after it was accepted', async status => {
    const bench = new FlushBench(metrics(1_000), (_, { pushes }) => (pushes.length > 3 ? answered(status) : undefined))
    expect(await bench.flush(1)).toMatchObject({ kind: 'systemic' })
    expect(bench.dead).toEqual([])
    expect(bench.pushes.length).toBeLessThanOrEqual(3 + 16)
  })

  it('stops at once when the service wants to be left alone, although it took others', async () => {
    for (const wish of [answered(429), answered(503, 99)]) {
      const bench = new FlushBench(metrics(1_000), (_, { pushes }) => (pushes.length > 3 ? wish : undefined))
      expect(await bench.flush(1)).toMatchObject({ kind: 'transient' })
      expect(bench.pushes).toHaveLength(4)
    }
  })
})

describe('a flush with a protocol the service refuses', () => {
  const protocols = [protocol('vault'), protocol('lost')]

  it.each([403, 404])('quarantines it after a %i and delivers the others', async status => {
    const due = [...metrics(330), ...metrics(330, undefined, 'lost')].sort((a, b) => a.value - b.value)
    const bench = new FlushBench(due, batch => (batch.some(isOf('lost')) ? answered(status) : undefined), { protocols })
    expect(await bench.flush()).toBeUndefined()
    expect(bench.rejectedProtocols).toEqual(['lost'])
    expect(bench.delivered).toHaveLength(330)
    expect(bench.due.size).toBe(330)
    expect(bench.dead).toEqual([])
  })

  it('sends nothing more of it, though a read that was under way has found it due', async () => {
    const due = Array.from({ length: 12 }, (_, place) =>
      metrics(100, hourAfter(anHour, -place), place % 2 === 0 ? 'vault' : 'lost'),
    ).flat()
    for (let seed = 1; seed <= 40; seed += 1) {
      const { whole } = dice(seed)
      let late = 0
      const rule = (batch: Batch, { rejectedProtocols }: FlushBench) => {
        if (!batch.some(isOf('lost'))) return undefined
        if (rejectedProtocols.includes('lost')) late += 1
        return answered(404)
      }
      const turns = { delayTurns: () => whole(1, 12), storeTurns: () => whole(0, 4) }
      const bench = new FlushBench(due, rule, { protocols, ...turns })
      expect(await bench.flush()).toBeUndefined()
      expect([late, bench.delivered.length]).toEqual([0, 600])
    }
  })

  it('registers it where that is wanted, once, and sends again', async () => {
    const bench = new FlushBench(
      metrics(1_000),
      (_, { registered }) => (registered.length === 0 ? answered(404) : undefined),
      { protocols: [protocol('vault', true)] },
    )
    expect(await bench.flush()).toBeUndefined()
    expect(bench.registered).toEqual(['vault'])
    expect(bench.due.size).toBe(0)
  })

  it('registers it once also when several pushes find it unknown at the same time', async () => {
    const due = [...metrics(100), ...metrics(800, undefined, 'lost')]
    const bench = new FlushBench(
      due,
      (batch, { registered }) => (batch.some(isOf('lost')) && registered.length === 0 ? answered(404) : undefined),
      { protocols: [protocol('vault'), protocol('lost', true)] },
    )
    expect(await bench.flush()).toBeUndefined()
    expect(bench.registered).toEqual(['lost'])
    expect(bench.due.size).toBe(0)
  })

  it('gives up on one that is unknown even after it was registered', async () => {
    const bench = new FlushBench(metrics(3), () => answered(404), { protocols: [protocol('vault', true)] })
    await bench.flush()
    expect(bench.rejectedProtocols).toEqual(['vault'])
    expect(bench.pushes).toHaveLength(2)
  })

  it('does not register after a 403: it is there, and another’s', async () => {
    const bench = new FlushBench(metrics(3), () => answered(403), { protocols: [protocol('vault', true)] })
    await bench.flush()
    expect(bench.registered).toEqual([])
    expect(bench.rejectedProtocols).toEqual(['vault'])
  })
})
