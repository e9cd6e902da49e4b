import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { serviceIdentity } from '../../../src/outbox/contract/fleet-store.ts'
import { PostgresFleetStore } from '../../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { tooOld } from '../../outbox/contract/steps.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { configured, tidegauge } from '../../support/tidegauge.ts'

const yaml = `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
protocols: [{ id: vault, name: Vault, collectors: [{ use: host }] }]
`

describe.skipIf(postgresPlace.kind === 'missing')('status of a fleet (needs the program initdb)', () => {
  const databases = useTestDatabases()

  it('names the daemons, the lanes that none works, and how they differ, from any machine', async () => {
    const url = await databases.empty()
    const outbox = await openPostgresOutbox(addressOf(url))
    onTestFinished(() => outbox.close())
    const store = new PostgresFleetStore(outbox.database)
    const { config } = configured(yaml)
    const status = async (...words: string[]) =>
      tidegauge(['status', ...words, '--config', config], { DATABASE_URL: url })

    const current = hourAt(Date.now())
    const oldest = hourAfter(current, -2)
    await outbox.intake.planHours({ collector: 'vault/host', since: oldest, current, oldest, gapReason: tooOld })
    await store.assignLanes([{ collector: 'vault/host', lane: 'machine/eu-3', isFirst: true }])
    const service = { name: serviceIdentity, digest: Buffer.alloc(32) }
    await store.agree([service], 'eu-1')
    const daemon = async (name: string, digit: number) => {
      const instance = randomUUID()
      const machine = { pid: digit, host: name, configFile: 'tidegauge.yaml', clockOffMs: 0 }
      const own = { version: `1.0.${digit}`, digest: Buffer.alloc(32, digit), lanes: ['web', `machine/${name}`] }
      const { leases } = outbox.sharedOutbox
      const { term = 0 } = await leases.renew(
        { daemon: name, instance, term: 0 },
        { name, instance, ...own, ...machine },
      )
      await leases.claim({ daemon: name, instance, term }, [`deliver/to-${name}`], service)
      // No process renews it, and commands are slow on a busy machine.
      const lasting = `UPDATE tidegauge.lease SET until = now() + interval '1 hour' WHERE name = 'daemon/${name}'`
      await outbox.database.write(async transaction => transaction.later(lasting))
    }
    await daemon('eu-1', 1)
    await daemon('eu-2', 2)
    await daemon('eu-3', 1)
    await outbox.database.write(async transaction => {
      transaction.later('DELETE FROM tidegauge.identity')
      transaction.later(`UPDATE tidegauge.lease SET until = now() - interval '1 minute' WHERE name = 'daemon/eu-3'`)
    })

    const text = await status()
    const idle = `No living daemon works the lane machine/eu-3, and 3 hours are due there, the oldest ${hourText(oldest)}. Start the daemon eu-3 again`
    expect(text).toMatchObject({ code: 1, stderr: '' })
    expect(text.stdout).toMatch(/^daemon +eu-2, pid 2, on eu-2, since /m)
    expect(text.stdout).toContain(`NOT READY\n  ${idle}`)
    expect(text.stdout).toMatch(/^eu-1 +1\.0\.1 +(?:0101){4} +\S+Z +web machine\/eu-1 +delivers to-eu-1$/m)
    expect(text.stdout).toMatch(/^eu-3 .* \(away\) +web machine\/eu-3$/m)
    expect(text.stdout).toContain('different versions: 1.0.1 on eu-1, 1.0.2 on eu-2. Update them')
    expect(text.stdout).toContain('different collectors or options: 01010101 on eu-1, 02020202 on eu-2.')

    const { fleet, ready } = JSON.parse((await status('--json')).stdout)
    expect(fleet.daemons.map(({ name, isAway }: { name: string; isAway?: true }) => [name, isAway])).toEqual([
      ['eu-1', undefined],
      ['eu-2', undefined],
      ['eu-3', true],
    ])
    expect(fleet.idleLanes).toMatchObject([{ lane: 'machine/eu-3', hours: 3, oldest: hourText(oldest) }])
    // Keys are compared by protocol, and these daemons announce none.
    expect(fleet.differences).toHaveLength(4)
    expect(ready.reasons[0]).toBe(fleet.idleLanes[0].reason)

    await daemon('eu-3', 1)
    const { fleet: again } = JSON.parse((await status('--json')).stdout)
    expect(again.idleLanes).toEqual([])
  })
})
