import { describe, expect, it } from 'vitest'
import { fresh } from '../../src/delivery/isolate/pieces.ts'
import { Worklist } from '../../src/delivery/worklist.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { Metric } from '../../src/model/metric.ts'
import type { MetricKey } from '../../src/outbox/contract/metrics.ts'
import { asBatch } from '../model/batches.ts'
import { anHour, metrics } from '../support/metrics.ts'

const older = hourAfter(anHour, -1)

interface Parts {
  readonly min?: number
  readonly sizeMax?: number
  /** Id of a metric that a person drops once it was read. */
  readonly dropped?: string
}

/** The work left where metrics are due, and their ids as they are handed out. */
function workOf(due: readonly Metric[], { min = 1, sizeMax = 100, dropped = '' }: Parts = {}) {
  let isDropped = false
  const isDue = ({ id }: MetricKey) => !isDropped || id !== dropped
  const plan = {
    due: async (limit: number) => due.filter(isDue).slice(0, limit),
    free: (some: readonly Metric[]) => some,
    ...{ newestFirstFrom: anHour, current: anHour },
  }
  const outbox = {
    stillDue: async <T extends MetricKey>(some: readonly T[]) => {
      isDropped = true
      return some.filter(isDue)
    },
  }
  const limits = { inFlight: 1, batchMetricsMin: () => min }
  const work = new Worklist(plan, { batchSizeMax: sizeMax }, outbox, limits)
  const all = async (isLastWanted?: boolean) => {
    const taken: string[] = []
    for (let piece = await work.take(isLastWanted); piece; piece = await work.take(isLastWanted)) {
      const own = piece.batch.map(({ id, hour }) => `${id.replace('vault___M', '')}${hour === anHour ? '' : '-'}`)
      taken.push(own.length < 5 ? own.join(' ') : `${own[0]} to ${own.at(-1)}`)
    }
    return taken
  }
  return { work, all }
}

describe('the work left in a flush', () => {
  it.each<[string, Metric[], Parts, string[]]>([
    ['each metric once, though none is recorded yet', metrics(250), {}, ['0 to 99', '100 to 199', '200 to 249']],
    ['the current hour apart', [...metrics(1), ...metrics(2, older)], {}, ['0', '0- 1-']],
    ['pieces of the size that the service takes', metrics(5), { sizeMax: 2 }, ['0 1', '2 3', '4']],
    ['as many as are worth a push', metrics(3), { min: 3 }, ['0 1 2']],
    ['none while they are fewer', metrics(2), { min: 3 }, []],
    ['what is still due', metrics(3), { dropped: 'vault___M1' }, ['0 2']],
  ])('is %s', async (_, due, parts, expected) => {
    expect(await workOf(due, parts).all()).toEqual(expected)
  })

  it.each([
    [[], []],
    [metrics(1, older), ['0-']],
  ])('has pieces in their places before %j, and the last ones only where they are wanted', async (due, ids) => {
    const { work, all } = workOf([...metrics(1), ...due])
    const [, first, ...rest] = metrics(6).map(metric => fresh(asBatch([metric])))
    if (first) work.putFirst([first])
    work.putBeforeOlder(rest.slice(0, 1))
    for (const piece of rest.slice(1, 3)) work.putLast([piece])
    expect(await all(false)).toEqual(['1', '0', '2', ...ids])
    const last = await work.take()
    if (last) work.putBack([last])
    work.putBack(rest.slice(3))
    expect(await all()).toEqual(['5', '4', '3'])
  })

  it('has some metrics alone and first, if they are brought forward', async () => {
    const { work, all } = workOf(metrics(9), { sizeMax: 2 })
    const piece = { ...fresh(asBatch(metrics(2))), sent: 3 }
    work.putLast([piece])
    expect((await work.take())?.batch).toEqual(metrics(4).slice(2))
    work.leaveOut(({ value }) => value === 5)
    const more = metrics(10)
    expect(
      await work.bringForward(
        async () => more,
        some => some.filter(({ value }) => value % 8 === 1),
      ),
    ).toBe(2)
    expect(await work.take()).toEqual({ ...piece, isLast: true, batch: [more[1]] })
    expect((await all()).slice(0, 3)).toEqual(['9', '4 6', '7 8'])
  })
})
