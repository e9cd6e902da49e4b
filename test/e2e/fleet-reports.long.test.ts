import { describe, expect, it } from 'vitest'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { receiver } from '../support/receiver.ts'
import { configured, startDaemon } from '../support/tidegauge.ts'

const yaml = (name: string) => `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
heartbeat: { url: { env: HEARTBEAT_URL } }
status: { listen: "127.0.0.1:0" }
protocols: [{ id: vault, name: Vault, collectors: [{ use: host }] }]
`

describe.skipIf(postgresPlace.kind === 'missing')('reports of a fleet', () => {
  const databases = useTestDatabases()

  it('are sent by one daemon, and by the next one when that has stopped', async () => {
    const { url, posts, until } = await receiver()
    const address = await databases.empty()
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address, HEARTBEAT_URL: `${url}/check` }
    const daemons = await Promise.all(['eu-1', 'eu-2'].map(name => startDaemon(configured(yaml(name)).config, env)))
    const reporter = await Promise.race(daemons.map(each => each.logged('this daemon reports now').then(() => each)))
    await until(1)
    const [next] = daemons.filter(each => each !== reporter)
    expect(await reporter.kill('SIGTERM')).toBe(0)
    await next?.logged('this daemon reports now')
    expect(await next?.kill('SIGTERM')).toBe(0)
    const started = posts.filter(({ path }) => path === '/check/start').map(({ body }) => body)
    expect(started).toEqual([...new Set(started)])
  })
})
