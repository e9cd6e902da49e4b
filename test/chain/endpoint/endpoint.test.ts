import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CallMeter } from '../../../src/chain/endpoint/call-meter.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { Fault } from '../../../src/model/fault.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { archiveAnswers } from '../support/archive.ts'
import { echo, echoes, echoing, failureOf, faulty, never, open, results } from '../support/endpoints.ts'
import { answering, json, startNode } from '../support/node.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

describe('what is asked of an endpoint', () => {
  it('in one turn is one request, the chain id included, and each caller gets its own answers', async () => {
    const proxy = await faulty()
    const endpoint = open(proxy.url)
    const asked = [echoes(2), echoes(3, 10), []].map(calls => endpoint.call(calls, never))
    expect((await Promise.all(asked)).map(results)).toEqual([[0, 1], [10, 11, 12], []])
    expect(proxy.batches).toEqual([6])
    await endpoint.call(echoes(1), never)
    expect(proxy.calls).toEqual({ eth_chainId: 1, echo: 6 })
    expect(proxy.requests).toBe(2)
  })

  it('in a later turn does not wait for the request under way', async () => {
    const proxy = await faulty()
    const endpoint = open(proxy.url)
    await endpoint.call(echoes(1), never)
    proxy.misbehaveOnce({ kind: 'hang' })
    const stop = new AbortController()
    const first = endpoint.call(echoes(1), stop.signal).catch(() => 'stopped')
    await proxy.had(2)
    expect(results(await endpoint.call(echoes(1, 7), never))).toEqual([7])
    stop.abort()
    expect(await first).toBe('stopped')
  })

  it('by a caller that gives up before it departs is left out', async () => {
    const proxy = await faulty()
    const endpoint = open(proxy.url)
    const stop = new AbortController()
    const dropped = endpoint.call(echoes(5), stop.signal).catch(error => error.message)
    const kept = endpoint.call(echoes(2, 10), never)
    stop.abort(new Error('enough'))
    expect(await dropped).toBe('enough')
    expect(results(await kept)).toEqual([10, 11])
    expect(proxy.calls).toEqual({ eth_chainId: 1, echo: 2 })
  })

  it('by callers that all give up before it departs is not sent, and the next one travels alone', async () => {
    const proxy = await faulty()
    const endpoint = open(proxy.url)
    const stop = new AbortController()
    const dropped = endpoint.call(echoes(5), stop.signal).catch(error => error.message)
    stop.abort(new Error('enough'))
    expect(await dropped).toBe('enough')
    expect(results(await endpoint.call(echoes(1), never))).toEqual([0])
    expect(proxy.batches).toEqual([2])
  })

  it('ends as a request once no caller waits for it any more, and not before', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<() => void>()
    const { promise: closed, resolve: close } = Promise.withResolvers<string>()
    const node = await startNode((calls, response, body) => {
      response.on('close', () => close(response.writableFinished ? 'answered' : 'given up'))
      arrive(() => void echoing(calls, response, body))
    })
    onTestFinished(() => node.stop())
    const endpoint = open(node.url)
    const [one, other] = [new AbortController(), new AbortController()]
    const works = [one, other].map(({ signal }) => endpoint.call(echoes(1), signal).catch(error => error.message))
    await arrived
    one.abort(new Error('first'))
    expect(await works[0]).toBe('first')
    other.abort(new Error('second'))
    expect(await works[1]).toBe('second')
    expect(await closed).toBe('given up')
  })

  it('goes on for the one who waits when another gives up under way', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<() => void>()
    const node = await startNode((calls, response, body) => arrive(() => void echoing(calls, response, body)))
    onTestFinished(() => node.stop())
    const endpoint = open(node.url)
    const stop = new AbortController()
    const dropped = endpoint.call(echoes(1), stop.signal).catch(error => error.message)
    const kept = endpoint.call(echoes(1, 5), never)
    const answer = await arrived
    stop.abort(new Error('enough'))
    expect(await dropped).toBe('enough')
    answer()
    expect(results(await kept)).toEqual([5])
  })

  it('of a single call is no batch', async () => {
    const bodies: string[] = []
    const node = await startNode((calls, response, body) => {
      bodies.push(body)
      return echoing(calls, response, body)
    })
    onTestFinished(() => node.stop())
    const endpoint = open(node.url)
    await endpoint.call(echoes(1), never)
    await endpoint.call([echo('x')], never)
    expect(bodies.map(body => body.startsWith('['))).toEqual([true, false])
    expect(JSON.parse(bodies[1] ?? '')).toEqual({ jsonrpc: '2.0', id: 1, method: 'echo', params: ['x'] })
  })

  it('keeps its connection', async () => {
    const ports = new Set<number | undefined>()
    const node = await startNode((calls, response, body) => {
      ports.add(response.socket?.remotePort)
      return echoing(calls, response, body)
    })
    onTestFinished(() => node.stop())
    const endpoint = open(node.url)
    for (const from of numbers(5)) await endpoint.call(echoes(3, from), never)
    expect(ports.size).toBe(1)
  })

  it('carries the credentials of its URL in a header', async () => {
    const proxy = await faulty(echoing, '/rpc?x=1')
    const endpoint = open(proxy.url.replace('http://', 'http://me:p%40ss@'))
    expect(endpoint.host).toBe(proxy.host)
    await endpoint.call(echoes(1), never)
    expect(proxy.headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
    expect(proxy.headers.host).toBe(proxy.host)
  })
})

describe('another chain at the same address', () => {
  const of = (chainId: number, head: number, fork?: number) =>
    archiveAnswers(
      scriptedChain(head, number => 12 * number, { ...(fork !== undefined && { fork }) }),
      { chainId },
    )
  const ours = of(1, 500)
  const [head, header] = (['latest', '0x64'] as const).map(at => ({
    method: 'eth_getBlockByNumber',
    params: [at, false],
  }))
  const blockHash = scriptedChain(500, Number).header(100n)?.hash
  const byHash = { method: 'eth_call', params: [{ to: `0x${'0'.repeat(40)}`, data: '0x' }, { blockHash }] }

  it.each([
    ['after a connection that broke', of(7, 600), header, 1],
    ['whose last block is an earlier one', of(7, 400), head, 0],
    ['with another block of a number', of(7, 600, 90), header, 0],
    ['that does not know a hash', of(7, 600, 90), byHash, 0],
    ['in the next hour of the clock', of(7, 600), header, 2],
  ])('%s is found before anything of it counts', async (_, theirs, call, way) => {
    let answers = ours
    const proxy = await faulty(answering((method, params) => answers(method, params)))
    const clock = { ...systemTime, atMs: 3_599_000, nowMs: () => clock.atMs }
    const endpoint = open(proxy.url, { time: clock })
    if (!head || !header || !call) throw new Error('there are two')
    await endpoint.call([head, header], never)
    await endpoint.call([header], never)
    expect(proxy.calls['eth_chainId']).toBe(1)
    if (way === 1) {
      proxy.misbehaveOnce({ kind: 'reset' })
      await failureOf(endpoint.call([head], never))
    }
    if (way === 2) clock.atMs += 1_001
    answers = theirs
    expect(await failureOf(endpoint.call([call], never))).toMatchObject({ kind: 'wrong-id' })
    answers = ours
    expect((await endpoint.call([header], never))[0]).toMatchObject({ kind: 'result' })
  })

  it('leaves nothing that was learnt of a node', async () => {
    const proxy = await faulty()
    const endpoint = open(proxy.url)
    const { node } = endpoint
    await endpoint.call(echoes(1), never)
    expect(endpoint.node).toBe(node)
    proxy.misbehaveOnce({ kind: 'reset' })
    await failureOf(endpoint.call([head ?? echo(1)], never))
    expect(endpoint.node).not.toBe(node)
  })
})

describe('a batch that a node refuses', () => {
  it.each(['413', '400', 'object', 'array', 'missing'] as const)(
    'by %s is sent again in smaller parts within the same call, and the size is remembered',
    async how => {
      const proxy = await faulty()
      proxy.misbehave({ kind: 'batch-max', calls: 10, how })
      const endpoint = open(proxy.url)
      const expected = numbers(100)
      expect(results(await endpoint.call(echoes(100), never))).toEqual(expected)
      const batches = [...proxy.batches]
      expect(batches[0]).toBe(101)
      expect(batches.filter(count => count > 10).length).toBeLessThanOrEqual(8)
      proxy.reset()
      expect(results(await endpoint.call(echoes(100), never))).toEqual(expected)
      expect(Math.max(...proxy.batches)).toBeLessThanOrEqual(10)
      expect(proxy.requests).toBeLessThanOrEqual(20)
      if (how === '413') expect(endpoint.batch.callsMax).toBe(1000)
      else expect(endpoint.batch.callsMax).toBeLessThanOrEqual(10)
    },
  )

  it.each([
    ['403', 403, 'forbidden', 1],
    ['404', 404, '', 4],
    ['405', 405, '<html>', 1],
    ['415', 415, 'json only', 3],
    ['500', 500, '{"message":"oh"}', 7],
    ['501', 501, '', 1],
    ['a page', 200, '<!doctype html>', 2],
    ['an empty body', 200, '', 1],
    ['the answer to the first call', 200, '{"jsonrpc":"2.0","id":1,"result":"0x1"}', 1],
    ['a connection that ends', 0, '', 6],
  ])(
    'by %s is asked for one call alone before the node is called bad, and the size is remembered',
    async (_, status, text, most) => {
      const node = await startNode((calls, response, body) => {
        if (calls.length <= most) return echoing(calls, response, body)
        if (status === 0) return void response.destroy()
        response.writeHead(status)
        response.end(text)
      })
      onTestFinished(() => node.stop())
      const endpoint = open(node.url)
      const read = { method: 'eth_call', params: [] }
      expect(results(await endpoint.call([...echoes(9), read, read], never))).toEqual([...numbers(9), '0x01', '0x01'])
      expect(node.requests[1]).toEqual(['eth_chainId'])
      node.requests.length = 0
      expect(results(await endpoint.call([...echoes(6), read], never))).toEqual([...numbers(6), '0x01'])
      expect(node.requests.filter(({ length }) => length > most)).toEqual([])
    },
  )

  it('down to single calls', async () => {
    const proxy = await faulty()
    proxy.misbehave({ kind: 'batch-max', calls: 1, how: 'object' })
    const endpoint = open(proxy.url)
    expect(results(await endpoint.call(echoes(30), never))).toEqual(numbers(30))
    expect(endpoint.batch.callsMax).toBe(1)
    proxy.reset()
    await endpoint.call(echoes(5), never)
    expect(proxy.batches).toEqual([1, 1, 1, 1, 1])
  })

  it('for its length does not make batches of short calls smaller', async () => {
    const proxy = await faulty()
    proxy.misbehave({ kind: 'bytes-max', bytes: 10_000 })
    const endpoint = open(proxy.url)
    const long = 'x'.repeat(4_000)
    expect(
      results(
        await endpoint.call(
          numbers(8).map(() => echo(long)),
          never,
        ),
      ),
    ).toEqual(Array(8).fill(long))
    proxy.reset()
    await endpoint.call(echoes(50), never)
    expect(proxy.batches).toEqual([50])
  })

  it('by a node that fails at everything is not remembered', async () => {
    const proxy = await faulty()
    const time = new VirtualTime(Date.now())
    const endpoint = open(proxy.url, { time })
    await endpoint.call(echoes(1), never)
    const failing = {
      kind: 'status',
      status: 200,
      text: '{"id":null,"error":{"code":-32603,"message":"sick"}}',
    } as const
    proxy.misbehave(failing)
    expect(await failureOf(endpoint.call(echoes(16), never))).toMatchObject({
      kind: 'rate',
      reason: expect.stringContaining('sick'),
    })
    proxy.misbehave()
    proxy.reset()
    await time.sleep(60_000)
    expect(results(await endpoint.call(echoes(16), never))).toEqual(numbers(16))
    expect(proxy.batches).toEqual([16])
  })

  it('because a single call is too large fails for the caller of that one alone', async () => {
    const proxy = await faulty()
    proxy.misbehave({ kind: 'bytes-max', bytes: 1_000 })
    const endpoint = open(proxy.url)
    const failing = failureOf(endpoint.call([echo('x'.repeat(2_000)), echo(1)], never))
    const fine = endpoint.call(echoes(3), never)
    expect(results(await fine)).toEqual([0, 1, 2])
    expect(await failing).toMatchObject({ kind: 'too-much', reason: 'answered HTTP 413' })
  })

  it('is not even tried beyond the configured size, nor beyond 4 MB', async () => {
    const proxy = await faulty()
    const endpoint = open(proxy.url, { batchCallsMax: 7 })
    expect(results(await endpoint.call(echoes(20), never))).toEqual(numbers(20))
    expect(Math.max(...proxy.batches)).toBe(7)
    const free = open(proxy.url)
    proxy.reset()
    const long = 'x'.repeat(1_500_000)
    const texts = numbers(4).map(number => `${number}${long}`)
    expect(results(await free.call(texts.map(echo), never))).toEqual(texts)
    expect(proxy.batches.toSorted()).toEqual([2, 3])
  })

  it('with errors in the place of single answers, as geth cuts a long answer, is sent again', async () => {
    const proxy = await faulty((calls, response, body) =>
      calls.length <= 5
        ? echoing(calls, response, body)
        : json(
            response,
            calls.map(({ id, params }, index) =>
              index < 5 ? { id, result: params[0] } : { id, error: { code: -32003, message: 'response too large' } },
            ),
          ),
    )
    const endpoint = open(proxy.url)
    await endpoint.call(echoes(1), never)
    expect(results(await endpoint.call(echoes(20), never))).toEqual(numbers(20))
    // The length of an answer differs: it says nothing about the next batch.
    expect(endpoint.batch.callsMax).toBe(1000)
  })
})

describe('an endpoint that answers nothing', () => {
  it.each([
    [{ kind: 'stalls' }, /did not answer within 15 s/],
    [{ kind: 'hang' }, /did not answer within 15 s/],
    [{ kind: 'reset' }, /does not answer: .*, UND_ERR_SOCKET/],
    [{ kind: 'garbage' }, /not JSON/],
    [{ kind: 'no-ids' }, /without an answer|not asked/],
    [{ kind: 'status', status: 307, location: 'http://127.0.0.1:1/' }, /HTTP 307: redirects are not followed/],
  ] as const)('of use fails: %o', async (fault, says) => {
    const proxy = await faulty()
    const timeouts: AbortController[] = []
    const timeout = () => {
      timeouts.push(new AbortController())
      return timeouts.at(-1)?.signal ?? never
    }
    const endpoint = open(proxy.url, { time: { ...systemTime, timeout } })
    proxy.misbehave(fault)
    const work = failureOf(endpoint.call(echoes(1), never))
    await proxy.had(1)
    if (fault.kind === 'stalls' || fault.kind === 'hang') timeouts[0]?.abort()
    expect((await work).message).toMatch(says)
  })

  it('for one of several parts fails those who wait for it, and answers the others', async () => {
    const proxy = await faulty((calls, response, body) =>
      body.includes('poison') ? void response.destroy() : echoing(calls, response, body),
    )
    const endpoint = open(proxy.url, { batchCallsMax: 4 })
    await endpoint.call(echoes(1), never)
    const fine = endpoint.call(echoes(4), never)
    const failing = failureOf(endpoint.call([echo('poison')], never))
    expect(results(await fine)).toEqual([0, 1, 2, 3])
    expect((await failing).kind).toBe('unreachable')
  })
})

describe('a meter', () => {
  it('counts requests and calls by method, those sent again too', async () => {
    const proxy = await faulty()
    const meter = new CallMeter()
    const endpoint = open(proxy.url, { meter })
    proxy.misbehave({ kind: 'batch-max', calls: 6, how: 'object' })
    await endpoint.call(echoes(10), never)
    expect(meter.counts()).toEqual({ requests: proxy.requests, calls: proxy.calls })
    expect(meter.counts().requests).toBeGreaterThan(2)
  })

  it('may stop calls before anything is sent', async () => {
    const proxy = await faulty()
    const cap = new Fault('stopped', 'enough calls')
    const asked: number[] = []
    const meter = new CallMeter(calls => {
      asked.push(calls)
      if (calls > 3) throw cap
    })
    const endpoint = open(proxy.url, { meter })
    await expect(endpoint.call(echoes(5), never)).rejects.toBe(cap)
    expect(proxy.requests).toBe(0)
    expect(asked).toEqual([6])
    expect(results(await endpoint.call(echoes(2), never))).toEqual([0, 1])
    expect(meter.counts()).toEqual({ requests: 1, calls: { eth_chainId: 1, echo: 2 } })
  })
})

it('messages over a socket are bounded in number', async () => {
  let most = 0
  const path = join(temporaryFolder(), 'node.ipc')
  const server = createServer((socket: Socket) => {
    let waiting: { id: number; method: string }[] = []
    let rest = ''
    socket.on('data', chunk => {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop() ?? ''
      if (waiting.length === 0) setImmediate(answer)
      waiting.push(...lines.map(line => JSON.parse(line)))
      most = Math.max(most, waiting.length)
    })
    const answer = () => {
      for (const { id, method } of waiting) {
        socket.write(JSON.stringify({ id, result: method === 'eth_chainId' ? '0x1' : id }))
      }
      waiting = []
    }
  })
  await new Promise<void>(resolve => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  const answers = await open(path).call(echoes(1_500), never)
  expect(answers.length).toBe(1_500)
  expect(new Set(results(answers)).size).toBe(1_500)
  expect(most).toBeLessThanOrEqual(400)
})
