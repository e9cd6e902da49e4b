import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { PlacedSecret, ReceiverConfig } from '../../../src/config/config.ts'
import { postMessage } from '../../../src/edge/post-message.ts'
import type { Notice } from '../../../src/reports/notify/incidents.ts'
import { receiverOf } from '../../../src/reports/notify/receivers.ts'
import { anHour } from '../../support/metrics.ts'
import { type ReceiverAnswer, receiver } from '../../support/receiver.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

const words = { what: '7 metrics not delivered', why: 'it answers <503> & waits', do: 'tidegauge doctor' }
const begin: Notice = {
  trouble: 'not-delivered',
  state: 'begin',
  hour: '2026-11-20T13:00:00Z',
  ...words,
  items: [words],
}
const over: Notice = { ...begin, state: 'over', why: 'over after 5 min', do: 'nothing' }

const token = '123456:AAE-token_of_the_bot'
const kept = (name: string, secret: string): PlacedSecret => {
  vi.stubEnv(name, secret)
  onTestFinished(() => void vi.unstubAllEnvs())
  return { kind: 'env', name, place: { file: 'x', line: 1, column: 1 } }
}

/** Sends a notice to a double that gives one answer. */
async function sent(configOf: (url: string) => ReceiverConfig, notice: Notice, answer?: ReceiverAnswer) {
  const { url, posts } = await receiver(() => answer)
  const secrets: string[] = []
  const own = receiverOf(configOf(url), found => void secrets.push(...found))
  const answered = await postMessage(own.post(notice), { time: new VirtualTime(anHour), timeoutMs: 10_000 })
  const [post] = posts
  return {
    name: own.name,
    secrets,
    post,
    body: JSON.parse(post?.body ?? 'null') as unknown,
    verdict: own.judge(answered, anHour),
  }
}

const webhook = (url: string): ReceiverConfig => ({
  kind: 'webhook',
  url: kept('ALERT_URL', `${url}/hook/secret-path?k=1`),
})
const slack = (url: string): ReceiverConfig => ({
  kind: 'slack',
  url: kept('SLACK_URL', `${url}/services/T0/B0/secret-path`),
})
const telegram = (url: string): ReceiverConfig => ({
  kind: 'telegram',
  token: kept('TG_TOKEN', token),
  chat: { kind: 'text', text: '-1001234567890' },
  url,
})

describe('a webhook', () => {
  it('gets the notice as JSON', async () => {
    const { post, body, verdict, name, secrets } = await sent(webhook, begin)
    expect(post).toMatchObject({ path: '/hook/secret-path?k=1', headers: { 'content-type': 'application/json' } })
    expect(body).toEqual(begin)
    expect(Object.keys(body as object)).toEqual(['trouble', 'state', 'hour', 'what', 'why', 'do', 'items'])
    expect(verdict).toEqual({ kind: 'accepted' })
    expect(name).toBe('webhook ALERT_URL')
    expect(secrets).toContain('/hook/secret-path')
  })

  it('gets each trouble of a notice as an item, with the words of the first next to them', async () => {
    const second = { what: '2 values are held', why: 'they jump', do: 'tidegauge held ls' }
    const { body } = await sent(webhook, { ...begin, what: 'both', why: 'both', do: 'both', items: [words, second] })
    expect(body).toEqual({ ...begin, ...words, items: [words, second] })
  })

  it.each<[ReceiverAnswer, object]>([
    [{ status: 204, body: '' }, { kind: 'accepted' }],
    [
      { status: 422, body: '{"error":"no\\n such field"}' },
      { kind: 'refused', reason: 'it answered 422: {"error":"no\\n such field"}' },
    ],
    [
      { status: 404, body: '<html>not found</html>' },
      { kind: 'later', reason: 'it answered 404' },
    ],
    [
      { status: 302, headers: { location: 'https://elsewhere.example.com' } },
      { kind: 'later', reason: 'it answered 302: OK' },
    ],
    [
      { status: 503, body: '', headers: { 'retry-after': '7' } },
      { kind: 'later', reason: 'it answered 503', notBeforeMs: anHour + 7_000 },
    ],
  ])('that answers %j', async (answer, verdict) => {
    expect((await sent(webhook, begin, answer)).verdict).toEqual(verdict)
  })
})

describe('Slack', () => {
  it('gets one text, without marks of its own in it', async () => {
    const { post, body, verdict } = await sent(slack, begin, { status: 200, body: 'ok' })
    expect(post?.path).toBe('/services/T0/B0/secret-path')
    expect(body).toEqual({
      text: '🔴 Tidegauge: not delivered (2026-11-20T13:00:00Z)\n7 metrics not delivered\nWhy: it answers &lt;503&gt; &amp; waits\nDo: tidegauge doctor',
    })
    expect(verdict).toEqual({ kind: 'accepted' })
    expect((await sent(slack, over)).body).toEqual({
      text: '🟢 Tidegauge: not delivered, over (2026-11-20T13:00:00Z)\nover after 5 min\n7 metrics not delivered',
    })
  })

  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  it.each<[number, string, string]>([
    [400, 'invalid_payload', 'refused'],
    [403, 'action_prohibited', 'later'],
    [404, 'no_service', 'later'],
    [404, 'channel_not_found', 'later'],
    [410, 'channel_is_archived', 'later'],
    [500, 'rollup_error', 'later'],
  ])('that answers %i %s', async (status, body, kind) => {
    expect((await sent(slack, begin, { status, body })).verdict).toEqual({
      kind,
      reason: `it answered ${status}: ${body}`,
    })
  })

  it('that is written to too often says how long to wait', async () => {
    const { verdict } = await sent(slack, begin, {
      status: 429,
      body: 'rate_limited',
      headers: { 'retry-after': '30' },
    })
    expect(verdict).toEqual({ kind: 'later', reason: 'it answered 429: rate_limited', notBeforeMs: anHour + 30_000 })
  })
})

describe('Telegram', () => {
  it('gets a message of the bot to the chat', async () => {
    const { post, body, verdict, name, secrets } = await sent(telegram, begin, {
      status: 200,
      body: '{"ok":true,"result":{"message_id":1}}',
    })
    expect(post?.path).toBe(`/bot${token}/sendMessage`)
    expect(body).toEqual({
      chat_id: '-1001234567890',
      text: expect.stringContaining('Why: it answers <503> & waits'),
      link_preview_options: { is_disabled: true },
    })
    expect(verdict).toEqual({ kind: 'accepted' })
    expect(name).toBe('telegram TG_TOKEN -1001234567890')
    expect(secrets).toContain(token)
  })

  it('is given a chat that is kept elsewhere', async () => {
    const chat = kept('TG_CHAT', '@tides')
    const { body, name } = await sent(url => ({ kind: 'telegram', token: kept('TG_TOKEN', token), chat, url }), begin)
    expect(body).toMatchObject({ chat_id: '@tides' })
    expect(name).toBe('telegram TG_TOKEN TG_CHAT')
  })

  // https://core.telegram.org/bots/api#making-requests
  it.each<[number, object, object]>([
    [
      400,
      { description: 'Bad Request: message text is empty' },
      { kind: 'refused', reason: 'it answered 400: Bad Request: message text is empty' },
    ],
    [
      400,
      {
        description: 'Bad Request: group chat was upgraded to a supergroup chat',
        parameters: { migrate_to_chat_id: -1009876543210 },
      },
      { kind: 'later', reason: expect.stringMatching(/supergroup chat; the chat is now -1009876543210$/) },
    ],
    [401, { description: 'Unauthorized' }, { kind: 'later', reason: 'it answered 401: Unauthorized' }],
    [
      403,
      { description: 'Forbidden: bot was kicked from the group chat' },
      { kind: 'later', reason: expect.stringContaining('kicked') },
    ],
    [
      429,
      { description: 'Too Many Requests: retry after 12', parameters: { retry_after: 12 } },
      { kind: 'later', reason: expect.stringContaining('retry after 12'), notBeforeMs: anHour + 12_000 },
    ],
  ])('that answers %i %j', async (status, body, verdict) => {
    const answer = { status, body: JSON.stringify({ ok: false, error_code: status, ...body }) }
    expect((await sent(telegram, begin, answer)).verdict).toEqual(verdict)
  })

  it('is sent to the chat that a group became', async () => {
    const { url, posts } = await receiver(() => {
      const parameters = { migrate_to_chat_id: -100777 }
      return posts.length > 1 ? undefined : { status: 400, body: JSON.stringify({ ok: false, parameters }) }
    })
    const own = receiverOf(telegram(url), () => {})
    for (const kind of ['later', 'accepted']) {
      const answer = await postMessage(own.post(begin), { time: new VirtualTime(anHour), timeoutMs: 10_000 })
      expect(own.judge(answer, anHour).kind).toBe(kind)
    }
    expect(posts.map(({ body }) => JSON.parse(body).chat_id)).toEqual(['-1001234567890', -100777])
  })

  it('has room for the longest notice', async () => {
    const words = 'x'.repeat(1_001)
    const { body } = await sent(telegram, { ...begin, what: words, why: words, do: words })
    expect((body as { text: string }).text.length).toBeLessThanOrEqual(4_096)
  })
})
