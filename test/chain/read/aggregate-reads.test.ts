import { describe, expect, it } from 'vitest'
import { EndpointFailure } from '../../../src/chain/endpoint/failures.ts'
import { readAt } from '../../../src/chain/read/read.ts'
import { multicall3Address, ReadMemory } from '../../../src/chain/read/read-memory.ts'
import type { JoinableRead } from '../../../src/chain/reads.ts'
import { word } from '../../../src/chain/shapes.ts'
import type { AsOfBlock, Hex } from '../../../src/model/block.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { type Answers, type ArchiveTraits, archive, archiveAnswers, balanceAt, valueAt } from '../support/archive.ts'
import { type CountedEndpoint, countedEndpoint } from '../support/counted-endpoint.ts'
import { NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'
import type { SeenHeader } from '../support/synthetic-multicall.ts'

const chain = scriptedChain(100_000, number => genesisSeconds + 12 * number)
const contract: Hex = '0x00000000000000000000000000000000000000c0'

function calls(count: number): JoinableRead[] {
  return Array.from({ length: count }, (_, index) => {
    return { kind: 'call', to: contract, input: `0x${(index + 1).toString(16).padStart(8, '0')}` }
  })
}

function blockOf(number: bigint, of = chain): AsOfBlock {
  const header = of.header(number)
  if (!header) throw new Error(`no block ${number}`)
  return { number, hash: header.hash, timestampSeconds: header.timestampSeconds }
}

/** Results of the reads of `calls`. */
function expected(requests: readonly JoinableRead[], number: bigint) {
  return requests.map(request => ({
    kind: 'returned',
    output: request.kind === 'call' ? valueAt(request.input, number) : word(balanceAt(request.address, number)),
  }))
}

function archived(traits: ArchiveTraits = {}) {
  return { endpoint: countedEndpoint(archiveAnswers(chain, traits)), memory: new ReadMemory(1) }
}

/** Reads, and counts the `eth_call`s of it. */
async function read(endpoint: CountedEndpoint, memory: ReadMemory, number: bigint, requests: readonly JoinableRead[]) {
  const before = endpoint.count('eth_call')
  const answers = await readAt(endpoint, blockOf(number), requests, patient, memory)
  return { answers, ethCalls: endpoint.count('eth_call') - before }
}

async function failureOf(work: Promise<unknown>): Promise<EndpointFailure> {
  const outcome = await work.catch((error: unknown) => error)
  if (outcome instanceof EndpointFailure) return outcome
  throw new Error('it did not fail')
}

/** A node that tells something else in its aggregates than what stands there. */
function altered(traits: ArchiveTraits, alter: (output: string) => string): CountedEndpoint {
  const honest = archiveAnswers(chain, traits)
  return countedEndpoint((method, params) => {
    const result = honest(method, params)
    return method === 'eth_call' ? alter(String(result)) : result
  })
}

describe('reads at a block', () => {
  it.each([1, 10, 100, 1_000])('%i of them are one eth_call, and nothing else', async count => {
    const { endpoint, memory } = archived()
    const requests = calls(count)
    expect(await read(endpoint, memory, 500n, requests)).toEqual({ answers: expected(requests, 500n), ethCalls: 1 })
    expect(endpoint.calls).toHaveLength(1)
    expect(endpoint.calls[0]?.params[1]).toEqual({ blockHash: blockOf(500n).hash, requireCanonical: true })
  })

  it('are one eth_call where Multicall3 is at another address, once that is known', async () => {
    const multicall: Hex = `0x${'5a'.repeat(20)}`
    const endpoint = countedEndpoint(archiveAnswers(chain, { multicall }))
    const requests = calls(40)
    const answers = expected(requests, 500n)
    expect(await read(endpoint, new ReadMemory(1, multicall), 500n, requests)).toEqual({ answers, ethCalls: 1 })
    expect(endpoint.calls[0]?.params[0]).toMatchObject({ to: multicall })
    expect((await read(endpoint, new ReadMemory(1), 500n, requests)).ethCalls).toBeGreaterThan(40)
  })

  it('more than 1,000 are asked for in the same turn, in calls of 1,000', async () => {
    const { endpoint, memory } = archived()
    const requests = calls(2_001)
    expect(await read(endpoint, memory, 500n, requests)).toEqual({ answers: expected(requests, 500n), ethCalls: 3 })
    expect(endpoint.turns).toBe(1)
  })

  it('large ones travel together as well', async () => {
    const { endpoint, memory } = archived()
    const input: Hex = `0x${'00'.repeat(150_000)}07`
    const requests = Array.from({ length: 10 }, (): JoinableRead => ({ kind: 'call', to: contract, input }))
    expect((await read(endpoint, memory, 500n, requests)).ethCalls).toBe(1)
  })

  it('balances and calls travel together', async () => {
    const { endpoint, memory } = archived()
    const requests: JoinableRead[] = [...calls(2), { kind: 'balance', address: `0x${'0'.repeat(38)}99` }, ...calls(1)]
    expect(await read(endpoint, memory, 500n, requests)).toEqual({ answers: expected(requests, 500n), ethCalls: 1 })
  })

  it('many hours at once are one eth_call each, all in the same turn', async () => {
    const { endpoint, memory } = archived()
    const numbers = Array.from({ length: 20 }, (_, index) => BigInt(300 * (index + 1)))
    const all = await Promise.all(numbers.map(number => readAt(endpoint, blockOf(number), calls(100), patient, memory)))
    expect(all).toEqual(numbers.map(number => expected(calls(100), number)))
    expect(endpoint.calls).toHaveLength(20)
    expect(endpoint.turns).toBe(1)
  })

  it('a list that differs in one read only has call data of its own', async () => {
    const { endpoint, memory } = archived()
    for (let place = 0; place < 9; place++) {
      const others: JoinableRead[] = [
        { kind: 'call', to: contract, input: '0x0000ffff' },
        { kind: 'call', to: `0x${'0'.repeat(37)}abc`, input: `0x${(place + 1).toString(16).padStart(8, '0')}` },
        { kind: 'balance', address: contract },
      ]
      for (const other of others) {
        const requests = calls(9).with(place, other)
        await read(endpoint, memory, 500n, calls(9))
        expect((await read(endpoint, memory, 500n, requests)).answers).toEqual(expected(requests, 500n))
      }
    }
  })
})

describe('the certificate', () => {
  const wrong = { number: word(501n).slice(2), timestamp: word(BigInt(genesisSeconds + 6_001)).slice(2) }
  const right = { number: word(500n).slice(2), timestamp: word(BigInt(genesisSeconds + 6_000)).slice(2) }

  it.each(['number', 'timestamp'] as const)('of another %s is refused, by hash and by number', async part => {
    for (const takesHashes of [true, false]) {
      const endpoint = altered({ takesHashes }, output => output.replace(right[part], wrong[part]))
      const failure = await failureOf(readAt(endpoint, blockOf(500n), calls(2), patient, new ReadMemory(1)))
      expect(failure.reason).toContain(part === 'number' ? 'read at block 501' : 'read at timestamp 1700006001')
      expect(failure.kind).toBe('wrong-block')
    }
  })

  it('that is missing, cut or twisted is refused', async () => {
    const twists: ((output: string) => string)[] = [
      output => output.slice(0, -64),
      output => `${output}${'0'.repeat(64)}`,
      output => output.slice(0, -1),
      output => output.replace(right.number, right.number.slice(0, 62)),
      output => `0x${'z'.repeat(output.length - 2)}`,
      () => 'nothing',
    ]
    for (const twist of twists) {
      const failure = await failureOf(readAt(altered({}, twist), blockOf(500n), calls(2), patient, new ReadMemory(1)))
      expect(failure.reason).toMatch(/^answered the reads with something/)
    }
  })

  it('of a chain whose contracts see another chain’s number is the timestamp', async () => {
    const sees = (header: SeenHeader): SeenHeader => ({
      ...header,
      number: 19_000_000n,
      parentHash: `0x${'7'.repeat(64)}`,
    })
    for (const id of [42161, 42170, 421614]) {
      const { endpoint, memory } = {
        endpoint: countedEndpoint(archiveAnswers(chain, { sees })),
        memory: new ReadMemory(id),
      }
      for (const number of [500n, 800n]) {
        expect((await read(endpoint, memory, number, calls(3))).answers).toEqual(expected(calls(3), number))
      }
      expect((await read(endpoint, memory, 800n, calls(3))).ethCalls).toBe(1)
    }
    const liar = altered({ sees }, output => output.replace(right.timestamp, wrong.timestamp))
    const failure = await failureOf(readAt(liar, blockOf(500n), calls(2), patient, new ReadMemory(42161)))
    expect(failure.reason).toContain('read at timestamp')
  })

  it('of another branch is refused, though number and timestamp are the same', async () => {
    const parentHash: Hex = `0x${'b'.repeat(64)}`
    const traits = { takesHashes: false, sees: (header: SeenHeader) => ({ ...header, parentHash }) }
    const endpoint = countedEndpoint(archiveAnswers(chain, traits))
    const failure = await failureOf(readAt(endpoint, blockOf(500n), calls(2), patient, new ReadMemory(1)))
    expect(failure.reason).toContain('read on another branch')
    expect(failure.kind).toBe('wrong-block')
  })
})

describe('a chain whose calls do not see their block as its header is', () => {
  const parentHash: Hex = `0x${'7'.repeat(64)}`
  type Sees = (header: SeenHeader) => SeenHeader
  const later: Sees = header => ({ ...header, timestampSeconds: header.timestampSeconds + 7 })
  const contexts: readonly [string, Sees, string][] = [
    ['the time of another block', later, 'another timestamp (+7 s) than'],
    ['the time of now', header => ({ ...header, timestampSeconds: 1_800_000_000 }), 'another timestamp than'],
    ['the next number', header => ({ ...header, number: header.number + 1n }), 'another number (+1) than'],
    ['another chain’s number', header => ({ ...header, number: header.number / 7n }), 'another number than'],
    ['hashes of its own', header => ({ ...header, parentHash }), 'another parent hash than'],
    ['both', header => ({ ...later(header), parentHash }), 'another timestamp (+7 s), parent hash than'],
  ]

  /** A reader of endpoints that see their blocks in these ways, with what it says of the chain. */
  async function reading(all: readonly (Sees | undefined)[], traits: ArchiveTraits = {}) {
    const said: string[] = []
    const servers = await Promise.all(all.map(sees => node(archive(chain, { ...traits, ...(sees && { sees }) }))))
    const urls = servers.map(({ url }) => url)
    const reader = openChain(urls, { contextFound: words => void said.push(words) })
    const readHour = async (count: number) => {
      return (await reader.read(hourAfter(firstHour, count), calls(2), patient)).value
    }
    return { said, servers, reader, readHour }
  }

  it.each(contexts)('is read by hash, and that is said once: %s', async (_, sees, words) => {
    for (const traits of [{}, { multicallFrom: 99_999n }]) {
      for (const endpoints of [[sees], [sees, sees]]) {
        const { said, readHour } = await reading(endpoints, traits)
        for (const count of [0, 1, 2]) {
          expect(await readHour(count)).toEqual(expected(calls(2), 233n + 300n * BigInt(count)))
        }
        expect(said).toEqual([expect.stringContaining(words)])
      }
    }
  })

  it('costs one call an hour in the end', async () => {
    const { servers, readHour } = await reading([later])
    const asked = () =>
      servers.flatMap(({ requests }) => requests.flat()).filter(method => method === 'eth_call').length
    await readHour(0)
    const before = asked()
    await readHour(1)
    expect(asked() - before).toBe(1)
  })

  it('gives way to an endpoint whose calls see it as it is', async () => {
    const { said, servers, readHour } = await reading([later, undefined])
    for (const count of [0, 1, 2]) {
      expect(await readHour(count)).toEqual(expected(calls(2), 233n + 300n * BigInt(count)))
    }
    expect(said).toEqual([])
    // The first is asked once, and rests.
    expect(servers[0]?.requests.flat().filter(method => method === 'eth_call').length).toBeLessThan(10)
  })

  it('until all endpoints have shown it, is not read, and the fault says which contract helps', async () => {
    const { reader, readHour } = await reading([later, header => ({ ...later(later(header)) })])
    const fault = await faultOf(readHour(0))
    expect(fault.message).toMatch(/127\.0\.0\.1:\d+ read at timestamp .* 127\.0\.0\.1:\d+ read at timestamp/)
    expect(fault.fix).toContain('multicall')
    expect(reader.health()).toMatchObject([{ state: 'resting' }, { state: 'resting' }])
  })

  it('is read where the other endpoint cannot be reached, and that one is believed when it can', async () => {
    let isDown = true
    const [odd, plain] = [archive(chain, { sees: later }), archive(chain)]
    const first = await node((...request) => (isDown ? odd(...request) : void request[1].writeHead(502).end()))
    const second = await node((...request) => (isDown ? void request[1].writeHead(502).end() : plain(...request)))
    const reader = openChain([first.url, second.url])
    const readHour = (count: number) => reader.read(hourAfter(firstHour, count), calls(2), patient)
    await faultOf(readHour(0))
    expect((await readHour(0)).value).toEqual(expected(calls(2), 233n))
    isDown = false
    expect((await readHour(1)).value).toEqual(expected(calls(2), 533n))
    expect((await readHour(2)).value).toEqual(expected(calls(2), 833n))
  })
})

describe('pinning', () => {
  it('by number has the block’s header next to it, whose hash must match', async () => {
    const { endpoint, memory } = archived({ takesHashes: false })
    expect((await read(endpoint, memory, 500n, calls(3))).ethCalls).toBe(1 + 3 + 1)
    expect((await read(endpoint, memory, 800n, calls(3))).ethCalls).toBe(1)
    expect(endpoint.calls.slice(-2).map(({ method }) => method)).toEqual(['eth_getBlockByNumber', 'eth_call'])
  })

  it.each([
    ['by hash', {}],
    ['by number', { takesHashes: false }],
    ['one by one', { multicallFrom: 90_000n }],
  ])('after a reorg of two blocks with the same timestamps nothing is read (%s)', async (_, traits: ArchiveTraits) => {
    let current: Answers = archiveAnswers(chain, traits)
    const endpoint = countedEndpoint((method, params) => current(method, params))
    const memory = new ReadMemory(1)
    await readAt(endpoint, blockOf(500n), calls(3), patient, memory)
    current = archiveAnswers(
      scriptedChain(100_000, number => genesisSeconds + 12 * number, { fork: 499 }),
      traits,
    )
    await failureOf(readAt(endpoint, blockOf(500n), calls(3), patient, memory))
    expect(await readAt(endpoint, blockOf(498n), calls(3), patient, memory)).toEqual(expected(calls(3), 498n))
  })
})

describe('what is too much', () => {
  it('in gas is halved, both halves in one turn', async () => {
    const { endpoint, memory } = archived({ aggregateCallsMax: 30 })
    const requests = calls(100)
    expect(await read(endpoint, memory, 500n, requests)).toEqual({ answers: expected(requests, 500n), ethCalls: 7 })
    expect(endpoint.turns).toBe(3)
  })

  it('in size is halved, whether the node or its proxy says so', async () => {
    const refusals: (() => never)[] = [
      () => {
        throw new EndpointFailure('node.test', 'answered HTTP 413', 'too-much')
      },
      () => {
        throw new NodeError(-32000, 'request entity too large')
      },
    ]
    for (const refuse of refusals) {
      const honest = archiveAnswers(chain)
      const endpoint = countedEndpoint((method, params) => {
        return method === 'eth_call' && JSON.stringify(params).length > 10_000 ? refuse() : honest(method, params)
      })
      const { answers, ethCalls } = await read(endpoint, new ReadMemory(1), 500n, calls(40))
      expect(answers).toEqual(expected(calls(40), 500n))
      expect(ethCalls).toBe(3)
    }
  })

  it('is nothing else: an error of the node at any call fails the reads after a few calls', async () => {
    for (const message of ['missing trie node 5f0a', 'internal error', 'too many requests, slow down']) {
      const honest = archiveAnswers(chain)
      let isDead = false
      const endpoint = countedEndpoint((method, params) => {
        if (method === 'eth_call' && isDead) throw new NodeError(-32000, message)
        return honest(method, params)
      })
      const memory = new ReadMemory(1)
      await read(endpoint, memory, 500n, calls(100))
      isDead = true
      const failure = await failureOf(readAt(endpoint, blockOf(800n), calls(100), patient, memory))
      expect(failure.reason).toContain(message)
      // Besides: the question whether the endpoint takes hashes at all.
      expect(endpoint.count('eth_call')).toBeLessThanOrEqual(2 + 3 + 2)
    }
  })
})

describe('where Multicall3 is missing', () => {
  it('no aggregate is tried again for that block or any before', async () => {
    const { endpoint, memory } = archived({ multicallFrom: 1_000n })
    // Once: which code the endpoint runs.
    expect((await read(endpoint, memory, 800n, calls(3))).ethCalls).toBe(1 + 2 + 3)
    for (const number of [800n, 799n, 1n]) {
      expect(await read(endpoint, memory, number, calls(3))).toEqual({
        answers: expected(calls(3), number),
        ethCalls: 3,
      })
    }
    expect((await read(endpoint, memory, 801n, calls(3))).ethCalls).toBe(1 + 3)
    expect((await read(endpoint, memory, 1_000n, calls(3))).ethCalls).toBe(1)
    expect((await read(endpoint, memory, 999n, calls(3))).ethCalls).toBe(1 + 3)
    expect((await read(endpoint, memory, 998n, calls(3))).ethCalls).toBe(3)
  })

  it.each([
    ['hash', 0],
    ['number', 3],
  ] as const)('reads are single calls in batches of the same turn (by %s: %i headers)', async (pin, headers) => {
    const { endpoint, memory } = archived({ multicallFrom: 1_000n, takesHashes: pin === 'hash' })
    memory.sawAbsent(500n)
    await read(endpoint, memory, 499n, calls(1))
    const [turns, before] = [endpoint.turns, endpoint.count('eth_getBlockByNumber')]
    const requests: JoinableRead[] = [...calls(119), { kind: 'balance', address: `0x${'0'.repeat(38)}99` }]
    expect((await read(endpoint, memory, 500n, requests)).answers).toEqual(expected(requests, 500n))
    expect(endpoint.turns - turns).toBe(1)
    expect(endpoint.count('eth_getBlockByNumber') - before).toBe(headers)
  })

  it('an empty answer is not believed where there is code, nor where Multicall3 answered before', async () => {
    const honest = archiveAnswers(chain)
    let isOdd = true
    const endpoint = countedEndpoint((method, params) => {
      const isAggregate = JSON.stringify(params).includes(`"to":"${multicall3Address}"`) && method === 'eth_call'
      return isAggregate && isOdd ? '0x' : honest(method, params)
    })
    const memory = new ReadMemory(1)
    expect((await failureOf(readAt(endpoint, blockOf(500n), calls(3), patient, memory))).reason).toContain('nothing')
    isOdd = false
    expect((await read(endpoint, memory, 500n, calls(3))).ethCalls).toBe(1)
    isOdd = true
    expect((await failureOf(readAt(endpoint, blockOf(800n), calls(3), patient, memory))).reason).toContain('nothing')
    const asked = endpoint.calls.length
    expect((await failureOf(readAt(endpoint, blockOf(900n), calls(3), patient, memory))).reason).toContain('nothing')
    // The last four ask whether the state is there.
    expect(endpoint.calls).toHaveLength(asked + 3 + 4)
  })
})
