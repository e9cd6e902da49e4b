import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fresh, type Piece, smaller } from '../../src/delivery/isolate/pieces.ts'
import { Worklist } from '../../src/delivery/worklist.ts'
import { dice } from '../../src/devchain/dice.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { Metric } from '../../src/model/metric.ts'
import type { DeliveryStore } from '../../src/outbox/contract/delivery-store.ts'
import { asBatch } from '../model/batches.ts'
import { anHour, metrics } from '../support/metrics.ts'

const nameOf = ({ id, hour }: Metric) => `${id} ${hour}`

/**
 * An outbox that gives other objects each time.
 *
 * @param turns of the event loop until it looks, and again until its answer is there
 */
function outboxOf(due: readonly Metric[], isFree = (_: Metric) => true, turns = () => 0) {
  const left = new Map(due.map(metric => [nameOf(metric), metric]))
  const asked = async <T>(look: () => T): Promise<T> => {
    for (let count = turns(); count > 0; count -= 1) await new Promise(setImmediate)
    const found = look()
    for (let count = turns(); count > 0; count -= 1) await new Promise(setImmediate)
    return found
  }
  const plan = {
    due: (limit: number) => asked(() => [...left.values()].slice(0, limit).map(metric => ({ ...metric }))),
    free: (some: readonly Metric[]) => some.filter(isFree),
    newestFirstFrom: anHour,
    current: anHour,
  }
  const outbox: Pick<DeliveryStore, 'stillDue'> = {
    stillDue: some => asked(() => some.filter(({ id, hour }) => left.has(`${id} ${hour}`))),
  }
  return {
    left,
    plan,
    worklist: (inFlight = 4, own = plan) => new Worklist(own, { batchSizeMax: 100 }, outbox, { inFlight }),
    drop: (dropped: readonly Metric[]) => {
      for (const metric of dropped) left.delete(nameOf(metric))
    },
    record: (recorded: readonly Metric[]) => {
      for (const metric of recorded) left.delete(nameOf(metric))
    },
  }
}

async function all(worklist: Worklist): Promise<Piece[]> {
  const pieces: Piece[] = []
  for (let piece = await worklist.take(); piece; piece = await worklist.take()) pieces.push(piece)
  return pieces
}

/** Brings chosen ones of the upcoming metrics forward. */
function bringForward(
  worklist: Worklist,
  choose: (upcoming: readonly Metric[]) => readonly Metric[],
  others: readonly Metric[] = [],
) {
  return worklist.bringForward(async () => others, choose)
}

describe('a worklist', () => {
  it('hands out what is due in batches of 100, in order, each metric once', async () => {
    const due = metrics(1_250)
    const worklist = outboxOf(due).worklist()
    const pieces = await all(worklist)
    expect(pieces.map(({ batch }) => batch.length)).toEqual([...Array(12).fill(100), 50])
    expect(pieces.flatMap(({ batch }) => [...batch])).toEqual(due)
    expect(pieces.every(({ sent, attemptsMax }) => sent === 0 && attemptsMax === 5)).toBe(true)
  })

  it('hands out what has become due meanwhile', async () => {
    const outbox = outboxOf(metrics(100))
    const worklist = outbox.worklist()
    const [first] = await all(worklist)
    outbox.record(first?.batch ?? [])
    worklist.release(first?.batch ?? [])
    for (const metric of metrics(3, hourAfter(anHour, 1))) outbox.left.set(nameOf(metric), metric)
    expect((await worklist.take())?.batch).toHaveLength(3)
  })

  it('does not hand out what is in quarantine', async () => {
    const due = metrics(120)
    const worklist = outboxOf(due, ({ value }) => value >= 110).worklist()
    expect((await all(worklist)).flatMap(({ batch }) => [...batch])).toEqual(due.slice(110))
  })

  it('hands out nothing that was dropped, be it read before or on its way meanwhile', async () => {
    const due = metrics(350)
    const outbox = outboxOf(due)
    const worklist = outbox.worklist()
    const [first, second] = [await worklist.take(), await worklist.take()]
    if (!first || !second) throw new Error('nothing was handed out')
    outbox.drop([...first.batch.slice(0, 99), ...due.slice(200, 290)])
    const others = await worklist.take()
    expect(others?.batch).toEqual(due.slice(290, 300))
    worklist.putFirst([first])
    worklist.putLast([second])
    const left = [...due.slice(99, 100), ...due.slice(300), ...due.slice(100, 200)]
    expect((await all(worklist)).flatMap(({ batch }) => [...batch])).toEqual(left)
  })

  it('hands out again what was recorded and is due still: it was not recorded after all', async () => {
    const due = metrics(2)
    const worklist = outboxOf(due).worklist()
    await worklist.take()
    expect(await worklist.take()).toBeUndefined()
    worklist.release(due.slice(1))
    expect((await worklist.take())?.batch).toEqual(due.slice(1))
  })

  it('brings metrics forward, each alone, with what they have behind them', async () => {
    const due = metrics(300)
    const outbox = outboxOf(due)
    const worklist = outbox.worklist()
    const piece = await worklist.take()
    if (!piece) throw new Error('nothing is due')
    worklist.putFirst(smaller({ ...piece, sent: 3, attemptsMax: 2 }, piece.batch))
    await bringForward(worklist, upcoming => [upcoming[70], upcoming[120]].filter(metric => metric !== undefined))
    expect(await worklist.take()).toEqual({ batch: [due[70]], sent: 3, attemptsMax: 2 })
    expect(await worklist.take()).toEqual({ batch: [due[120]], sent: 0, attemptsMax: 5 })
    const rest = await all(worklist)
    expect(rest.map(({ batch, sent }) => [batch.length, sent])).toEqual([
      [34, 3],
      [34, 3],
      [31, 3],
      [100, 0],
      [99, 0],
    ])
    expect(rest.flatMap(({ batch }) => [...batch])).toEqual(due.filter((_, place) => place !== 70 && place !== 120))
  })

  it('names each upcoming metric once, also when it is among the others', async () => {
    const due = [...metrics(105), ...metrics(5, anHour, 'other')]
    const worklist = outboxOf(due).worklist()
    await worklist.take()
    const others = due.slice(105).map(metric => ({ ...metric }))
    const chosenFrom: Metric[] = []
    const choose = (upcoming: readonly Metric[]) => {
      chosenFrom.push(...upcoming)
      return []
    }
    await bringForward(worklist, choose, others)
    expect(chosenFrom).toEqual(due.slice(100))
  })

  it('hands out each metric once at a time, and all in the end, whatever comes back while the outbox is read', async () => {
    const scene = fc.record({
      count: fc.integer({ min: 0, max: 700 }),
      aside: fc.integer({ min: 0, max: 30 }),
      lanes: fc.integer({ min: 1, max: 6 }),
      /** Longest delay of the outbox's answers. */
      turns: fc.constantFrom(0, 1, 3),
      seed: fc.integer(),
    })
    await fc.assert(
      fc.asyncProperty(scene, async ({ count, aside, lanes, turns, seed }) => {
        const { roll, whole } = dice(seed)
        const due = metrics(count).map((metric, place) => ({
          ...metric,
          protocolId: place % 7 === 0 ? 'lost' : 'vault',
        }))
        const asideNames = new Set(due.filter(() => roll() < aside / Math.max(1, count)).map(nameOf))
        let isLost = false
        const isFree = (metric: Metric) => !asideNames.has(nameOf(metric)) && !(isLost && metric.protocolId === 'lost')
        const outbox = outboxOf(due, isFree, () => whole(0, turns))
        const worklist = outbox.worklist()
        const [out, done, dropped] = [new Set<string>(), new Set<string>(), new Set<string>()]
        const send = async (piece: Piece) => {
          expect(piece.batch.length).toBeLessThanOrEqual(100)
          for (const metric of piece.batch) {
            const name = nameOf(metric)
            const isFresh = piece.sent === 0
            if (out.has(name) || done.has(name) || (isFresh && !isFree(metric)))
              throw new Error(`${name} twice, or put aside`)
            out.add(name)
          }
          for (let left = whole(1, 4); left > 0; left -= 1) await new Promise(setImmediate)
          await disturb()
          for (const metric of piece.batch) out.delete(nameOf(metric))
          if (piece.batch.length > 1 && piece.sent < 3 && roll() < 0.4) {
            worklist.putFirst(smaller({ ...piece, sent: piece.sent + 1 }, piece.batch))
            return
          }
          outbox.record(piece.batch)
          for (const metric of piece.batch) done.add(nameOf(metric))
          worklist.release(piece.batch)
        }
        const disturb = async () => {
          const some = () => due.filter(() => roll() < 0.01).slice(0, 3)
          if (roll() < 0.1)
            await worklist.bringForward(
              () => outbox.plan.due(50),
              upcoming => upcoming.filter(() => roll() < 0.05).slice(0, 3),
            )
          if (roll() < 0.05) {
            const gone = some().filter(metric => outbox.left.has(nameOf(metric)))
            for (const metric of gone) dropped.add(nameOf(metric))
            outbox.drop(gone)
          }
          if (!isLost && roll() < 0.02) {
            isLost = true
            worklist.leaveOut(({ protocolId }) => protocolId === 'lost')
          }
        }
        const underWay = new Set<Promise<void>>()
        let ended = 0
        for (;;) {
          const endedBefore = ended
          const droppedBefore = new Set(dropped)
          const piece = underWay.size < lanes ? await worklist.take() : undefined
          if (piece) {
            for (const metric of piece.batch)
              if (droppedBefore.has(nameOf(metric))) throw new Error(`${metric.id} was dropped`)
            const sending = send(piece).finally(() => {
              underWay.delete(sending)
              ended += 1
            })
            underWay.add(sending)
          } else if (underWay.size > 0) await Promise.race(underWay)
          else if (ended === endedBefore) break
        }
        const names = [...outbox.left.values()].filter(isFree).map(nameOf)
        expect(names).toEqual([])
      }),
    )
  })

  it('reads a round of pushes at a time, and what has become due meanwhile before the rest', async () => {
    const { plan, left, worklist: worklistOf } = outboxOf(metrics(1_000))
    const late = metrics(20, hourAfter(anHour, 1))
    const limits: number[] = []
    const due = async (limit: number) => {
      limits.push(limit)
      return [...left.values()].toSorted((a, b) => b.hour - a.hour).slice(0, limit)
    }
    const worklist = worklistOf(2, { ...plan, due })
    await worklist.take()
    for (const metric of late) left.set(nameOf(metric), metric)
    const pieces = [await worklist.take(), await worklist.take()]
    expect(pieces.map(piece => piece?.batch[0])).toEqual([metrics(101).at(-1), late[0]])
    expect(limits).toEqual([200, 400])
    expect((await all(worklist)).flatMap(({ batch }) => [...batch])).toHaveLength(1_000 + 20 - 300)
  })

  it('looks up again what comes back while it looks, and reads nothing that is recorded while it reads', async () => {
    const due = metrics(250)
    const outbox = outboxOf(due, undefined, () => 2)
    const worklist = outbox.worklist()
    const [first, second] = [await worklist.take(), await worklist.take()]
    if (!first || !second) throw new Error('nothing was handed out')
    const taking = worklist.take()
    outbox.drop(first.batch.slice(0, 50))
    worklist.putFirst([first])
    // The read that is under way may have found it due.
    for (let turns = 0; turns < 3; turns += 1) await new Promise(setImmediate)
    outbox.record(second.batch)
    worklist.release(second.batch)
    const taken = await taking
    const pieces = [...(taken ? [taken] : []), ...(await all(worklist))]
    expect(pieces.flatMap(({ batch }) => [...batch])).toEqual([...due.slice(200), ...due.slice(50, 100)])
  })
})

describe('the halves of a piece', () => {
  it('are thirds of more than four, and remember how often they were sent', () => {
    const piece = { batch: asBatch(metrics(13)), sent: 3, attemptsMax: 2 }
    const halves = smaller(piece, piece.batch)
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
