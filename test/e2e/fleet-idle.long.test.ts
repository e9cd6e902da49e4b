import { describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAt, hourText } from '../../src/model/hour.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

const [seconds, windowsMax, transactionsASecondMax] = [20, 5, 5]

describe.skipIf(postgresPlace.kind === 'missing')('a fleet with nothing to do', () => {
  const databases = useTestDatabases()

  it('asks the database little, and writes less', async () => {
    const world = await fleetScene()
    const current = hourAt(systemTime.nowMs())
    const { daemons, name } = await startFleet(databases, world, current, ['eu-1', 'eu-2', 'eu-3'])
    await world.until(() => world.sent.has(hourText(current)))
    const ask = async (text: string) => (await databases.server.query(text, [], name))[0] ?? {}
    const counts = `SELECT xact_commit::int + xact_rollback::int AS transactions,
      (SELECT sum(n_tup_upd)::int FROM pg_stat_user_tables) AS updates,
      (SELECT sum(n_tup_upd)::int FROM pg_stat_user_tables WHERE relname = 'queue') AS queue
      FROM pg_stat_database WHERE datname = current_database()`
    let [before, after] = [await ask(counts), await ask(counts)]
    const perSecond = (what: string) => (Number(after[what]) - Number(before[what])) / seconds
    // The work of the start takes some of them on a slow machine.
    for (let window = 0; window < windowsMax; window += 1) {
      before = await ask(counts)
      await ask(`SELECT pg_sleep(${seconds})`)
      after = await ask(counts)
      if (perSecond('transactions') < daemons.length * transactionsASecondMax) break
    }
    expect(perSecond('transactions')).toBeLessThan(daemons.length * transactionsASecondMax)
    expect(perSecond('updates')).toBeLessThan(daemons.length * 2)
    expect(perSecond('queue'), 'dead rows of the engine pile up while a horizon is held').toBeLessThan(1)
  })
})
