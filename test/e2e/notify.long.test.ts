import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { fastClock } from '../support/fast-clock.ts'
import { listening } from '../support/listening.ts'
import { receiver } from '../support/receiver.ts'
import { sampleOf } from '../support/soak.ts'
import { configured, startDaemon } from '../support/tidegauge.ts'

const past = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Hours: { unit: 'h' } },
  history: true,
  collect: ({ hour }) => ({ Hours: hour / 3600000 }),
})
`

/** A service that is there or not, with a key that it takes or not. */
async function startService() {
  const state = { status: 200 }
  const url = await listening(async (request, response) => {
    const body = await text(request)
    // Time passes faster for its client: the two clocks cannot be compared.
    response.sendDate = false
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (state.status !== 200) return void answer(state.status, { error: 'secret-words-of-the-service' })
    if (request.method !== 'POST') return void answer(200, { valid: true })
    const { metrics } = JSON.parse(body) as { metrics: readonly unknown[] }
    answer(200, { success: true, processed: metrics.length, errors: [], warnings: [] })
  })
  return { url, state }
}

function configuration(service: string, telegramServer: string) {
  const since = hourText(hourAfter(hourAt(Date.now()), -3))
  return configured(
    `service: { url: "${service}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
collect: { deadline: 30m }
notify:
  - { webhook: { env: ALERT_URL } }
  - { slack: { env: SLACK_URL } }
  - { telegram: { token: { env: TG_TOKEN }, chat: -1001234567890, url: "${telegramServer}" } }
protocols: [{ id: pool, name: Pool, collectors: [{ use: ./past.js, since: ${since} }] }]
`,
    { 'past.js': past },
  )
}

const cases = [
  [503, 'not-delivered'],
  [401, 'key-refused'],
] as const

it.each(sampleOf(cases, 1))(
  'a service that answers %i, and later is well again, is one message when it begins and one when it is over',
  async (status, trouble) => {
    const service = await startService()
    service.state.status = status
    const receivers = { webhook: await receiver(), slack: await receiver(), telegram: await receiver() }
    const { config } = configuration(service.url, receivers.telegram.url)
    const secrets = { METRICS_KEY: 'key-nobody-may-see', TG_TOKEN: '123456:token-nobody-may-see' }
    const env = {
      ...secrets,
      ALERT_URL: `${receivers.webhook.url}/path-nobody-may-see`,
      SLACK_URL: `${receivers.slack.url}/services/slack-nobody-may-see`,
    }
    const first = await startDaemon(config, { ...env, ...fastClock(10) })
    const begun = () => receivers.webhook.posts.filter(({ body }) => body.includes(`"${trouble}"`))
    while (begun().length === 0) await receivers.webhook.until(receivers.webhook.posts.length + 1)
    // A restart in the middle says nothing.
    expect(await first.kill('SIGTERM')).toBe(0)
    const daemon = await startDaemon(config, { ...env, ...fastClock(10) })
    service.state.status = 200
    const isOver = () => receivers.webhook.posts.filter(({ body }) => body.includes('"over"')).length
    const expected = receivers.webhook.posts.filter(({ body }) => body.includes('"begin"')).length
    while (isOver() < expected) await receivers.webhook.until(receivers.webhook.posts.length + 1)
    await receivers.slack.until(receivers.webhook.posts.length)
    await receivers.telegram.until(receivers.webhook.posts.length)
    expect(await daemon.kill('SIGTERM')).toBe(0)

    const sent = begun().map(({ body }) => JSON.parse(body) as Record<string, string>)
    expect(sent.map(({ state }) => state)).toEqual(['begin', 'over'])
    expect(sent[0]).toMatchObject({ trouble, hour: sent[1]?.['hour'] })
    expect(new Set(receivers.slack.posts.map(({ path }) => path))).toEqual(new Set(['/services/slack-nobody-may-see']))
    expect(new Set(receivers.telegram.posts.map(({ path }) => path))).toEqual(
      new Set([`/bot${secrets.TG_TOKEN}/sendMessage`]),
    )
    expect([...first.log, ...daemon.log].join('\n')).not.toContain('nobody-may-see')
  },
  120_000,
)
