import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { roleJob, roleQueue } from '../../src/fleet/job-engine.ts'
import { RoleClaims } from '../../src/fleet/roles.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn } from './support/engines.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a machine that loses its power in a transaction', () => {
  const databases = useTestDatabases()

  it('holds up no other daemon, although its connection stays', async () => {
    const address = await databases.empty()
    const queue = roleQueue
    const [dying, living] = [engineOn(address), engineOn(address)]
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    await dying.insert(queue, [roleJob('deliver')])
    const [job] = await dying.fetch(queue, 1)
    const held = Promise.withResolvers<boolean>()
    const broken = new AbortController()
    const transaction = outbox.shared.store.transaction(async tx => {
      held.resolve(job !== undefined && (await dying.keep(queue, job.attempt, tx)))
      // It is run again once its connection was ended.
      if (!broken.signal.aborted) await new Promise(resolve => broken.signal.addEventListener('abort', resolve))
    })
    onTestFinished(() => transaction.catch(() => {}))
    onTestFinished(() => broken.abort())
    expect(await held.promise).toBe(true)
    // Without an end of the transaction it never would.
    await new Promise<void>(resolve => {
      const begin = async () => {
        resolve()
        return async () => {}
      }
      const claims = new RoleClaims({ engine: living, name: 'living', time: systemTime, failed: () => {} })
      claims.claim({ roles: ['deliver'], work: { begin } })
      onTestFinished(() => claims.stop())
    })
  })
})
