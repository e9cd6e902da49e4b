import { describe, expect, it } from 'vitest'
import { CallMeter } from '../../../src/chain/endpoint/call-meter.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { echoes, echoing, failureOf, faulty, never, open, openPool, results } from '../support/endpoints.ts'
import { json } from '../support/node.ts'

/** By the machine's clock, as the servers of these tests write it in `Date`. */
const startMs = Math.floor(Date.now() / 1000) * 1000
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** A clock that goes on to the next sleeper once nothing is on its way. */
function idleTime(isIdle: () => boolean) {
  let nowMs = startMs
  const sleepers: { readonly atMs: number; wake(): void }[] = []
  const turn = (idleTurns: number) => {
    if (sleepers.length === 0) return
    if (idleTurns < 20) return void setImmediate(() => turn(isIdle() ? idleTurns + 1 : 0))
    const [next] = sleepers.sort((a, b) => a.atMs - b.atMs).splice(0, 1)
    nowMs = Math.max(nowMs, next?.atMs ?? 0)
    next?.wake()
    setImmediate(() => turn(0))
  }
  const sleep = (ms: number) =>
    new Promise<void>(wake => {
      sleepers.push({ atMs: nowMs + ms, wake })
      if (sleepers.length === 1) setImmediate(() => turn(0))
    })
  return { ...systemTime, chance: () => 0.5, nowMs: () => nowMs, sleep, timeout: () => never }
}

it('Cloudflare’s words for a rate are one, also with 200', async () => {
  const time = new VirtualTime(startMs)
  const proxy = await faulty()
  const endpoint = open(proxy.url, { time })
  await endpoint.call(echoes(3), never)
  proxy.misbehaveOnce({ kind: 'status', status: 200, text: 'error code: 1015' })
  expect(results(await endpoint.call(echoes(3), never))).toEqual([0, 1, 2])
  expect(time.nowMs()).toBeGreaterThan(startMs)
})

describe('a 429', () => {
  it.each([
    ['seconds', '3'],
    ['an HTTP date', new Date(startMs + 3_000).toUTCString()],
  ])('with a short Retry-After in %s is waited out on the only endpoint', async (_, retryAfter) => {
    const time = new VirtualTime(startMs)
    const proxy = await faulty()
    const endpoint = open(proxy.url, { time })
    proxy.misbehaveOnce({ kind: 'rate', retryAfter, date: new Date(startMs).toUTCString() })
    expect(results(await endpoint.call(echoes(3), never))).toEqual([0, 1, 2])
    expect(time.nowMs() - startMs).toBeGreaterThanOrEqual(2_000)
    expect(time.nowMs() - startMs).toBeLessThan(6_000)
    expect(proxy.requests).toBeGreaterThanOrEqual(2)
  })

  it.each([
    ['seconds', '60'],
    ['an HTTP date', new Date(startMs + 60_000).toUTCString()],
  ])('with a long Retry-After in %s fails, and nothing is sent before', async (_, retryAfter) => {
    let nowMs = startMs
    const time = Object.assign(new VirtualTime(startMs), { nowMs: () => nowMs })
    const proxy = await faulty()
    const endpoint = open(proxy.url, { time })
    await endpoint.call(echoes(1), never)
    proxy.misbehaveOnce({ kind: 'rate', retryAfter, date: new Date(startMs).toUTCString() })
    const failure = await failureOf(endpoint.call(echoes(1), never))
    expect(failure).toMatchObject({ kind: 'rate', host: proxy.host })
    const aheadMs = (failure.retryAtMs ?? 0) - startMs
    expect(aheadMs).toBeGreaterThan(58_000)
    expect(aheadMs).toBeLessThanOrEqual(60_000)
    expect(proxy.requests).toBe(2)
    nowMs += 50_000
    expect((await failureOf(endpoint.call(echoes(1), never))).message).toMatch(/not again for \d+ s/)
    expect(proxy.requests).toBe(2)
    nowMs += 10_000
    expect(results(await endpoint.call(echoes(1), never))).toEqual([0])
  })

  it('that asks for a day is asked again after five minutes', async () => {
    let nowMs = startMs
    const time = Object.assign(new VirtualTime(startMs), { nowMs: () => nowMs })
    const proxy = await faulty()
    const endpoint = open(proxy.url, { time })
    proxy.misbehaveOnce({ kind: 'rate', retryAfter: '86400' })
    await failureOf(endpoint.call(echoes(1), never))
    nowMs += 5 * 60_000 - 6_000
    await failureOf(endpoint.call(echoes(1), never))
    expect(proxy.requests).toBe(1)
    nowMs += 6_000
    expect(results(await endpoint.call(echoes(1), never))).toEqual([0])
  })

  it('is not waited out where there is another endpoint: that one is asked', async () => {
    const time = new VirtualTime(startMs)
    const [first, second] = [await faulty(), await faulty()]
    const reported: string[] = []
    const pool = openPool([first.url, second.url], {
      time,
      passedOver: (host, reason) => reported.push(`${host} ${reason}`),
    })
    first.misbehave({ kind: 'rate', retryAfter: '3' })
    const asked = () =>
      pool.serve({}, never, async endpoint => [endpoint.host, ...(await endpoint.call(echoes(1), never))])
    expect((await asked())[0]).toBe(second.host)
    expect(time.nowMs()).toBe(startMs)
    expect(reported).toEqual([`${first.host} answered HTTP 429: it limits how often it is asked`])
    expect((await asked())[0]).toBe(second.host)
    expect(first.requests).toBe(1)
    expect(pool.health()[0]).toMatchObject({ state: 'resting', restsUntilMs: startMs + 3_000 })
  })

  it('without end fails after a few tries', async () => {
    const proxy = await faulty()
    proxy.misbehave({ kind: 'rate', retryAfter: '1' })
    const endpoint = open(proxy.url, { time: new VirtualTime(startMs) })
    expect((await failureOf(endpoint.call(echoes(1), never))).kind).toBe('rate')
    expect(proxy.requests).toBeLessThanOrEqual(4)
  })

  it('is waited out only as long as the caller waits', async () => {
    const proxy = await faulty()
    proxy.misbehave({ kind: 'rate', retryAfter: '5' })
    const { promise: sleeping, resolve: slept } = Promise.withResolvers<void>()
    const time = Object.assign(new VirtualTime(startMs), {
      sleep: (_: number, signal?: AbortSignal) =>
        new Promise<void>((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          slept()
        }),
    })
    const stop = new AbortController()
    const work = open(proxy.url, { time })
      .call(echoes(1), stop.signal)
      .catch(error => error.message)
    await sleeping
    stop.abort(new Error('enough'))
    expect(await work).toBe('enough')
  })
})

it('errors of JSON-RPC that limit the rate are failures, with the wait that their data name', async () => {
  const proxy = await faulty()
  const endpoint = open(proxy.url, { time: new VirtualTime(startMs), isOnlyOne: false })
  const message = 'daily request count exceeded, request rate limited'
  proxy.misbehave({ kind: 'error', code: -32005, message, data: { rate: { backoff_seconds: 30 } } })
  const failure = await failureOf(endpoint.call(echoes(2), never))
  expect(failure.message).toBe(`${proxy.host} answered an error: ${message} (-32005)`)
  expect([failure.kind, failure.retryAtMs]).toEqual(['rate', startMs + 30_000])
})

describe('the rate of an endpoint', () => {
  it('is the configured one: no second sees more calls', async () => {
    const time = new VirtualTime(startMs)
    const sent: { atMs: number; count: number }[] = []
    const meter = new CallMeter(count => sent.push({ atMs: time.nowMs(), count }))
    const proxy = await faulty()
    const endpoint = open(proxy.url, { time, callsPerSecondMax: 10, meter })
    expect(results(await endpoint.call(echoes(99), never))).toEqual(numbers(99))
    const tookMs = time.nowMs() - startMs
    expect(tookMs).toBe(9_009)
    for (const { atMs } of sent) {
      const second = sent.filter(one => one.atMs <= atMs && one.atMs > atMs - 1_000)
      expect(second.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(10)
    }
  })

  it('below one call a second still lets calls pass', async () => {
    const time = new VirtualTime(startMs)
    const endpoint = open((await faulty()).url, { time, callsPerSecondMax: 0.5 })
    expect(results(await endpoint.call(echoes(3), never))).toEqual([0, 1, 2])
    expect(time.nowMs() - startMs).toBeGreaterThanOrEqual(4_000)
  })

  it('is found by what is refused, is lowered once for refusals at the same time, and rises again', async () => {
    const proxy = await faulty()
    const meter = new CallMeter()
    const time = idleTime(() => meter.counts().requests === proxy.requests - proxy.open)
    const endpoint = open(proxy.url, { time, meter })
    await endpoint.call(echoes(1), never)
    expect(endpoint.rate.callsPerSecondMax).toBe(Number.POSITIVE_INFINITY)
    await time.sleep(5_000)
    proxy.misbehave({ kind: 'calls-a-second-max', count: 50, nowMs: time.nowMs })
    expect(results(await endpoint.call(echoes(80), never))).toEqual(numbers(80))
    const found = endpoint.rate.callsPerSecondMax
    expect(found).toBeGreaterThanOrEqual(40)
    expect(found).toBeLessThanOrEqual(50)
    const before = proxy.requests
    const fromMs = time.nowMs()
    expect(results(await endpoint.call(echoes(2_000), never))).toEqual(numbers(2_000))
    // It nears the limit ever more slowly: 40 s are the least.
    expect(time.nowMs() - fromMs).toBeLessThan(100_000)
    expect(proxy.requests - before).toBeLessThan(100)
    await time.sleep(240_000)
    expect(endpoint.rate.callsPerSecondMax).toBe(Number.POSITIVE_INFINITY)
  })

  it('is no limit again seconds after a gateway that refused everything for a while, and batches stay whole', async () => {
    const proxy = await faulty()
    const meter = new CallMeter()
    const time = idleTime(() => meter.counts().requests === proxy.requests - proxy.open)
    const endpoint = open(proxy.url, { time, meter })
    const hour = async (index: number) =>
      expect(results(await endpoint.call(echoes(150, index), never))).toHaveLength(150)
    for (let index = 0; index < 5; index++) await hour(index)
    await time.sleep(5_000)
    const fromMs = time.nowMs()
    proxy.misbehaveOnce({ kind: 'rate', retryAfter: '3' })
    for (let index = 0; index < 50; index++) await hour(index)
    expect(Math.min(...proxy.batches)).toBe(150)
    expect(time.nowMs() - fromMs).toBeLessThan(15_000)
    expect(endpoint.rate.callsPerSecondMax).toBeGreaterThan(1_000)
  })

  it('lets a batch larger than the rate pass whole, which is paid off as fast as the rate rises', async () => {
    const proxy = await faulty()
    const meter = new CallMeter()
    const time = idleTime(() => meter.counts().requests === proxy.requests - proxy.open)
    const endpoint = open(proxy.url, { time, meter })
    await endpoint.call(echoes(999), never)
    proxy.misbehave({ kind: 'rate', retryAfter: '1' })
    await failureOf(endpoint.call(echoes(1_000), never))
    proxy.misbehave()
    const found = endpoint.rate.callsPerSecondMax
    expect(found).toBeLessThan(200)
    await time.sleep(1_000)
    const [fromMs, before] = [time.nowMs(), proxy.batches.length]
    for (let index = 0; index < 2; index++) await endpoint.call(echoes(1_000), never)
    expect(proxy.batches.slice(before)).toEqual([1_000, 1_000])
    expect(time.nowMs() - fromMs).toBeGreaterThan(2_000)
    expect(time.nowMs() - fromMs).toBeLessThan(8_000)
  })

  it('falls after refusals without end to a few calls a second, and no further', async () => {
    const time = new VirtualTime(startMs)
    const proxy = await faulty()
    const endpoint = open(proxy.url, { time })
    await endpoint.call(echoes(500), never)
    proxy.misbehave({ kind: 'rate', retryAfter: '1' })
    for (let tries = 0; tries < 20; tries++) {
      await failureOf(endpoint.call(echoes(500), never))
      await time.sleep(1_000)
    }
    expect(endpoint.rate.callsPerSecondMax).toBeGreaterThanOrEqual(5)
    proxy.misbehave()
    proxy.reset()
    const fromMs = time.nowMs()
    expect(results(await endpoint.call(echoes(500), never))).toEqual(numbers(500))
    expect(time.nowMs() - fromMs).toBeLessThan(30_000)
  })

  it('written by an operator is not overshot at the node, whatever the batch and the way there', async () => {
    const arrived: { atMs: number; count: number }[] = []
    let nowMs = startMs
    const proxy = await faulty((calls, response, body) => {
      // The first request takes longest to arrive: its connection is new.
      nowMs += arrived.length === 0 ? 240 : 10
      arrived.push({ atMs: nowMs, count: calls.length })
      nowMs += 15
      return echoing(calls, response, body)
    })
    const meter = new CallMeter()
    const idle = idleTime(() => meter.counts().requests === proxy.requests - proxy.open)
    const time = { ...idle, nowMs: () => Math.max(nowMs, idle.nowMs()), sleep: lateSleep }
    async function lateSleep(ms: number) {
      const untilMs = time.nowMs() + ms
      await idle.sleep(untilMs - idle.nowMs())
      // A timer is late by as much as the event loop is busy.
      nowMs = Math.max(nowMs, untilMs + 30)
    }
    const endpoint = open(proxy.url, { time, meter, callsPerSecondMax: 20, batchCallsMax: 7 })
    expect(results(await endpoint.call(echoes(140), never))).toEqual(numbers(140))
    expect(Math.max(...arrived.map(({ count }) => count))).toBe(7)
    for (const { atMs } of arrived) {
      const second = arrived.filter(one => one.atMs <= atMs && one.atMs > atMs - 1_000)
      expect(second.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(20)
    }
  })

  it('is lowered once for many requests refused together', async () => {
    const time = Object.assign(new VirtualTime(startMs), { nowMs: () => startMs })
    const proxy = await faulty()
    const endpoint = open(proxy.url, { time, isOnlyOne: false, batchCallsMax: 100 })
    await endpoint.call(echoes(1), never)
    proxy.misbehave({ kind: 'rate', retryAfter: '2' })
    await failureOf(endpoint.call(echoes(800), never))
    expect(endpoint.rate.callsPerSecondMax).toBeGreaterThanOrEqual(50)
  })
})

it('a contract that speaks of a rate is not taken for a gateway', async () => {
  const message = 'execution reverted: exchange rate limit exceeded'
  const proxy = await faulty((calls, response, body) => {
    if (!body.includes('eth_call')) return echoing(calls, response, body)
    json(response, [{ id: calls[0]?.id, error: { code: -32000, message } }])
  })
  const endpoint = open(proxy.url)
  await endpoint.call(echoes(1), never)
  const [answer] = await endpoint.call([{ method: 'eth_call', params: [] }], never)
  expect(answer).toMatchObject({ kind: 'error', error: { message } })
})
