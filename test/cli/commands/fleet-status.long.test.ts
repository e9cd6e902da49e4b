import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { serviceIdentity } from '../../../src/outbox/contract/fleet-store.ts'
import { PostgresFleetStore } from '../../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox, type PostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { tooOld } from '../../outbox/contract/steps.ts'
import { listening } from '../../support/listening.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { configured, tidegauge } from '../../support/tidegauge.ts'

const yaml = `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
protocols: [{ id: vault, name: Vault, collectors: [{ use: host }] }]
`

const service = { name: serviceIdentity, digest: Buffer.alloc(32) }

/** Adds a daemon that lives, delivers, and has no process. */
async function addDaemon(outbox: PostgresOutbox, name: string, digit: number): Promise<void> {
  const instance = randomUUID()
  const machine = { pid: digit, host: name, configFile: 'tidegauge.yaml', clockOffMs: 0 }
  const settings = { version: `1.0.${digit}`, digest: Buffer.alloc(32, digit), lanes: ['web', `machine/${name}`] }
  const { leases } = outbox.sharedOutbox
  const holder = { daemon: name, instance, term: 0 }
  const { term = 0 } = await leases.renew(holder, { name, instance, ...settings, ...machine })
  await leases.claim({ daemon: name, instance, term }, [`deliver/to-${name}`], service)
  // No process renews it, and commands are slow on a busy machine.
  const lasting = `UPDATE tidegauge.lease SET until = now() + interval '1 hour' WHERE name = 'daemon/${name}'`
  await outbox.database.write(async transaction => transaction.later(lasting))
}

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
    await store.agree([service], 'eu-1')
    const daemon = (name: string, digit: number) => addDaemon(outbox, name, digit)
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

  it('says, as doctor does, whether its own daemon runs, where another one of the fleet does', async () => {
    const url = await databases.empty()
    const outbox = await openPostgresOutbox(addressOf(url))
    onTestFinished(() => outbox.close())
    await addDaemon(outbox, 'eu-2', 2)
    let answer: string | undefined = 'another program'
    const address = await listening((_, response) => {
      if (answer !== undefined) response.end(answer)
    })
    const listen = `status: { listen: "${new URL(address).host}" }\n`
    const { config } = configured(`${yaml}${listen}fleet: { name: eu-1 }\n`)
    const { config: unnamed } = configured(`${yaml}${listen}`)
    const run = async (...words: string[]) => (await tidegauge(words, { DATABASE_URL: url })).stdout
    const linesOf = async (file = config) => {
      const [status, doctor] = await Promise.all([run('status', '--config', file), run('doctor', '--config', file)])
      return [status, doctor].map(text => text.split('\n').find(line => /^(?:\S )?daemon\b/.test(line)))
    }

    const other = 'of its fleet, eu-2, pid 2, on eu-2, since'
    expect(await linesOf()).toEqual([
      expect.stringMatching(`^daemon +eu-1 does not run; ${other}`),
      expect.stringMatching(`^✖ daemon: eu-1 does not run; ${other} .* is at work → tidegauge run --config `),
    ])
    expect(await linesOf(unnamed)).toEqual([
      expect.stringMatching('^daemon +eu-2, pid 2, on eu-2'),
      expect.stringMatching(
        `^! daemon: none runs here; ${other} .* → if this machine is to have one: tidegauge run --config `,
      ),
    ])

    const { configuration, ...status } = JSON.parse(await run('status', '--json', '--config', config))
    const startedAt = new Date().toISOString()
    answer = JSON.stringify({ ...status, startedAt, configuration: { ...configuration, inForceSince: startedAt } })
    expect(await linesOf()).toEqual([
      expect.stringMatching(/^daemon +answers at \S+, without a lease in the database$/),
      expect.stringMatching('^! daemon: is not ready: '),
    ])

    answer = JSON.stringify({ startsSince: new Date().toISOString() })
    expect(await linesOf()).toEqual([
      expect.stringMatching('^daemon +is starting, at '),
      expect.stringMatching('^✔ daemon: is starting, since '),
    ])

    answer = undefined
    expect(await linesOf()).toEqual([
      expect.stringMatching(/^daemon +at \S+, without a lease in the database$/),
      expect.stringMatching(
        /^! daemon: runs \(at \S+, without a lease in the database\), takes connections, and has not/,
      ),
    ])
  })
})
