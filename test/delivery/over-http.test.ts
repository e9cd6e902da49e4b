import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { attemptsMax } from '../../src/delivery/isolate/pieces.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { answerBytesMax, hourMs } from '../../src/model/limits.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { httpBench } from './support/http-bench.ts'
import { type HttpPush, type Reply, taken } from './support/http-service.ts'
import { protocol } from './support/protocol.ts'

const isBad = ({ id }: { readonly id: string }) => id === 'vault___M7'
const all = { enqueued: 20, delivered: 20, dead: 0, due: 0 }
const none = { enqueued: 20, delivered: 0, dead: 0, due: 20 }
const allButBad = { enqueued: 20, delivered: 19, dead: 1, due: 0 }
const pushResult = (fields: object) => ({
  status: 200,
  body: { success: true, processed: 20, errors: [], warnings: [], ...fields },
})

/** Outcome of 20 metrics of which the rule may refuse the bad one, after one flush. */
async function outcome(rule: (push: HttpPush) => Reply | undefined) {
  const { bench, service } = await httpBench()
  await bench.store(metrics(20))
  service.rule = rule
  await bench.flush()
  const { lastPush, waiting, cure } = bench.state()
  const [deadLetter] = await bench.outbox.operators.deadOrHeld({ state: 'dead' })
  return {
    balance: bench.balance,
    pushes: service.pushes.length,
    verdict: lastPush?.verdict,
    waiting,
    cure,
    deadLetter,
  }
}

describe('over HTTP, an answer', () => {
  it.each<[string, (push: HttpPush) => Reply | undefined, object, string, number]>([
    ['200 that all were processed', () => undefined, all, 'delivered', 1],
    ['201 that all were processed', () => ({ ...pushResult({}), status: 201 }), all, 'delivered', 1],
    [
      'in chunks',
      ({ metrics: { length } }) =>
        response => {
          response.write('{"success":true,"processed":')
          response.end(`${length},"errors":[],"warnings":[]}`)
        },
      all,
      'delivered',
      1,
    ],
    [
      '200 with an error that names one',
      () => pushResult({ success: false, processed: 19, errors: [{ id: 'vault___M7', message: 'odd' }] }),
      allButBad,
      'delivered',
      1,
    ],
    [
      '200 with errors that name all',
      ({ metrics: sent }) =>
        pushResult({ success: false, processed: 0, errors: sent.map(({ id }) => ({ id, message: 'no' })) }),
      none,
      'systemic',
      10,
    ],
    [
      '200 whose lists are missing',
      () => ({ status: 200, body: { success: true, processed: 20 } }),
      all,
      'delivered',
      1,
    ],
    ['200 with warnings that are null', () => pushResult({ warnings: null }), all, 'delivered', 1],
    [
      '200 that begins with a byte order mark',
      () => ({ status: 200, body: `\uFEFF${JSON.stringify(pushResult({}).body)}` }),
      all,
      'delivered',
      1,
    ],
    ['200 with a count that never adds up', () => pushResult({ processed: 21 }), none, 'transient', 4 + attemptsMax],
    [
      '200 with a web page',
      () => ({ status: 200, body: '<!doctype html><p>Welcome', headers: { 'content-type': 'text/html' } }),
      none,
      'transient',
      attemptsMax,
    ],
    ['200 without a body', () => ({ status: 200 }), none, 'transient', attemptsMax],
    ['204', () => ({ status: 204 }), none, 'transient', attemptsMax],
    [
      '200 in gzip',
      () => ({ status: 200, body: gzipSync('{}'), headers: { 'content-encoding': 'gzip' } }),
      none,
      'transient',
      attemptsMax,
    ],
    [
      '200 longer than is read',
      () => pushResult({ padding: 'x'.repeat(answerBytesMax) }),
      none,
      'transient',
      attemptsMax,
    ],
    [
      '200 that breaks off',
      () => response => {
        response.writeHead(200, { 'content-length': '999' })
        response.write('{"success":true', () => response.destroy())
      },
      none,
      'transient',
      attemptsMax,
    ],
    [
      '400 to the bad one alone',
      ({ metrics: sent }) => (sent.some(isBad) ? { status: 400, body: { error: 'odd' } } : undefined),
      allButBad,
      'delivered',
      12,
    ],
    [
      '422 to the bad one alone',
      ({ metrics: sent }) => (sent.some(isBad) ? { status: 422, body: { error: 'odd' } } : undefined),
      allButBad,
      'delivered',
      12,
    ],
    ['400 to all', () => ({ status: 400, body: { error: 'no' } }), none, 'systemic', 10],
    [
      '413 to more than six',
      ({ metrics: sent }) => (sent.length > 6 ? { status: 413 } : undefined),
      all,
      'delivered',
      10,
    ],
    ['413 to all', () => ({ status: 413 }), none, 'systemic', 10],
    ['401', () => ({ status: 401 }), none, 'key-refused', 1],
    ['403', () => ({ status: 403 }), none, 'partly-refused', 1],
    ['404', () => ({ status: 404 }), none, 'partly-refused', 1],
    ['408', () => ({ status: 408 }), none, 'transient', attemptsMax],
    ['425', () => ({ status: 425 }), none, 'transient', attemptsMax],
    ['429', () => ({ status: 429 }), none, 'transient', attemptsMax],
    ['500', () => ({ status: 500, body: '<h1>Oops' }), none, 'transient', attemptsMax],
    ['502', () => ({ status: 502 }), none, 'transient', attemptsMax],
    ['503', () => ({ status: 503 }), none, 'transient', attemptsMax],
    ['504', () => ({ status: 504 }), none, 'transient', attemptsMax],
    ['405', () => ({ status: 405 }), none, 'misdirected', 1],
    ['410', () => ({ status: 410 }), none, 'misdirected', 1],
    ['that breaks off: the connection ends', () => response => void response.destroy(), none, 'transient', attemptsMax],
  ])('%s', async (_, rule, balance, verdict, pushes) => {
    const found = await outcome(rule)
    expect(found).toMatchObject({ balance, verdict, pushes })
    expect(found.waiting === undefined).toBe(verdict === 'delivered')
  })

  it('that refuses a metric makes it a dead letter with the service’s words, its status and the attempts made', async () => {
    const said = await outcome(({ metrics: sent }) =>
      sent.some(isBad) ? { status: 400, body: { error: 'value is odd' } } : undefined,
    )
    expect(said.deadLetter).toMatchObject({ id: 'vault___M7', reason: '400: value is odd', status: 400, attempts: 6 })
    const named = await outcome(() => pushResult({ processed: 19, errors: [{ id: 'vault___M7', error: 'is odd' }] }))
    expect(named.deadLetter).toMatchObject({ id: 'vault___M7', reason: 'is odd', status: 200, attempts: 1 })
    let failures = 0
    const late = await outcome(({ metrics: sent }) => {
      failures += 1
      if (failures <= 3) return { status: 503 }
      return sent.some(isBad) ? { status: 400 } : undefined
    })
    expect(late.deadLetter).toMatchObject({ attempts: 9 })
  })
})

describe('an unknown protocol', () => {
  it('is registered where that is wanted, and what was refused is sent again', async () => {
    const destination = {
      name: 'service',
      readKey: () => 'a-key',
      protocols: [protocol('vault', true), protocol('other')],
    }
    const { bench, service } = await httpBench({ destinations: [destination] })
    await bench.store([...metrics(5), ...metrics(5, anHour, 'other')])
    service.rule = ({ metrics: sent }) => {
      const known = service.registered.map(({ id }) => id)
      return sent.every(({ protocolId }) => known.includes(protocolId)) ? undefined : { status: 404 }
    }
    await bench.flush()
    expect(service.registered).toEqual([{ id: 'vault', name: 'vault' }])
    expect(bench.balance).toMatchObject({ delivered: 5, due: 5, dead: 0 })
    expect(bench.state().waiting).toBe('protocol other is refused (404): register it with tidegauge register other')
  })
})

describe('a registration that meets a 503', () => {
  it('waits: the protocol is not called refused, others are on time, and it is tried again', async () => {
    const protocols = [protocol('vault', true), protocol('other')]
    const { bench, service, time } = await httpBench({
      destinations: [{ name: 'service', readKey: () => 'a-key', protocols }],
    })
    await bench.store([...metrics(5), ...metrics(5, anHour, 'other')])
    let isRegistered = false
    service.rule = ({ metrics: sent }) =>
      isRegistered || sent.every(({ protocolId }) => protocolId === 'other') ? undefined : { status: 404 }
    service.registerReply = () => ({ status: 503, body: { error: 'busy' } })
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 5, due: 5 })
    expect(bench.state()).toMatchObject({
      failures: 0,
      waiting:
        'protocol vault is not registered yet, as the service answers 503: busy: nothing is lost, and it is tried again',
    })
    const asked = service.registered.length
    await bench.flush()
    expect(service.registered).toHaveLength(asked)
    service.registerReply = () => {
      isRegistered = true
      return { status: 200, body: {} }
    }
    await time.sleep(60_000)
    await bench.flush()
    expect(bench.balance).toMatchObject({ delivered: 10, due: 0 })
    expect(bench.state().waiting).toBeUndefined()
  })
})

describe('Retry-After', () => {
  const spellings: [string, (inMs: number, nowMs: number) => string][] = [
    ['in seconds', inMs => String(inMs / 1000)],
    ['as a date', (inMs, nowMs) => new Date(nowMs + inMs).toUTCString()],
  ]

  it.each(spellings)('%s of less than a minute is waited for within the flush', async (_, spelled) => {
    const { bench, service, time } = await httpBench()
    await bench.store(metrics(3))
    const beganMs = time.nowMs()
    service.rule = () =>
      service.pushes.length === 1 ? { status: 429, headers: { 'retry-after': spelled(30_000, beganMs) } } : undefined
    await bench.flush()
    expect(service.pushes).toHaveLength(2)
    expect(time.nowMs()).toBeGreaterThanOrEqual(beganMs + 30_000)
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
  })

  it.each(spellings)(
    '%s of longer ends the flush, outlives the process, and binds every request',
    async (_, spelled) => {
      for (const status of [429, 503]) {
        const { bench, service, time } = await httpBench()
        await bench.store(metrics(3))
        const untilMs = time.nowMs() + hourMs
        service.rule = () => ({ status, headers: { 'retry-after': spelled(3 * hourMs, time.nowMs()) } })
        await bench.flush()
        expect(service.requests).toEqual(['GET /api/validate-key', 'POST /api/metrics'])
        const { notBeforeMs, failures } = bench.state()
        expect(failures).toBe(1)
        // A date counts whole seconds.
        expect(Math.abs(notBeforeMs - untilMs)).toBeLessThan(1_000)
        bench.restart()
        service.rule = () => undefined
        await bench.flush()
        await time.sleep(notBeforeMs - 1 - time.nowMs())
        await bench.flush()
        expect(service.requests).toHaveLength(2)
        await time.sleep(1)
        await bench.flush()
        expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
        expect(bench.state()).toMatchObject({ notBeforeMs: 0, failures: 0 })
      }
    },
  )

  it('binds all pushes that are under way together, not only the one that was answered', async () => {
    const { bench, service, time } = await httpBench({ inFlight: 4 })
    await bench.store([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap(back => metrics(100, hourAfter(anHour, -back))))
    let untilMs = 0
    const early: number[] = []
    service.rule = () => {
      if (time.nowMs() < untilMs) early.push(time.nowMs())
      if (service.pushes.length !== 4) return undefined
      untilMs = time.nowMs() + 30_000
      return { status: 429, headers: { 'retry-after': '30' } }
    }
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, delivered: 1_000 })
    // Those that were on their way already.
    expect(early.length).toBeLessThanOrEqual(3)
  })

  it('of the answer about the clock or a key is kept to as well', async () => {
    const { bench, service, time } = await httpBench()
    await bench.store(metrics(3))
    service.keyReply = () => ({ status: 503, headers: { 'retry-after': '7200' } })
    await bench.flush()
    expect(service.requests).toEqual(['GET /api/validate-key'])
    expect(bench.state()).toMatchObject({ notBeforeMs: time.nowMs() + hourMs, failures: 1 })
    await time.sleep(hourMs - 1)
    await bench.flush()
    expect(service.requests).toHaveLength(1)
    service.keyReply = () => taken(0)
    await time.sleep(hourMs)
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0, delivered: 3 })
  })
})
