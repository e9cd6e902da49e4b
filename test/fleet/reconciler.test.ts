import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { backfillQueue, laneJob, laneQueue, windowJob } from '../../src/fleet/job-engine.ts'
import { CollectorLanes } from '../../src/fleet/lane.ts'
import { reconcile } from '../../src/fleet/lane-claims.ts'
import { hourAfter, hourNumber } from '../../src/model/hour.ts'
import { PostgresFleetStore } from '../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { dropJobs } from '../support/postgres/drop-jobs.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn } from './support/engines.ts'

const collector = (id: string, chain: string) => ({ id, use: 'contract-read', options: { chain } })

describe.skipIf(postgresPlace.kind === 'missing')('the jobs of due hours', () => {
  const databases = useTestDatabases()

  it('are made for the collectors that are configured here, again and again', async () => {
    const address = await databases.empty()
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    const store = new PostgresFleetStore(outbox.database)
    const lanes = new CollectorLanes([collector('p/a', 'ethereum'), collector('p/b', 'base')], 'eu-1', store)
    const run = (text: string, ...values: unknown[]) =>
      outbox.database.write(async transaction => transaction.later(text, values))
    for (const name of ['p/a', 'p/b', 'p/unknown']) {
      await run('INSERT INTO tidegauge.collector (name, since) VALUES ($1, 1)', name)
      await lanes.assigned(name)
    }
    await run(`UPDATE tidegauge.collector SET lane = 'ethereum' WHERE name = 'p/unknown'`)
    const hours = [anHour, hourAfter(anHour, -1), hourAfter(anHour, -2)]
    const due = (name: string, hour: number) =>
      run(
        'INSERT INTO tidegauge.collection (hour, collector) SELECT $2, id FROM tidegauge.collector WHERE name = $1',
        ...[name, hour],
      )
    for (const hour of hours.slice(0, 2)) await due('p/a', hourNumber(hour))
    await due('p/unknown', hourNumber(hourAfter(anHour, -2)))
    const span = { from: hourAfter(anHour, -99), to: anHour, what: 'missing', order: 'oldest-first' } as const
    const [known, unknown] = [
      { ...span, collectors: ['p/a'] },
      { ...span, collectors: ['p/a', 'p/unknown'] },
    ]
    const asked = [known, unknown].map(window => ({ id: windowJob('ethereum', window).id, lane: 'ethereum', window }))
    await outbox.shared.backfills.ask(asked)

    const engine = engineOn(address)
    const { backfills } = outbox.shared
    /** A server on a slow machine may take longer to connect than a pass waits: that pass is repeated. */
    const pass = (): Promise<void> =>
      reconcile(store, backfills, engine, lanes, systemTime.nowMs()).catch(error => {
        if (!`${error}`.includes('timeout exceeded when trying to connect')) throw error
        return pass()
      })
    await pass()
    const fetched = await engine.fetch(laneQueue('ethereum'), 10)
    expect(fetched.map(({ attempt }) => attempt.id)).toEqual(
      hours.slice(0, 2).map(hour => laneJob({ lane: 'ethereum', hour }).id),
    )
    expect(await engine.fetch(laneQueue('base'), 10)).toEqual([])
    const windows = await engine.fetch(backfillQueue('ethereum'), 10)
    expect(windows.map(({ data }) => data)).toEqual([known])

    await dropJobs(run)
    // The first pass finds the schema gone, the second makes it again.
    await pass().catch(() => {})
    await pass()
    expect(await engine.fetch(laneQueue('ethereum'), 10)).toHaveLength(2)
    expect(await engine.fetch(backfillQueue('ethereum'), 10)).toHaveLength(1)
  })
})
