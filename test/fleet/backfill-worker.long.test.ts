import { expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { BackfillWorker } from '../../src/fleet/backfill-worker.ts'
import { backfillQueue, windowJob } from '../../src/fleet/job-engine.ts'
import { Fault } from '../../src/model/fault.ts'
import type { SeenDaemon } from '../../src/outbox/contract/fleet-store.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { untilTrue } from '../support/until-true.ts'
import { engineOn, inTransaction } from './support/engines.ts'

const lane = 'main'
const queue = backfillQueue(lane)
const ids = ['pool/tvl']
const job = windowJob(lane, { collectors: ids, from: anHour, to: anHour, what: 'missing', order: 'oldest-first' })

const databases = useTestDatabases()

it
  .skipIf(postgresPlace.kind === 'missing')
  .each<[what: string, first: Partial<SeenDaemon>, second: Partial<SeenDaemon>, claims: readonly string[]]>([
    ['both work its lane', { lanes: [lane] }, { lanes: [lane] }, ['eu-1', 'eu-2']],
    ['one alone works its lane', { lanes: [lane] }, { lanes: ['web'] }, ['eu-1']],
    ['one lacks its collectors', { lanes: [lane] }, { lanes: [lane], differing: ids }, ['eu-1']],
  ])('a window that no daemon can read ends after each has tried it: %s', async (_, first, second, claims) => {
  const address = await databases.empty()
  const asking = engineOn(address)
  await asking.insert(queue, [job])
  const daemons = [
    { ...first, name: 'eu-1', seenAtMs: 0 },
    { ...second, name: 'eu-2', seenAtMs: 0 },
  ] as SeenDaemon[]
  const claimants: string[] = []
  for (const { name, lanes, differing } of daemons) {
    const worker = new BackfillWorker({
      store: {
        daemons: async () => daemons,
        nowMs: async () => 0,
        transaction: work => inTransaction(address, work),
      },
      backfills: { finish: async () => {} },
      engine: engineOn(address),
      name,
      lanes: async () => lanes.filter(each => each === lane),
      knows: () => differing === undefined,
      readWindow: async (_, __, { signal, noteUnread }) => {
        claimants.push(name)
        noteUnread(new Fault('chain-unreachable', 'no node answers'))
        // It gives up at the second look, unless it is stopped.
        let looks = 0
        await untilTrue(() => signal.aborted || ++looks > 1)
        return { left: 1 }
      },
      closeLane: async () => {},
      time: systemTime,
      reportFailure: () => {},
    })
    onTestFinished(() => worker.stop())
  }
  await untilTrue(async () => (await asking.jobsOf(queue)).get(job.id)?.isDone)
  expect([...new Set(claimants)].sort()).toEqual(claims)
  expect((await asking.jobsOf(queue)).get(job.id)?.result).toEqual({ left: 1 })
})
