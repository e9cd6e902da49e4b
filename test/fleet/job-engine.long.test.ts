import { describe, expect, it } from 'vitest'
import { laneJob, laneQueue } from '../../src/fleet/job-engine.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { SharedTransaction } from '../../src/outbox/contract/fleet-store.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { dropJobs } from '../support/postgres/drop-jobs.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn, inTransaction } from './support/engines.ts'

const queue = laneQueue('ethereum')
const hours = Array.from({ length: 10 }, (_, back) => hourAfter(anHour, -back))
const jobs = hours.map(hour => laneJob({ lane: 'ethereum', hour }))
const hourOf = ({ data }: { data: unknown }) => (data as { hour: number }).hour

describe.skipIf(postgresPlace.kind === 'missing')('the job engine', () => {
  const databases = useTestDatabases()

  it('has each job once, whichever daemons insert it at once, on an empty database', async () => {
    const address = await databases.empty()
    const engines = [engineOn(address), engineOn(address), engineOn(address)]
    await Promise.all(engines.map(engine => engine.insert(queue, jobs)))
    const fetched = (await Promise.all(engines.map(engine => engine.fetch(queue, 5)))).flat()
    expect(fetched.map(hourOf).sort()).toEqual([...hours].sort())
  })

  it('gives the newest hour first, and only those from a priority on', async () => {
    const engine = engineOn(await databases.empty())
    await engine.insert(queue, jobs.slice(1))
    const newest = jobs[0]?.priority ?? 0
    expect(await engine.fetch(queue, 5, newest)).toEqual([])
    await engine.insert(queue, jobs)
    expect((await engine.fetch(queue, 5, newest)).map(hourOf)).toEqual([anHour])
    expect((await engine.fetch(queue, 2)).map(hourOf)).toEqual(hours.slice(1, 3))
  })

  it('hands a released job over at once, and refuses the earlier claim of it', async () => {
    const address = await databases.empty()
    const [one, other] = [engineOn(address), engineOn(address)]
    await one.insert(queue, jobs.slice(0, 1))
    const [first] = await one.fetch(queue, 1)
    if (!first) throw new Error('no job')
    await one.release(queue, [first.attempt])
    const [second] = await other.fetch(queue, 1)
    if (!second) throw new Error('no job')
    expect(second.attempt).toEqual({ ...first.attempt, retryCount: 1 })
    expect(await one.touch(queue, [first.attempt])).toEqual(new Set())
    expect(await inTransaction(address, tx => one.keep(queue, first.attempt, tx))).toBe(false)
    await one.drop(queue, first.attempt)
    await one.release(queue, [first.attempt])
    expect(await other.touch(queue, [second.attempt])).toEqual(new Set([second.attempt.id]))
  })

  it('ends a job in a transaction alone that commits, and can be given it again afterwards', async () => {
    const address = await databases.empty()
    const engine = engineOn(address)
    await engine.insert(queue, jobs.slice(0, 1))
    const [job] = await engine.fetch(queue, 1)
    if (!job) throw new Error('no job')
    const finish = async (tx: SharedTransaction) => {
      const isKept = await engine.keep(queue, job.attempt, tx)
      await engine.complete(queue, job.attempt, tx)
      return isKept
    }
    expect(await inTransaction(address, finish, 'ROLLBACK')).toBe(true)
    expect(await engine.touch(queue, [job.attempt])).toEqual(new Set([job.attempt.id]))
    expect(await inTransaction(address, finish)).toBe(true)
    expect(await engine.touch(queue, [job.attempt])).toEqual(new Set())
    await engine.insert(queue, jobs.slice(0, 1))
    expect(await engine.fetch(queue, 1)).toHaveLength(1)
  })

  it('refuses the claim of a job that was made again, whose claims are counted from the start', async () => {
    const address = await databases.empty()
    const [one, other] = [engineOn(address), engineOn(address)]
    await one.insert(queue, jobs.slice(0, 1))
    const [stale] = await one.fetch(queue, 1)
    if (!stale) throw new Error('no job')
    await inTransaction(address, tx => other.complete(queue, stale.attempt, tx))
    await other.insert(queue, jobs.slice(0, 1))
    const [fresh] = await other.fetch(queue, 1)
    if (!fresh) throw new Error('no job')
    expect(fresh.attempt.retryCount).toBe(stale.attempt.retryCount)
    expect(await inTransaction(address, tx => one.keep(queue, stale.attempt, tx))).toBe(false)
    expect(await inTransaction(address, tx => other.keep(queue, fresh.attempt, tx))).toBe(true)
  })

  it('makes its schema again when it was dropped', async () => {
    const address = await databases.empty()
    const engines = [engineOn(address), engineOn(address)]
    for (const engine of engines) await engine.insert(queue, jobs)
    await dropJobs(text => inTransaction(address, tx => tx.query(text)))
    const inserts = () => engines.map(engine => engine.insert(queue, jobs))
    // Each finds out at its first call.
    await Promise.allSettled(inserts())
    await Promise.all(inserts())
    expect(await engines[0]?.fetch(queue, 20)).toHaveLength(jobs.length)
  })

  it('keeps what it has made again when an error about the schema before comes late', async () => {
    const address = await databases.empty()
    const engine = engineOn(address)
    await engine.insert(queue, jobs)
    const connections = () =>
      inTransaction(address, tx =>
        tx.query(
          `SELECT pid FROM pg_stat_activity WHERE application_name = 'tidegauge jobs' ORDER BY backend_start DESC`,
        ),
      )
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()]
    const query = () => {
      asked.resolve()
      return answer.promise
    }
    const late = engine.insert(queue, jobs, { query })
    await asked.promise
    await dropJobs(text => inTransaction(address, tx => tx.query(text)))
    // Finds out, unless the engine's upkeep did so before.
    await Promise.allSettled([engine.fetch(queue, 1)])
    await engine.insert(queue, jobs)
    const [newest] = await connections()
    answer.reject(Object.assign(new Error('relation does not exist'), { code: '42P01' }))
    await expect(late).rejects.toThrow('relation does not exist')
    expect(await engine.fetch(queue, 20)).toHaveLength(jobs.length)
    expect(await connections()).toContainEqual(newest)
  })

  it('rejects while the database cannot be reached, and goes on afterwards', async () => {
    const address = await databases.empty()
    const engine = engineOn(address)
    await databases.server.pause()
    await expect(engine.insert(queue, jobs)).rejects.toThrow()
    await databases.server.start()
    await engine.insert(queue, jobs)
    expect(await engine.fetch(queue, 20)).toHaveLength(jobs.length)
  })
})
