import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { daemonAwayMs } from '../../../src/model/limits.ts'
import type { Role } from '../../../src/outbox/contract/role.ts'
import { PostgresFleetStore } from '../../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { PostgresRoles } from '../../../src/outbox/postgres/roles.ts'
import { anHour } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'

const instance = '11111111-1111-4111-8111-111111111111'
const refused = { code: 'outbox-held', message: 'another tidegauge holds this outbox' }

describe.skipIf(postgresPlace.kind === 'missing')('who works on an outbox in PostgreSQL', () => {
  const databases = useTestDatabases()

  async function opened() {
    const address = addressOf(await databases.empty())
    const outbox = await openPostgresOutbox(address)
    onTestFinished(() => outbox.close())
    const store = new PostgresFleetStore(outbox.database)
    const run = (text: string) => outbox.database.write(async transaction => transaction.later(text, []))
    const announce = (name: string) =>
      store.announce(
        {
          name,
          version: '1.0.0',
          digest: Buffer.alloc(32),
          lanes: [],
          roles: [],
          pid: 7,
          host: 'eu',
          configFile: `${name}.yaml`,
          instance,
          clockOffMs: 0,
        },
        true,
      )
    const roles = (config = 'command.yaml') => new PostgresRoles(address, config)
    const taken = async (config?: string): Promise<Role> => {
      const role = await roles(config).takeDelivery(anHour)
      onTestFinished(() => role.release())
      return role
    }
    return { store, run, announce, roles, taken }
  }

  it('is one command, which a second one and a daemon see', async () => {
    const { roles, taken } = await opened()
    expect(await roles().deliverer()).toBeUndefined()
    const role = await taken('first.yaml')
    const since = new Date(anHour).toISOString()
    const first = { by: 'command', pid: process.pid, host: hostname(), since, config: 'first.yaml' }
    const { by: _, ...holder } = first
    expect(await roles().deliverer()).toEqual(holder)
    await expect(taken('second.yaml')).rejects.toMatchObject({ ...refused, facts: first })
    expect(role.isInPlace).toBe(true)
    expect(role.renew()).toBe('held')
  })

  it('is the next command once the first has released the role, or has not renewed it', async () => {
    const { roles, taken, run } = await opened()
    const first = await taken('first.yaml')
    first.release()
    await expect.poll(() => roles().deliverer()).toBeUndefined()
    await taken('second.yaml')
    await run("UPDATE tidegauge.role SET until = now() - interval '1 second'")
    await taken('third.yaml')
    expect(await roles().deliverer()).toMatchObject({ config: 'third.yaml' })
  })

  it('is the next command as soon as the lease of one that was killed has ended', async () => {
    const { roles, taken, run } = await opened()
    await run(`INSERT INTO tidegauge.role (name, holder, pid, host, since, config, until)
      VALUES ('delivery', 'killed', 1, 'eu', '', 'killed.yaml', now() + interval '700 milliseconds')`)
    await taken('again.yaml')
    expect(await roles().deliverer()).toMatchObject({ config: 'again.yaml' })
  })

  it('is a daemon whose sign is late until it counts as away, unless it gives another', async () => {
    const { announce, run, roles, taken } = await opened()
    const late = (ms: number) => run(`UPDATE tidegauge.daemon SET seen = now() - interval '${ms} milliseconds'`)
    await announce('eu-1')
    await late(daemonAwayMs - 700)
    await (await roles().takeDelivery(anHour)).release()
    await expect.poll(() => roles().deliverer()).toBeUndefined()
    await late(daemonAwayMs - 5_000)
    const refusal = expect(taken()).rejects.toMatchObject({ ...refused, facts: { by: 'daemon', pid: 7 } })
    await announce('eu-1')
    await refusal
  })

  it('is a daemon from when it shows itself until it leaves: no command delivers meanwhile', async () => {
    const { store, announce, roles, taken } = await opened()
    expect(await roles().daemon()).toBeUndefined()
    await announce('eu-1')
    await announce('eu-2')
    expect(await roles().daemon()).toMatchObject({ pid: 7, host: 'eu', config: 'eu-1.yaml' })
    await expect(taken()).rejects.toMatchObject({ ...refused, facts: { pid: 7, config: 'eu-1.yaml' } })
    expect(await roles().deliverer(), 'a refused command holds nothing').toBeUndefined()
    await store.leave({ name: 'eu-1', instance })
    await expect(taken()).rejects.toMatchObject({ facts: { config: 'eu-2.yaml' } })
    await store.leave({ name: 'eu-2', instance })
    await taken()
  })

  it('is no daemon that has not been seen for long', async () => {
    const { announce, run, roles, taken } = await opened()
    await announce('eu-1')
    await run(`UPDATE tidegauge.daemon SET seen = now() - interval '${daemonAwayMs + 1} milliseconds'`)
    expect(await roles().daemon()).toBeUndefined()
    await taken()
  })
})
