import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { listening } from '../support/listening.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { receiver } from '../support/receiver.ts'
import { configured, levelCollector, startDaemon, tidegauge, untilNextLook } from '../support/tidegauge.ts'

const level = levelCollector.replace('history: false', 'history: true')

const yaml = (service: string, name: string) => `service: { url: "${service}", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
notify: [{ webhook: { env: ALERT_URL } }]
status: { listen: "127.0.0.1:0" }
protocols: [{ id: pool, name: Pool, collectors: [{ use: ./level.ts }] }]
`

/** A service that refuses the key at first. */
async function refusingService() {
  const state = { isRefusing: true }
  const url = await listening(async (request, response) => {
    const body = await text(request)
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (state.isRefusing) return void answer(401, { error: 'unknown key' })
    if (request.method !== 'POST') return void answer(200, { valid: true })
    const { metrics } = JSON.parse(body) as { metrics: readonly unknown[] }
    answer(200, { success: true, processed: metrics.length, errors: [], warnings: [] })
  })
  return { url, state }
}

describe.skipIf(postgresPlace.kind === 'missing')('a trouble in a fleet', () => {
  const databases = useTestDatabases()

  /** Whether the message that the receiver has taken is noted as sent. */
  async function isNoted(address: string): Promise<boolean> {
    const name = new URL(address).pathname.slice(1)
    const select = `SELECT state::json -> 'queue' AS queue FROM tidegauge.report WHERE reporter = 'notify'`
    const [row] = await databases.server.query(select, [], name)
    return JSON.stringify(row?.['queue']) === '[]'
  }

  it('is one message when it begins and one when it is over, although the daemon that reports is killed', async () => {
    const [service, { url, posts, until }] = [await refusingService(), await receiver()]
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: await databases.empty(), ALERT_URL: url }
    const configs = ['eu-1', 'eu-2'].map(name => configured(yaml(service.url, name), { 'level.ts': level }).config)
    const daemons = await Promise.all(configs.map(config => startDaemon(config, env)))
    const reporter = await Promise.race(daemons.map(each => each.logged('this daemon reports now').then(() => each)))
    const messages = () =>
      posts
        .map(({ body }) => JSON.parse(body) as Record<string, string>)
        .filter(({ trouble }) => trouble === 'key-refused')
        .map(({ state }) => state)
    while (messages().length === 0) await until(posts.length + 1)
    // Killed before that, its successor repeats the message: it cannot know whether it was taken.
    while (!(await isNoted(env.DATABASE_URL))) await untilNextLook()
    await reporter.kill('SIGKILL')
    const [next] = daemons.filter(each => each !== reporter)
    await next?.logged('this daemon reports now')
    service.state.isRefusing = false
    const { code } = await tidegauge(['flush', '--config', configs[0] ?? ''], env)
    expect(code).toBe(0)
    while (!messages().includes('over')) await until(posts.length + 1)
    expect(await next?.kill('SIGTERM')).toBe(0)
    expect(messages()).toEqual(['begin', 'over'])
  })
})
