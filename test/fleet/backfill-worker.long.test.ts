import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { BackfillWorker, type WindowResult } from '../../src/fleet/backfill-worker.ts'
import { backfillQueue, type JobEngine, windowJob } from '../../src/fleet/job-engine.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { BackfillWindow, CommitStep, SharedOutbox } from '../../src/outbox/contract/fleet-store.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn } from './support/engines.ts'

const queue = backfillQueue('web')
const window = (index: number, collectors = ['pool/a']): BackfillWindow => ({
  collectors,
  from: hourAfter(anHour, 100 * index),
  to: hourAfter(anHour, 100 * index + 99),
  what: 'missing',
  order: 'oldest-first',
})
const job = (index: number, collectors?: string[]) => windowJob('web', window(index, collectors))

/** A database as one daemon has it open. */
interface Place {
  readonly engine: JobEngine
  readonly shared: SharedOutbox
}

async function openedOn(address: string): Promise<Place> {
  const outbox = await openPostgresOutbox(addressOf(address))
  onTestFinished(() => outbox.close())
  return { engine: engineOn(address), shared: outbox.shared }
}

/** A worker of the lane `web`, with a hand on what it reads. */
function workerOn({ engine, shared }: Place, known = 'pool/a') {
  const waiting: (() => void)[] = []
  const [begun, stopped]: [BackfillWindow[], unknown[]] = [[], []]
  const claims: CommitStep[] = []
  const ends: ((result: WindowResult) => void)[] = []
  const worker = new BackfillWorker({
    ...{ engine, store: shared.store, backfills: shared.backfills },
    lanes: async () => ['web'],
    knows: ({ collectors }) => collectors.every(id => id === known),
    read: async (_, one, { signal, owned }) => {
      begun.push(one)
      claims.push(owned)
      for (const resolve of waiting.splice(0)) resolve()
      const { promise, resolve } = Promise.withResolvers<WindowResult>()
      signal.addEventListener('abort', () => resolve({ left: 1 }))
      ends.push(result => resolve(result))
      const result = await promise
      if (signal.aborted) stopped.push(signal.reason)
      return result
    },
    rest: async () => {},
    time: systemTime,
    failed: error => {
      throw error
    },
  })
  onTestFinished(() => worker.stop())
  const until = async (count: number) => {
    while (begun.length < count) await new Promise<void>(resolve => waiting.push(resolve))
  }
  return { worker, begun, stopped, ends, claims, until }
}

describe.skipIf(postgresPlace.kind === 'missing')('a worker of backfills', () => {
  const databases = useTestDatabases()

  it('reads one window of a lane at a time, the oldest first, and keeps each result for who asked', async () => {
    const place = await openedOn(await databases.empty())
    const { engine } = place
    await engine.insert(queue, [job(1), job(0)])
    await engine.insert(queue, [job(0)])
    const { begun, ends, until } = workerOn(place)
    await until(1)
    expect(begun).toEqual([window(0)])
    expect([...(await engine.jobsOf(queue)).values()]).toMatchObject([{ state: 'free' }, { state: 'claimed' }])
    ends[0]?.({ left: 7 })
    await until(2)
    expect(begun[1]).toEqual(window(1))
    const jobs = await engine.jobsOf(queue)
    expect(jobs.get(job(0).id)).toMatchObject({ state: 'done', result: { left: 7 } })
    await engine.remove(queue, [job(0).id])
    expect((await engine.jobsOf(queue)).has(job(0).id)).toBe(false)
  })

  it('leaves a window asked for until all of it is done', async () => {
    const place = await openedOn(await databases.empty())
    const { engine } = place
    const { backfills } = place.shared
    const asked = [0, 1].map(index => ({ id: job(index).id, lane: 'web', window: window(index) }))
    await backfills.ask(asked)
    await backfills.ask(asked)
    expect(await backfills.open(['pool/a', 'pool/b'], 10)).toEqual(asked)
    expect(await backfills.open(['pool/b'], 10)).toEqual([])
    await engine.insert(queue, [job(0), job(1), job(2)])
    const { ends, until } = workerOn(place)
    await until(1)
    ends[0]?.({ left: 0 })
    await until(2)
    ends[1]?.({ left: 3 })
    await until(3)
    expect(await backfills.open(['pool/a'], 10)).toEqual(asked.slice(1))
  })

  it('hands its window over when it stops, and another reads it', async () => {
    const address = await databases.empty()
    const [one, other] = [await openedOn(address), await openedOn(address)]
    await one.engine.insert(queue, [job(0)])
    const first = workerOn(one)
    await first.until(1)
    const second = workerOn(other)
    await first.worker.stop()
    expect(first.stopped).toMatchObject([{ code: 'stopped' }])
    await second.until(1)
    expect(second.begun).toEqual([window(0)])
  })

  it('leaves a window of collectors that it does not know to a daemon that does', async () => {
    const address = await databases.empty()
    const [one, other] = [await openedOn(address), await openedOn(address)]
    await one.engine.insert(queue, [job(0, ['pool/b'])])
    const first = workerOn(one)
    const second = workerOn(other, 'pool/b')
    await second.until(1)
    expect(first.begun).toEqual([])
  })

  it('stops a window whose job was taken away', async () => {
    const place = await openedOn(await databases.empty())
    const { engine } = place
    await engine.insert(queue, [job(0)])
    const { begun, stopped, until } = workerOn(place)
    await until(1)
    await engine.remove(queue, [job(0).id])
    await engine.insert(queue, [job(1)])
    await until(2)
    expect(stopped).toMatchObject([{ message: 'another daemon has taken over these hours' }])
    expect(begun).toEqual([window(0), window(1)])
  })

  it('lets a window that was taken over store nothing, before its daemon knows', async () => {
    const address = await databases.empty()
    const [one, other] = [await openedOn(address), await openedOn(address)]
    await one.engine.insert(queue, [job(0)])
    const { claims, stopped, until } = workerOn(one)
    await until(1)
    const storing = () => one.shared.store.transaction(async transaction => claims[0]?.(transaction))
    await expect(storing()).resolves.toBeUndefined()
    await other.engine.remove(queue, [job(0).id])
    await other.engine.insert(queue, [job(0)])
    await expect(storing()).rejects.toMatchObject({ code: 'hour-taken-over' })
    await until(2)
    expect(stopped).toMatchObject([{ code: 'hour-taken-over' }])
  })
})
