import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ProtocolConfig } from '../../src/config/config.ts'
import { Flush } from '../../src/delivery/flush.ts'
import type { FlushPorts } from '../../src/delivery/ports.ts'
import type { Batch } from '../../src/model/batch.ts'
import type { Metric } from '../../src/model/metric.ts'
import type { Verdict } from '../../src/model/verdict.ts'
import { metrics } from '../support/metrics.ts'

const protocol = (id: string, register = false): ProtocolConfig => ({
  id,
  name: id,
  register,
  collectors: [],
  place: { file: 'f', line: 1, column: 1 },
})

/** A service by a rule, and an outbox in memory. */
class Bench {
  readonly pushes: Batch[] = []
  readonly delivered: Metric[] = []
  readonly dead: Metric[] = []
  readonly isolated: string[] = []
  readonly registered: string[] = []
  readonly due: Set<Metric>
  failSettle: () => void = () => {}
  readonly answer: (batch: Batch, bench: Bench) => Verdict | Promise<Verdict>
  readonly protocols: readonly ProtocolConfig[]

  constructor(
    due: readonly Metric[],
    answer: Bench['answer'],
    protocols: readonly ProtocolConfig[] = [protocol('vault')],
  ) {
    this.due = new Set(due)
    this.answer = answer
    this.protocols = protocols
  }

  async flush(inFlight = 4) {
    const ports: FlushPorts = {
      protocols: this.protocols,
      inFlight,
      due: (ids, limit) => [...this.due].filter(({ protocolId }) => ids.includes(protocolId)).slice(0, limit),
      push: async batch => {
        this.pushes.push(batch)
        await new Promise(setImmediate)
        return this.answer(batch, this)
      },
      settle: ({ delivered, dead }) => {
        this.failSettle()
        for (const metric of [...delivered, ...dead.map(entry => entry.metric)]) {
          if (!this.due.delete(metric)) throw new Error(`${metric.id} settled twice`)
        }
        this.delivered.push(...delivered)
        this.dead.push(...dead.map(({ metric }) => metric))
      },
      register: async ({ id }) => {
        this.registered.push(id)
        return undefined
      },
      isolated: ({ id }) => void this.isolated.push(id),
    }
    return await new Flush(ports).run()
  }
}

const delivered = (batch: Batch): Verdict => ({ kind: 'settled', delivered: batch, dead: [], resend: [], warnings: [] })
const refused: Verdict = { kind: 'refused', status: 400, reason: 'bad' }
const refuseThose = (bad: ReadonlySet<Metric>) => (batch: Batch) =>
  batch.some(metric => bad.has(metric)) ? refused : delivered(batch)

describe('a flush', () => {
  it('sends everything due in batches of at most 100', async () => {
    const bench = new Bench(metrics(250), delivered)
    expect(await bench.flush()).toBeUndefined()
    expect(bench.pushes.map(batch => batch.length)).toEqual([100, 100, 50])
    expect(bench.due.size).toBe(0)
  })

  it('finds one bad metric of 100 in at most 14 extra requests, wherever it sits', async () => {
    const due = metrics(100)
    for (const bad of due) {
      const bench = new Bench(due, refuseThose(new Set([bad])))
      expect(await bench.flush()).toBeUndefined()
      expect(bench.dead).toEqual([bad])
      expect(bench.delivered).toHaveLength(99)
      expect(bench.pushes.length - 1).toBeLessThanOrEqual(14)
    }
  })

  it('finds three bad ones in at most 42', async () => {
    const due = metrics(100)
    const three = fc.uniqueArray(fc.integer({ min: 0, max: 99 }), { minLength: 3, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(three, async indexes => {
        const bad = new Set(due.filter((_, index) => indexes.includes(index)))
        const bench = new Bench(due, refuseThose(bad))
        await bench.flush()
        expect(new Set(bench.dead)).toEqual(bad)
        expect(bench.delivered).toHaveLength(97)
        expect(bench.pushes.length - 1).toBeLessThanOrEqual(42)
      }),
      { numRuns: 50 },
    )
  })

  it('stops after a few requests when every metric is refused, and keeps all', async () => {
    const bench = new Bench(metrics(500), () => refused)
    expect(await bench.flush()).toMatchObject({ kind: 'systemic' })
    expect(bench.pushes.length).toBeLessThanOrEqual(16)
    expect(bench.due.size).toBe(500)
  })

  it('is not fooled by a bad head: the first metrics are bad, or a whole protocol is', async () => {
    const due = metrics(500)
    const bad = new Set(due.slice(0, 3))
    const head = new Bench(due, refuseThose(bad))
    expect(await head.flush()).toBeUndefined()
    expect(new Set(head.dead)).toEqual(bad)
    expect(head.delivered).toHaveLength(497)

    const [first, second] = [metrics(150, undefined, 'bad'), metrics(50, undefined, 'good')]
    const both = new Bench([...first, ...second], refuseThose(new Set(first)), [protocol('bad'), protocol('good')])
    expect(await both.flush()).toBeUndefined()
    expect(both.delivered).toHaveLength(50)
    expect(both.dead).toHaveLength(150)
  })

  it('keeps all when the service stops accepting anything halfway', async () => {
    const bench = new Bench(metrics(500), (batch, { pushes }) => (pushes.length > 2 ? refused : delivered(batch)))
    expect(await bench.flush(1)).toMatchObject({ kind: 'systemic' })
    expect(bench.delivered).toHaveLength(200)
    expect(bench.dead).toEqual([])
    expect(bench.due.size).toBe(300)
  })

  it('rejects only when nothing is under way any more', async () => {
    let underWay = 0
    const bench = new Bench(metrics(1_000), async batch => {
      underWay += 1
      await new Promise(setImmediate)
      underWay -= 1
      return delivered(batch)
    })
    let settled = 0
    bench.failSettle = () => {
      settled += 1
      if (settled === 3) throw new Error('disk full')
    }
    await expect(bench.flush(4)).rejects.toThrow('disk full')
    expect(underWay).toBe(0)
  })

  it('keeps a lone metric that is refused: it may not be the metric', async () => {
    const bench = new Bench(metrics(1), () => refused)
    expect(await bench.flush()).toMatchObject({ kind: 'systemic' })
    expect(bench.due.size).toBe(1)
  })

  it('has no more pushes under way than it may, and none with the same metric twice', async () => {
    let underWay = 0
    let most = 0
    const sent = new Set<Metric>()
    const bench = new Bench(metrics(2_000), async batch => {
      underWay += 1
      most = Math.max(most, underWay)
      for (const metric of batch) {
        expect(sent.has(metric)).toBe(false)
        sent.add(metric)
      }
      await new Promise(setImmediate)
      underWay -= 1
      return delivered(batch)
    })
    await bench.flush(4)
    expect(most).toBe(4)
    expect(sent.size).toBe(2_000)
  })

  it('uses all it may have under way also when the first batch had to be split', async () => {
    let underWay = 0
    let most = 0
    const [bad] = metrics(1)
    const bench = new Bench(metrics(2_000), async batch => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise(setImmediate)
      underWay -= 1
      return batch.some(({ id }) => id === bad?.id) ? refused : delivered(batch)
    })
    await bench.flush(4)
    expect(bench.dead).toHaveLength(1)
    expect(most).toBe(4)
  })

  it('probes with one push: a service that is down gets no more', async () => {
    const bench = new Bench(metrics(2_000), () => ({ kind: 'transient', reason: '503' }))
    expect(await bench.flush()).toMatchObject({ kind: 'transient' })
    expect(bench.pushes).toHaveLength(1)
    expect(bench.due.size).toBe(2_000)
  })

  it('isolates an unknown protocol and delivers the others', async () => {
    const due = [...metrics(30), ...metrics(30, undefined, 'lost')]
    const bench = new Bench(
      due,
      batch =>
        batch.some(({ protocolId }) => protocolId === 'lost')
          ? { kind: 'protocol-refused', status: 404, reason: '404' }
          : delivered(batch),
      [protocol('vault'), protocol('lost')],
    )
    expect(await bench.flush()).toBeUndefined()
    expect(bench.isolated).toEqual(['lost'])
    expect(bench.delivered).toHaveLength(30)
    expect(bench.due.size).toBe(30)
  })

  it('registers an unknown protocol where that is wanted, once, and sends again', async () => {
    const bench = new Bench(
      metrics(300),
      (batch, { registered }) =>
        registered.length === 0 ? { kind: 'protocol-refused', status: 404, reason: '404' } : delivered(batch),
      [protocol('vault', true)],
    )
    expect(await bench.flush()).toBeUndefined()
    expect(bench.registered).toEqual(['vault'])
    expect(bench.due.size).toBe(0)
  })

  it('gives up on a protocol that is unknown even after it was registered', async () => {
    const bench = new Bench(metrics(3), () => ({ kind: 'protocol-refused', status: 404, reason: '404' }), [
      protocol('vault', true),
    ])
    await bench.flush()
    expect(bench.isolated).toEqual(['vault'])
    expect(bench.pushes).toHaveLength(2)
  })

  it('sends again in halves what the service’s count left in doubt', async () => {
    const bench = new Bench(metrics(100), batch =>
      batch.length > 25 ? { kind: 'settled', delivered: [], dead: [], resend: batch, warnings: [] } : delivered(batch),
    )
    expect(await bench.flush()).toBeUndefined()
    expect(bench.delivered).toHaveLength(100)
  })

  it('stops at once on a refused key', async () => {
    const bench = new Bench(metrics(1_000), (batch, { pushes }) =>
      pushes.length > 3 ? { kind: 'key-refused', reason: '401' } : delivered(batch),
    )
    expect(await bench.flush(1)).toMatchObject({ kind: 'key-refused' })
    expect(bench.pushes).toHaveLength(4)
    expect(bench.due.size).toBe(700)
  })
})
