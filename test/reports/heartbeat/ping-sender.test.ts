import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { adviseFile } from '../../../src/model/advice.ts'
import { type Ping, PingSender } from '../../../src/reports/heartbeat/heartbeat.ts'
import { createLog } from '../../../src/telemetry/log.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { type ReceiverAnswer, receiver } from '../../support/receiver.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

const check = '/ping/0f4d-secret-uuid-of-the-check'
const start: Ping = { kind: 'start', hour: anHour, sentences: [] }
const success: Ping = { kind: 'success', hour: anHour, sentences: [] }
const fail: Ping = { kind: 'fail', hour: anHour, sentences: [`the node at https://n.example.com${check} is down`] }

/** A sender whose receiver gives some answers one after the other, then OK. */
async function stage(answers: readonly (ReceiverAnswer | 'hang')[] = [], attemptsMax?: number) {
  const seenMs: number[] = []
  const time = new VirtualTime(anHour)
  const { url, posts, until } = await receiver((_, index) => {
    seenMs.push(time.nowMs() - anHour)
    return answers[index]
  })
  const file = join(temporaryFolder(), 'url')
  writeFileSync(file, `${url}${check}\n`)
  const redactor = new Redactor()
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', redactor)
  for (const level of ['info', 'warn'] as const) {
    vi.spyOn(log, level).mockImplementation(
      (facts: unknown, msg?: string) => void lines.push({ ...(facts as object), msg }),
    )
  }
  const deps = { time, log, redactor, ...(attemptsMax && { attemptsMax }) }
  const sender = new PingSender({ url: { kind: 'file', path: file }, ...deps })
  onTestFinished(() => sender.stop())
  return { sender, posts, until, lines, file, url, seenMs, logged: () => JSON.stringify(lines) }
}

describe('pings', () => {
  it('are posts with the hour in their body, the start before the result', async () => {
    const { sender, posts } = await stage()
    void sender.send(start)
    expect(await sender.send(success)).toBe(true)
    expect(posts.map(({ path, body }) => [path, body])).toEqual([
      [`${check}/start`, '2026-11-20T13:00:00Z'],
      [check, '2026-11-20T13:00:00Z'],
    ])
    expect(posts[0]?.headers['content-type']).toBe('text/plain; charset=utf-8')
  })

  it('name the configuration in advice', async () => {
    adviseFile('own.yaml')
    onTestFinished(() => adviseFile(undefined))
    const { sender, posts } = await stage()
    await sender.send({ ...fail, sentences: ['Why? tidegauge doctor'] })
    expect(posts[0]?.body).toMatch(/tidegauge doctor --config own\.yaml$/)
  })

  it('say why an hour failed, without a secret', async () => {
    const { sender, posts } = await stage()
    await sender.send(fail)
    expect(posts[0]).toMatchObject({
      path: `${check}/fail`,
      body: expect.stringMatching(/^2026-.*\nthe node at .*\[redacted\] is down$/),
    })
  })

  it('are sent again until they are accepted, and it is logged once when that begins and once when it is over', async () => {
    const { sender, posts, lines, logged } = await stage([
      { status: 503 },
      { status: 500, body: check },
      { status: 200 },
    ])
    expect(await sender.send(fail)).toBe(true)
    expect(posts.map(({ path }) => path)).toEqual(Array(3).fill(`${check}/fail`))
    expect(lines.map(({ msg, reason }) => [msg, reason])).toEqual([
      ['a report is not accepted', 'it answered 503'],
      ['reports are accepted again', undefined],
    ])
    expect(logged()).not.toContain('secret')
  })

  it.each<[string, ReceiverAnswer, number]>([
    ['Retry-After', { status: 429, headers: { 'retry-after': '40' } }, 40_000],
    ['the words of Healthchecks.io', { status: 200, body: 'OK (rate limited)' }, 60_000],
  ])('wait as long as %s says', async (_, answer, restMs) => {
    const { sender, seenMs } = await stage([answer])
    await sender.send(success)
    expect(seenMs).toEqual([0, restMs])
  })

  it.each<[string, ReceiverAnswer]>([
    ['a check that is not there', { status: 404, body: 'not found' }],
    ['a check that is not there, by the words of Healthchecks.io', { status: 200, body: 'OK (not found)' }],
    ['a redirect, which is not followed', { status: 302, headers: { location: '/elsewhere' } }],
  ])('are not repeated for %s', async (_, answer) => {
    const { sender, posts, lines } = await stage([answer])
    expect(await sender.send(success)).toBe(true)
    expect(posts).toHaveLength(1)
    expect(lines).toHaveLength(1)
  })

  it('of a start are given up for the result', async () => {
    const { sender, posts, until } = await stage([{ status: 429, headers: { 'retry-after': '80000' } }])
    const started = sender.send(start)
    await until(1)
    expect(await sender.send(success)).toBe(true)
    expect(await started).toBe(false)
    expect(posts.map(({ path }) => path)).toEqual([`${check}/start`, check])
  })

  it('end with a stop, also one that has no answer', async () => {
    const { sender, until } = await stage(['hang'])
    const sent = sender.send(success)
    await until(1)
    await sender.stop()
    expect(await sent).toBe(false)
  })

  it('end after some attempts where a command waits for them', async () => {
    const { sender, posts } = await stage(Array(9).fill({ status: 500 }), 3)
    expect(await sender.send(success)).toBe(false)
    expect(posts).toHaveLength(3)
  })

  it('go to the address that is kept now', async () => {
    const { sender, posts, file, url } = await stage()
    await sender.send(start)
    writeFileSync(file, `${url}/ping/another-check`)
    await sender.send(success)
    expect(posts.map(({ path }) => path)).toEqual([`${check}/start`, '/ping/another-check'])
  })

  it.each([
    ['is missing', ''],
    ['is not encrypted', 'http://hc.example.com/secret-uuid'],
    ['is no address', 'hc.example.com/secret-uuid'],
  ])('wait for an address that %s', async (_, written) => {
    const { sender, posts, file, lines, logged } = await stage([], 2)
    writeFileSync(file, written)
    expect(await sender.send(start)).toBe(false)
    expect(posts).toEqual([])
    expect(lines).toHaveLength(1)
    expect(logged()).not.toContain('secret-uuid')
  })
})
