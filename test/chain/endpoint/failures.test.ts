import { inspect } from 'node:util'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createChainReader } from '../../../src/chain/read/reader.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { Fault } from '../../../src/model/fault.ts'
import { archive } from '../support/archive.ts'
import { answering, type Behaviour, json, NodeError, startNode } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openReader, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const healthy = archive(chain)
const contract = '0x00000000000000000000000000000000000000c0'
const key = 'k3y-0f-the-provider-4711'
const path = `/v2/${key}?token=${key}`

const html: Behaviour = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end('<html><body>Welcome to nginx</body></html>')
}
const status = (code: number, text: string): Behaviour => {
  return (_, response) => {
    response.writeHead(code)
    response.end(text)
  }
}

/** A clock by which every wait is over at once. */
function skippingTime() {
  let skippedMs = 0
  const sleep = async (ms: number) => {
    skippedMs += ms
  }
  return { ...systemTime, nowMs: () => systemTime.nowMs() + skippedMs, sleep }
}

/** A port on which nothing listens. */
async function deadUrl(): Promise<string> {
  const server = await startNode(healthy, path)
  await server.stop()
  return server.url
}

const broken: [name: string, behaviour: Behaviour, says: RegExp][] = [
  ['answers HTML', html, /not JSON/],
  ['answers HTTP 429', status(429, `slow down ${key}`), /HTTP 429/],
  ['answers HTTP 502 with a page', status(502, '<html>Bad gateway</html>'), /HTTP 502/],
  ['answers JSON that is no JSON-RPC', (_, response) => json(response, { status: 'ok' }), /not JSON-RPC/],
  ['answers a string', (_, response) => json(response, 'hello'), /not JSON-RPC/],
  ['leaves calls out of a batch', (_, response) => json(response, []), /without an answer/],
  ['closes the connection', (_, response) => void response.destroy(), /does not answer: .*, UND_ERR_SOCKET/],
  ['redirects', (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end(), /HTTP 302/],
  ['answers null for its chain id', answering(() => null), /answered no chain id/],
  ['serves another chain', answering(method => (method === 'eth_chainId' ? '0x5' : null)), /serves chain 5, not 1/],
  [
    'answers null for the latest block',
    answering(method => (method === 'eth_chainId' ? '0x1' : null)),
    /does not have/,
  ],
  [
    'answers a block without its fields',
    answering(method => (method === 'eth_chainId' ? '0x1' : { number: '0x1' })),
    /something else than the header/,
  ],
  [
    'answers an error that quotes its URL',
    (calls, response) =>
      json(
        response,
        calls.map(({ id }) => ({
          id,
          error: { code: -32005, message: `key ${key} of http://x/${key} is over quota` },
        })),
      ),
    /key \(redacted\) of \(URL\) is over quota/,
  ],
]

/** Nothing of an error may show the key: text, stack, cause, hidden and inherited properties. */
function expectNoSecret(fault: Error): void {
  for (const text of [
    inspect(fault, { depth: Number.POSITIVE_INFINITY, showHidden: true }),
    fault.stack,
    JSON.stringify(fault),
  ]) {
    expect(text).not.toContain(key)
    expect(text).not.toContain('/v2/')
  }
  expect(fault.cause).toBeUndefined()
}

describe('an endpoint that', () => {
  it.each(broken)('%s is a fault that names its host and no more', async (_, behaviour, says) => {
    const server = await node(behaviour, path)
    const fault = await faultOf(openReader([server.url], { time: skippingTime() }).block(firstHour, patient))
    expect(fault.message).toMatch(says)
    expect(fault.message).toContain(`ethereum: ${server.host} `)
    expect(fault.code).toBe(says.source.startsWith('serves') ? 'chain-wrong-id' : 'chain-unreachable')
    expect(fault.fix).toBeTruthy()
    // An id that is corrected to what a node serves would give values of another chain.
    if (fault.code === 'chain-wrong-id') expect(fault.fix).toMatch(/^put a node of the chain that is meant under rpc:/)
    expectNoSecret(fault)
  })

  it.each(broken)('%s is passed over for the second one', async (_, behaviour) => {
    const [first, second] = [await node(behaviour, path), await node(healthy)]
    const passedOver: string[] = []
    const reader = openReader([first.url, second.url], { passedOver: host => void passedOver.push(host) })
    expect((await reader.block(firstHour, patient)).number).toBe(233n)
    expect(passedOver).toEqual([first.host])
    const asked = first.requests.length
    // The hour stays with the endpoint that served it.
    const [answer] = await reader.read(firstHour, [{ kind: 'call', to: contract, input: '0x02' }], patient)
    expect(answer?.kind).toBe('returned')
    expect(first.requests).toHaveLength(asked)
  })

  it.each(['http', 'ws'])('refuses the connection is named (%s)', async scheme => {
    const url = (await deadUrl()).replace('http', scheme)
    const fault = await faultOf(openReader([url]).block(firstHour, patient))
    expect(fault.message).toMatch(/ECONNREFUSED/)
    expect(fault.permanence).toBe('transient')
    expectNoSecret(fault)
  })

  it('is an IPC path without a node is named by its file', async () => {
    const fault = await faultOf(openReader(['/nowhere/private/geth.ipc']).block(firstHour, patient))
    expect(fault.message).toBe('ethereum: geth.ipc does not answer: ENOENT')
  })

  it('is neither URL nor path is a mistake of the configuration, and is not quoted', () => {
    const open = () => createChainReader({ name: 'x', id: 1, endpoints: [`ftp://host/${key}`], time: systemTime })
    expect(open).toThrow('an RPC endpoint is neither')
    expect(open).not.toThrow(key)
  })

  it('fails after others failed too: the fault tells of each', async () => {
    const [dead, other] = [await deadUrl(), await node(html, path)]
    const fault = await faultOf(openReader([dead, other.url]).block(firstHour, patient))
    expect(fault.message).toMatch(/^no endpoint of ethereum could be read: .*ECONNREFUSED; .*not JSON/)
    expectNoSecret(fault)
  })

  it('lags behind the hour is passed over for one that does not', async () => {
    const lagging = await node(archive(scriptedChain(100, number => genesisSeconds + 12 * number)))
    const [, second] = [lagging, await node(healthy)]
    expect((await openReader([lagging.url, second.url]).block(firstHour, patient)).number).toBe(233n)
    const fault = await faultOf(openReader([lagging.url]).block(firstHour, patient))
    expect(fault.message).toContain('its last block 100 is of 2023-11-14T22:33:20Z')
    expect(fault.code).toBe('chain-behind')
  })

  it('is up to date while the chain has no block past the hour yet: no other is asked', async () => {
    const [first, second] = [await node(archive(scriptedChain(200, n => genesisSeconds + 12 * n))), await node(healthy)]
    const nowMs = () => (genesisSeconds + 12 * 200 + 10) * 1000
    const time = { ...systemTime, nowMs, sleep: async () => {} }
    const fault = await faultOf(openReader([first.url, second.url], { time }).block(firstHour, patient))
    expect(fault.message).toBe('ethereum has no block past 2023-11-14T23:00:00Z yet')
    expect(second.requests).toEqual([])
  })

  it('loses its state while reading: the second one answers from the same block', async () => {
    const first = await node((calls, response, body) => {
      const reads = calls.some(({ method }) => method === 'eth_call')
      return (reads ? html : healthy)(calls, response, body)
    })
    const second = await node(healthy)
    const reader = openReader([first.url, second.url])
    const [answer] = await reader.read(firstHour, [{ kind: 'call', to: contract, input: '0x02' }], patient)
    expect(answer).toEqual({ kind: 'returned', output: `0x${(466).toString(16).padStart(64, '0')}` })
    expect(second.requests.flat()).toEqual(['eth_chainId', 'eth_call'])
  })

  it('refuses batches is asked one by one', async () => {
    const server = await node((calls, response, body) =>
      body.startsWith('[')
        ? json(response, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batch requests are disabled' } })
        : healthy(calls, response, body),
    )
    expect((await openReader([server.url]).block(firstHour, patient)).number).toBe(233n)
    expect(server.requests.filter(calls => calls.length > 1).length).toBeLessThanOrEqual(3)
  })
})

describe('an endpoint that never answers', () => {
  /** Tells when it was asked. */
  async function hung() {
    const asked = Promise.withResolvers<void>()
    const server = await node(() => asked.resolve(), path)
    return { server, asked: asked.promise }
  }

  it('ends with the caller’s deadline, and is named', async () => {
    const { server, asked } = await hung()
    const deadline = new AbortController()
    const work = faultOf(openReader([server.url]).block(firstHour, deadline.signal))
    await asked
    deadline.abort(new DOMException('too late', 'TimeoutError'))
    const fault = await work
    expect(fault.message).toBe(`ethereum: ${server.host} had not answered at the deadline`)
    expectNoSecret(fault)
  })

  it('is left for the second one when its own time is up', async () => {
    const { server, asked } = await hung()
    const second = await node(healthy)
    const timeouts: AbortController[] = []
    const timeout = () => {
      const controller = new AbortController()
      timeouts.push(controller)
      return controller.signal
    }
    const work = openReader([server.url, second.url], { time: { ...systemTime, timeout } }).block(firstHour, patient)
    await asked
    timeouts[0]?.abort()
    expect((await work).number).toBe(233n)
  })

  it('is asked last by the hours after', async () => {
    const { server, asked } = await hung()
    const second = await node(healthy)
    let nowMs = systemTime.nowMs()
    const reader = openReader([server.url, second.url], {
      time: { ...systemTime, nowMs: () => nowMs, timeout: () => patient },
    })
    const deadline = new AbortController()
    const work = faultOf(reader.block(firstHour, deadline.signal))
    await asked
    nowMs += 5_000
    deadline.abort()
    await work
    expect((await reader.block(firstHour, patient)).number).toBe(233n)
  })

  it('a Fault as the signal’s reason stays what it is', async () => {
    const { server, asked } = await hung()
    const stop = new AbortController()
    const work = faultOf(openReader([server.url]).block(firstHour, stop.signal))
    await asked
    const reason = new Fault('stopped', 'the daemon stops')
    stop.abort(reason)
    expect(await work).toBe(reason)
  })
})

it('an error of the node on a single read that is no revert fails the reads', async () => {
  const server = await node((calls, response, body) => {
    const failing = answering(method => {
      if (method === 'eth_call') throw new NodeError(-32000, 'header not found')
      return null
    })
    return (body.includes('eth_call') ? failing : archive(chain, { multicallFrom: 9_999n }))(calls, response, body)
  })
  const read = openReader([server.url]).read(firstHour, [{ kind: 'call', to: contract, input: '0x01' }], patient)
  expect((await faultOf(read)).code).toBe('chain-unreachable')
})

it.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const)('answers that are packed although none was asked for are unpacked (%s)', async (encoding, pack) => {
  const server = await node((calls, response, body) => {
    const end = response.end.bind(response)
    response.setHeader('content-encoding', encoding)
    Object.assign(response, { end: (text: string) => end(pack(text)) })
    return healthy(calls, response, body)
  })
  expect((await openReader([server.url]).block(firstHour, patient)).number).toBe(233n)
})

it('a byte order mark before an answer is no part of it', async () => {
  const server = await node((calls, response, body) => {
    const end = response.end.bind(response)
    Object.assign(response, { end: (text: string) => end(`\uFEFF${text}`) })
    return healthy(calls, response, body)
  })
  expect((await openReader([server.url]).block(firstHour, patient)).number).toBe(233n)
})

it.each([
  [302, /address that it redirects to/],
  [401, /check the key/],
  [404, /check the path/],
  [429, /set rate: of this endpoint/],
  [502, /gateway before it, fails/],
])('HTTP %i has a fix of its own', async (code, fix) => {
  const time = skippingTime()
  const fault = await faultOf(openReader([(await node(status(code, ''))).url], { time }).block(firstHour, patient))
  expect(fault).toMatchObject({ code: 'chain-unreachable', fix: expect.stringMatching(fix) })
})

it.each([
  ['gzip', 'answered with a body that is not gzip, as its content-encoding says'],
  ['zstd', 'answered with the content-encoding zstd, though it was asked for none'],
])('an answer that is not packed as it says (%s) is named', async (encoding, words) => {
  const server = await node((calls, response, body) => {
    response.setHeader('content-encoding', encoding)
    return healthy(calls, response, body)
  })
  expect((await faultOf(openReader([server.url]).block(firstHour, patient))).message).toContain(words)
})
