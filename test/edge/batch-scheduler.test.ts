import { describe, expect, it } from 'vitest'
import { afterQuietTick, type BatchOptions, BatchScheduler, sentTogether } from '../../src/edge/batch-scheduler.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))
const turns = async (count: number) => {
  for (let left = count; left > 0; left -= 1) await turn()
}

/** A scheduler that answers each number with ten times as much, and the batches that it has executed. */
function stage(options?: BatchOptions<number>) {
  const batches: number[][] = []
  const scheduler = new BatchScheduler<number, number>(jobs => {
    batches.push(jobs.map(({ request }) => request))
    for (const { request, resolve } of jobs) resolve(10 * request)
  }, options)
  return { batches, scheduler }
}

describe('a batch scheduler', () => {
  it('executes the requests of one turn together, in their order, and gives each caller its own answer', async () => {
    const { batches, scheduler } = stage()
    const first = scheduler.schedule(1)
    await Promise.resolve()
    const second = scheduler.schedule(2)
    expect(batches).toEqual([])
    expect(await Promise.all([first, second])).toEqual([10, 20])
    expect(await scheduler.schedule(3)).toBe(30)
    expect(batches).toEqual([[1, 2], [3]])
  })

  it('rejects all jobs without an answer when the batch fails, and goes on', async () => {
    const scheduler = new BatchScheduler<number, number>(async ([first, second, third]) => {
      first?.resolve(1)
      second?.reject(new Error('of its own'))
      if (third) throw new Error('of all')
    })
    const ends = await Promise.allSettled([1, 2, 3, 4].map(request => scheduler.schedule(request)))
    expect(ends).toMatchObject([
      { value: 1 },
      { reason: { message: 'of its own' } },
      { reason: { message: 'of all' } },
      { reason: { message: 'of all' } },
    ])
    expect(await scheduler.schedule(5)).toBe(1)
  })

  it('waits until an answer comes after the execution', async () => {
    const later: (() => void)[] = []
    const scheduler = new BatchScheduler<number, number>(jobs => {
      for (const { request, resolve } of jobs) later.push(() => resolve(request))
    })
    const answer = scheduler.schedule(7)
    await turns(3)
    later[0]?.()
    expect(await answer).toBe(7)
  })

  it('splits what is larger than a batch may be, and executes the rest in the next turn', async () => {
    const { batches, scheduler } = stage({ sizeOf: size => size, sizeMax: 5 })
    await Promise.all([3, 2, 9, 1, 4].map(size => scheduler.schedule(size)))
    expect(batches).toEqual([[3, 2], [9], [1, 4]])
  })

  it.each([
    [true, [[1]]],
    [false, [[1], [2]]],
  ])('begins a batch while another is executed unless it is serial: %s', async (isSerial, begun) => {
    const batches: number[][] = []
    const gate = Promise.withResolvers<void>()
    const scheduler = new BatchScheduler<number, void>(
      async jobs => {
        batches.push(jobs.map(({ request }) => request))
        await gate.promise
        for (const { resolve } of jobs) resolve()
      },
      { isSerial },
    )
    const first = scheduler.schedule(1)
    await turns(2)
    const second = scheduler.schedule(2)
    await turns(2)
    expect(batches).toEqual(begun)
    gate.resolve()
    await Promise.all([first, second])
    expect(batches).toEqual([[1], [2]])
  })
})

describe('a request that is aborted', () => {
  it('before it leaves does not leave, and an empty batch is not executed', async () => {
    const { batches, scheduler } = stage()
    const stop = new AbortController()
    const [aborted, other] = [scheduler.schedule(1, stop.signal), scheduler.schedule(2)]
    const alone = expect(aborted).rejects.toThrow('enough')
    stop.abort(new Error('enough'))
    await alone
    expect(await other).toBe(20)
    const again = new AbortController()
    const only = expect(scheduler.schedule(3, again.signal)).rejects.toThrow('enough')
    again.abort(new Error('enough'))
    await only
    await turns(3)
    await expect(scheduler.schedule(4, again.signal)).rejects.toThrow('enough')
    expect(batches).toEqual([[2]])
  })

  it('under way rejects alone; the batch is aborted with the last of its callers', async () => {
    const signals: AbortSignal[] = []
    const scheduler = new BatchScheduler<number, number>((_jobs, { signal }) => void signals.push(signal))
    const stops = [new AbortController(), new AbortController()]
    const ends = Promise.allSettled(stops.map(({ signal }, index) => scheduler.schedule(index, signal)))
    await turns(2)
    stops[0]?.abort(new Error('one'))
    await turns(1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    stops[1]?.abort(new Error('two'))
    expect(await ends).toMatchObject([{ reason: { message: 'one' } }, { reason: { message: 'two' } }])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('aborts no batch whose other callers have no signal', async () => {
    const signals: AbortSignal[] = []
    const answers: (() => void)[] = []
    const scheduler = new BatchScheduler<number, number>((jobs, { signal }) => {
      signals.push(signal)
      for (const { request, resolve } of jobs) answers.push(() => resolve(request))
    })
    const stop = new AbortController()
    const [aborted, other] = [scheduler.schedule(1, stop.signal), scheduler.schedule(2)]
    const alone = expect(aborted).rejects.toThrow('enough')
    await turns(2)
    stop.abort(new Error('enough'))
    await alone
    expect(signals[0]?.aborted).toBe(false)
    answers[1]?.()
    expect(await other).toBe(2)
    expect(signals[0]?.aborted).toBe(false)
  })
})

describe('a batch that waits for a quiet turn', () => {
  it('waits for a whole turn that brings nothing new', async () => {
    const { batches, scheduler } = stage({ untilComplete: afterQuietTick(50) })
    const answers: Promise<number>[] = []
    for (let one = 0; one < 10; one += 1) {
      answers.push(scheduler.schedule(one))
      await turn()
    }
    expect(batches).toEqual([])
    await Promise.all(answers)
    expect(batches).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
  })

  it('does not wait for ever for callers that never rest', async () => {
    const { batches, scheduler } = stage({ untilComplete: afterQuietTick(5) })
    const answers: Promise<number>[] = []
    for (let one = 0; one < 20; one += 1) {
      answers.push(scheduler.schedule(one))
      await turn()
    }
    await Promise.all(answers)
    expect(batches.flat()).toHaveLength(20)
    expect(batches.length).toBeGreaterThan(2)
    expect(Math.max(...batches.map(all => all.length))).toBeLessThanOrEqual(6)
  })
})

it('what is sent together leaves at the end of its turn, in its order, and never as nothing', async () => {
  const left: (readonly number[])[] = []
  const send = sentTogether<number>(all => left.push(all))
  send(1)
  await Promise.resolve()
  send(2)
  expect(left).toEqual([])
  await turns(3)
  send(3)
  await turns(3)
  expect(left).toEqual([[1, 2], [3]])
})
