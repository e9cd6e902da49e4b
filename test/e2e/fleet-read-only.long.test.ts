import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAt } from '../../src/model/hour.ts'
import { freePort } from '../support/free-port.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, startDaemon, tidegauge } from '../support/tidegauge.ts'
import { untilTrue } from '../support/until-true.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a daemon whose database can only be read for a while', () => {
  const databases = useTestDatabases()

  it('says so and nothing of a disk, as its commands do, and goes on automatically', async () => {
    const world = await fleetScene()
    const parts = { listen: `127.0.0.1:${await freePort()}` }
    const { daemons, configs, env, name } = await startFleet(
      databases,
      world,
      hourAt(systemTime.nowMs()),
      ['eu-1'],
      parts,
    )
    const [daemon, config = ''] = [daemons[0], configs[0]]
    if (!daemon) throw new Error('a daemon was started')
    await daemon.logged('this daemon delivers now')
    const superuser = (text: string) => databases.server.query(text)
    onTestFinished(async () => void (await superuser(`ALTER DATABASE ${name} RESET default_transaction_read_only`)))
    await superuser(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await superuser(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
    await daemon.logged('the outbox can only be read: collecting waits')
    type Ready = { readonly ready: boolean; readonly reasons: readonly string[]; readonly causes: readonly string[] }
    const ready = async (): Promise<Ready> => (await fetch(`${daemon.url}/readyz`)).json() as Promise<Ready>
    await untilTrue(async () => (await ready()).causes?.includes('fleet-stuck'))
    const { reasons, causes } = await ready()
    expect(causes).toEqual(['read-only', 'fleet-stuck'])
    for (const reason of reasons) expect(reason).toMatch(/can only be read now/)
    expect(await (await fetch(`${daemon.url}/metrics`)).text()).toMatch(/^tidegauge_disk_full 0$/m)
    const [status, doctor] = [
      await tidegauge(['status', '--config', config], env),
      await tidegauge(['doctor', '--config', config], env),
    ]
    expect([status.code, doctor.code]).toEqual([1, 1])
    expect(status.stdout).toMatch(/The database \S+ can only be read now/)
    expect(doctor.stdout).toMatch(/✖ database: .*can only be read now.*\n? *→ give the address of the writer/)
    for (const { stdout, stderr } of [status, doctor]) expect(stdout + stderr).not.toMatch(/none runs|disk is full/)
    // Its sessions are those of a database that could only be read.
    await superuser(`ALTER DATABASE ${name} SET default_transaction_read_only = off`)
    await untilTrue(async () => (await ready()).ready)
    await daemon.logged('new values can be stored again: collecting goes on')
    expect(daemon.log.filter(line => line.includes('disk'))).toEqual([])
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
  it('is waited for at the start, too, with the cause that it has then', async () => {
    const address = await databases.empty()
    const listen = `127.0.0.1:${await freePort()}`
    const { config } = configured(`service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
status: { listen: "${listen}" }
protocols: [{ id: tides, name: Tides, collectors: [{ use: host }] }]
`)
    const readOnly = `ALTER DATABASE ${new URL(address).pathname.slice(1)}`
    await databases.server.query(`${readOnly} SET default_transaction_read_only = on`)
    const starting = startDaemon(config, { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address })
    const causes = async () => {
      const answer = await fetch(`http://${listen}/readyz`).catch(() => undefined)
      return ((await answer?.json()) as { causes?: readonly string[] } | undefined)?.causes
    }
    expect(await untilTrue(causes)).toEqual(['read-only'])
    await databases.server.query(`${readOnly} RESET default_transaction_read_only`)
    expect(await (await starting).kill('SIGTERM')).toBe(0)
  })
})
