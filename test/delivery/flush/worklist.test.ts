import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Worklist, type WorklistDeps } from '../../../src/delivery/flush/worklist.ts'
import { fresh, type Part, smaller } from '../../../src/delivery/isolate/parts.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import type { Metric } from '../../../src/model/metric.ts'
import { asBatch } from '../../model/batches.ts'
import { dice } from '../../support/dice.ts'
import { anHour, metrics } from '../../support/metrics.ts'

const nameOf = ({ id, hour }: Metric) => `${id} ${hour}`

/** An outbox that gives other objects each time. */
function outboxOf(due: readonly Metric[], isFree = (_: Metric) => true) {
  const left = new Map(due.map(metric => [nameOf(metric), metric]))
  let version = 0
  const ports: WorklistDeps = {
    due: limit => [...left.values()].slice(0, limit).map(metric => ({ ...metric })),
    isFree,
    stillDue: some => some.filter(metric => left.has(nameOf(metric))),
    dueVersion: () => `${version}`,
  }
  return {
    left,
    ports,
    drop: (dropped: readonly Metric[]) => {
      for (const metric of dropped) left.delete(nameOf(metric))
      version += 1
    },
    settle: (settled: readonly Metric[]) => {
      for (const metric of settled) left.delete(nameOf(metric))
    },
  }
}

function all(worklist: Worklist): Part[] {
  const parts: Part[] = []
  for (let part = worklist.next(); part; part = worklist.next()) parts.push(part)
  return parts
}

describe('a worklist', () => {
  it('hands out what is due in batches of 100, in order, each metric once', () => {
    const due = metrics(1_250)
    const worklist = new Worklist(outboxOf(due).ports)
    const parts = all(worklist)
    expect(parts.map(({ batch }) => batch.length)).toEqual([...Array(12).fill(100), 50])
    expect(parts.flatMap(({ batch }) => batch)).toEqual(due)
    expect(parts.every(({ sent, attemptsMax }) => sent === 0 && attemptsMax === 5)).toBe(true)
    expect(worklist.hasMore()).toBe(false)
  })

  it('hands out what has become due meanwhile', () => {
    const outbox = outboxOf(metrics(100))
    const worklist = new Worklist(outbox.ports)
    const [first] = all(worklist)
    outbox.settle(first?.batch ?? [])
    worklist.release(first?.batch ?? [])
    for (const metric of metrics(3, hourAfter(anHour, 1))) outbox.left.set(nameOf(metric), metric)
    expect(worklist.hasMore()).toBe(true)
    expect(worklist.next()?.batch).toHaveLength(3)
  })

  it('does not hand out what is in quarantine', () => {
    const due = metrics(120)
    const worklist = new Worklist(outboxOf(due, ({ value }) => value >= 110).ports)
    expect(all(worklist).flatMap(({ batch }) => batch)).toEqual(due.slice(110))
  })

  it('hands out nothing that was dropped, be it read before or on its way meanwhile', () => {
    const due = metrics(350)
    const outbox = outboxOf(due)
    const worklist = new Worklist(outbox.ports)
    const [first, second] = [worklist.next(), worklist.next()]
    if (!first || !second) throw new Error('nothing was handed out')
    outbox.drop([...first.batch.slice(0, 99), ...due.slice(200, 290)])
    const others = worklist.next()
    expect(others?.batch).toEqual(due.slice(290))
    worklist.putFirst([first])
    worklist.putLast([second])
    expect(all(worklist).flatMap(({ batch }) => batch)).toEqual(due.slice(99, 200))
  })

  it('hands out again what was settled and is due still: it was not settled after all', () => {
    const due = metrics(2)
    const worklist = new Worklist(outboxOf(due).ports)
    worklist.next()
    expect(worklist.next()).toBeUndefined()
    worklist.release(due.slice(1))
    expect(worklist.next()?.batch).toEqual(due.slice(1))
  })

  it('brings metrics forward, each alone, with what they have behind them', () => {
    const due = metrics(300)
    const outbox = outboxOf(due)
    const worklist = new Worklist(outbox.ports)
    const part = worklist.next()
    if (!part) throw new Error('nothing is due')
    worklist.putFirst(smaller({ ...part, sent: 3, attemptsMax: 2 }, part.batch))
    const upcoming = worklist.upcoming(3, [])
    const wanted = [upcoming[70], upcoming[120]].filter(metric => metric !== undefined)
    worklist.bringForward(wanted)
    expect(worklist.next()).toEqual({ batch: [due[70]], sent: 3, attemptsMax: 2 })
    expect(worklist.next()).toEqual({ batch: [due[120]], sent: 0, attemptsMax: 5 })
    const rest = all(worklist)
    expect(rest.map(({ batch, sent }) => [batch.length, sent])).toEqual([
      [34, 3],
      [34, 3],
      [31, 3],
      [100, 0],
      [99, 0],
    ])
    expect(rest.flatMap(({ batch }) => batch)).toEqual(due.filter((_, place) => place !== 70 && place !== 120))
  })

  it('names each upcoming metric once, also when it is among the others', () => {
    const due = [...metrics(5), ...metrics(5, anHour, 'other')]
    const worklist = new Worklist(outboxOf(due).ports)
    const others = due.slice(5).map(metric => ({ ...metric }))
    expect(worklist.upcoming(3, others)).toEqual(due)
  })

  it('hands out each metric once at a time, whatever is split, put first, left out or settled', () => {
    const scene = fc.record({
      count: fc.integer({ min: 0, max: 700 }),
      aside: fc.integer({ min: 0, max: 30 }),
      seed: fc.integer(),
    })
    fc.assert(
      fc.property(scene, ({ count, aside, seed }) => {
        const { roll, whole } = dice(seed)
        const due = metrics(count).map((metric, place) => ({
          ...metric,
          protocolId: place % 7 === 0 ? 'lost' : 'vault',
        }))
        const left = due.filter(() => roll() < aside / Math.max(1, count))
        const leftNames = new Set(left.map(nameOf))
        const outbox = outboxOf(due, metric => !leftNames.has(nameOf(metric)))
        const worklist = new Worklist(outbox.ports)
        const out = new Set<string>()
        const under: Part[] = []
        const done = new Set<string>()
        let isLost = false
        for (let step = 0; step < 400; step += 1) {
          const part = roll() < 0.6 ? worklist.next() : undefined
          if (part) {
            for (const metric of part.batch) {
              if (out.has(nameOf(metric)) || done.has(nameOf(metric))) throw new Error(`${metric.id} twice`)
              out.add(nameOf(metric))
            }
            expect(part.batch.length).toBeLessThanOrEqual(100)
            under.push(part)
          }
          const back = roll() < 0.5 ? under.splice(whole(0, Math.max(0, under.length - 1)), 1)[0] : undefined
          if (back) {
            for (const metric of back.batch) out.delete(nameOf(metric))
            if (back.batch.length > 1 && roll() < 0.5)
              worklist.putFirst(smaller({ ...back, sent: back.sent + 1 }, back.batch))
            else {
              outbox.settle(back.batch)
              worklist.release(back.batch)
              for (const metric of back.batch) done.add(nameOf(metric))
            }
          }
          if (roll() < 0.02)
            worklist.bringForward(
              worklist
                .upcoming(3, [])
                .filter(() => roll() < 0.05)
                .slice(0, 3),
            )
          if (!isLost && roll() < 0.01) {
            isLost = true
            worklist.leaveOut(({ protocolId }) => protocolId === 'lost')
          }
        }
        for (const metric of left) expect(done.has(nameOf(metric)) || out.has(nameOf(metric))).toBe(false)
      }),
    )
  })

  it('hands out everything in the end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_500 }), fc.integer(), (count, seed) => {
        const { roll } = dice(seed)
        const outbox = outboxOf(metrics(count))
        const worklist = new Worklist(outbox.ports)
        while (worklist.hasMore()) {
          const part = worklist.next()
          if (!part) throw new Error('there is more, and nothing is handed out')
          if (part.batch.length > 1 && roll() < 0.4) worklist.putFirst(smaller(part, part.batch))
          else {
            outbox.settle(part.batch)
            worklist.release(part.batch)
          }
        }
        expect(outbox.left.size).toBe(0)
      }),
      { numRuns: 30 },
    )
  })
})

describe('the halves of a part', () => {
  it('are thirds of more than four, and remember how often they were sent', () => {
    const part = { batch: asBatch(metrics(13)), sent: 3, attemptsMax: 2 }
    const halves = smaller(part, part.batch)
    expect(halves.map(({ batch, sent, attemptsMax }) => [batch.length, sent, attemptsMax])).toEqual([
      [5, 3, 2],
      [5, 3, 2],
      [3, 3, 2],
    ])
  })

  it('of a pair know each other', () => {
    const [one, other] = metrics(2)
    const halves = smaller(fresh(asBatch(metrics(2))), metrics(2))
    expect(halves.map(({ pairedWith }) => pairedWith)).toEqual([other, one])
    expect(smaller(fresh(asBatch(metrics(3))), metrics(3)).some(({ pairedWith }) => pairedWith)).toBe(false)
  })
})
