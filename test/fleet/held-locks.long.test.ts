import { describe, expect, it, onTestFinished } from 'vitest'
import { serviceIdentity } from '../../src/outbox/contract/fleet-store.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { untilTrue } from '../support/until-true.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a machine that loses its power in a transaction', () => {
  const databases = useTestDatabases()

  it('holds up no other daemon, although its connection stays', async () => {
    const outbox = await openPostgresOutbox(addressOf(await databases.empty()))
    onTestFinished(() => outbox.close())
    const { leases, store } = outbox.sharedOutbox
    const service = { name: serviceIdentity, digest: Buffer.alloc(32) }
    await store.agree([service], 'dying')
    const dying = { daemon: 'dying', instance: 'dying', term: 0 }
    dying.term = (await leases.renew(dying)).term ?? 0
    expect(await leases.claim(dying, ['deliver/tides'], service)).toEqual(['deliver/tides'])
    const held = Promise.withResolvers<boolean>()
    const broken = new AbortController()
    const transaction = store.transaction(async tx => {
      held.resolve(await leases.isHeld(dying, tx))
      // It is run again once its connection was ended.
      if (!broken.signal.aborted) await new Promise(resolve => broken.signal.addEventListener('abort', resolve))
    })
    onTestFinished(() => transaction.catch(() => {}))
    onTestFinished(() => broken.abort())
    expect(await held.promise).toBe(true)
    // Without an end of the transaction it never would.
    const living = { daemon: 'living', instance: 'living', term: 0 }
    await untilTrue(async () => {
      living.term = (await leases.renew(living)).term ?? 0
      return (await leases.claim(living, ['deliver/tides'], service)).length > 0
    })
  })
})
