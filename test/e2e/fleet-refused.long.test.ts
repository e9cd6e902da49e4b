import { describe, expect, it, onTestFinished } from 'vitest'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, startDaemon, tidegauge } from '../support/tidegauge.ts'

const yaml = `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: eu-1 }
status: { listen: "127.0.0.1:0" }
protocols: [{ id: this-machine, name: This machine, collectors: [{ use: host }] }]
`

const withDatabase = (address: string) => ({ METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address })

describe.skipIf(postgresPlace.kind === 'missing')('a daemon of a fleet that its database does not serve', () => {
  const databases = useTestDatabases()

  it('says in one line that a newer version has made the tables, and ends with 78', async () => {
    const env = withDatabase(await databases.empty())
    const { config } = configured(yaml)
    const daemon = await startDaemon(config, env)
    expect(await daemon.kill('SIGTERM')).toBe(0)
    const { pathname } = new URL(env.DATABASE_URL)
    await databases.server.query('UPDATE tidegauge.version SET version = 99', [], pathname.slice(1))
    const { code, stderr } = await tidegauge(['run', '--config', config], env)
    expect((await tidegauge(['gaps', '--config', config], env)).code).toBe(78)
    expect(stderr).toMatch(/its tables have version 99.*run the version of tidegauge that the other daemons run/s)
    expect(stderr).not.toMatch(/^ +at /m)
    expect(code).toBe(78)
  })

  it('says in one line which rights are missing, and works with schemas that were made for it', async () => {
    const address = new URL(await databases.empty())
    const database = address.pathname.slice(1)
    const user = `few_${database}`
    const superuser = (text: string) => databases.server.query(text, [], database)
    await superuser(`CREATE ROLE ${user} LOGIN PASSWORD 'few-rights'`)
    onTestFinished(async () => {
      await superuser(`DROP OWNED BY ${user} CASCADE`)
      await superuser(`DROP ROLE ${user}`)
    })
    address.username = user
    address.password = 'few-rights'
    const env = withDatabase(address.href)
    const { config } = configured(yaml)
    const { code, stderr } = await tidegauge(['gaps', '--config', config], env)
    expect(stderr).toMatch(/gives this user too few rights.*CREATE SCHEMA tidegauge_jobs AUTHORIZATION/s)
    expect(stderr).not.toMatch(/^ +at |few-rights/m)
    expect(code).toBe(1)
    await superuser(`CREATE SCHEMA tidegauge AUTHORIZATION ${user}`)
    const daemon = await startDaemon(config, env)
    await daemon.logged('fleet: retrying')
    expect(daemon.log.find(line => line.includes('fleet: retrying'))).toMatch(/too few rights.*tidegauge_jobs/)
    await superuser(`CREATE SCHEMA tidegauge_jobs AUTHORIZATION ${user}`)
    await daemon.logged('collected')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
