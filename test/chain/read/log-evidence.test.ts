import { keccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { LogMemory, mayHaveLogs } from '../../../src/chain/read/log-evidence.ts'
import { hexOf } from '../../../src/chain/shapes.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { Hex } from '../../../src/model/block.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { type Answers, archiveAnswers } from '../support/archive.ts'
import { answering, type Behaviour, NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const contract = `0x${'c0'.repeat(20)}` as const
const other = `0x${'0e'.repeat(20)}` as const
const topic = `0x${'77'.repeat(32)}` as const
const filter = { address: contract, topics: [topic] }
/** Its blocks are 234 to 533. */
const hour = hourAfter(firstHour, 1)

/** A Bloom filter with the bits of some addresses and topics. */
function bloomOf(items: readonly Hex[]): Hex {
  const bits = Buffer.alloc(256)
  for (const item of items) {
    const hash = Buffer.from(keccak256(item).slice(2), 'hex')
    for (const at of [0, 2, 4]) {
      const bit = hash.readUInt16BE(at) % 2_048
      bits[255 - (bit >> 3)] = (bits[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7))
    }
  }
  return `0x${bits.toString('hex')}`
}

type Log = Record<string, unknown>

interface World {
  /** Number of logs of the contract in a block. Default: two in each. */
  readonly logsIn?: (number: bigint) => number
  /** Further items in the Bloom filter of each header. Default: none. */
  readonly noise?: readonly Hex[]
  /** First block with the contract. */
  readonly deployedAt?: bigint
}

/** An honest archive node, with Bloom filters and receipts as a real one has them: two transactions in each block. */
function honest({ logsIn = () => 2, noise = [], deployedAt = 0n }: World = {}): Answers {
  const codeOf = (address: unknown, number: bigint): Hex =>
    address === other || (address === contract && number < deployedAt) ? '0x' : '0x60'
  const archive = archiveAnswers(chain, { logsIn, codeOf })
  const hashOf = (number: bigint, index: number) => `0x${number.toString(16).padStart(63, '0')}${index}`
  const logsOf = (number: bigint) => {
    const block = { ...filter, fromBlock: hexOf(number), toBlock: hexOf(number) }
    return archive('eth_getLogs', [block]) as Log[]
  }
  const receiptsOf = (number: bigint) => {
    const blockHash = chain.header(number)?.hash
    return [0, 1].map(index => ({
      blockHash,
      transactionHash: hashOf(number, index),
      logs: logsOf(number).filter(({ logIndex }) => Number(logIndex) % 2 === index),
    }))
  }
  return (method, params) => {
    if (method === 'eth_getBlockReceipts') return receiptsOf(BigInt(String(params[0])))
    if (method === 'eth_getTransactionReceipt') {
      const [hash = ''] = params as [string]
      return receiptsOf(BigInt(hash.slice(0, -1)))[Number(hash.at(-1))]
    }
    const answer = archive(method, params)
    if (method !== 'eth_getBlockByNumber' || !answer) return answer
    const number = BigInt((answer as { number: string }).number)
    const logsBloom = bloomOf([...noise, ...(logsIn(number) > 0 ? [contract, topic] : [])])
    return { ...answer, logsBloom, transactions: [0, 1].map(index => hashOf(number, index)) }
  }
}

/** A node that answers some methods otherwise. */
function changed(
  world: World | undefined,
  by: Record<string, (answer: () => unknown, params: readonly unknown[]) => unknown>,
) {
  const own = honest(world)
  return answering((method, params) => {
    const answer = () => own(method, params)
    return by[method] ? by[method](answer, params) : answer()
  })
}

const missing = () => {
  throw new NodeError(-32601, 'the method does not exist/is not available')
}
const emptied = () => []
const noReceipts = {
  eth_getBlockReceipts: () => null,
  eth_getTransactionReceipt: () => null,
}
const oldestFirst = (logs: unknown) =>
  (logs as Log[]).toSorted((a, b) => Number(a['blockNumber']) - Number(b['blockNumber']))
const firstOf = (count: number) => (answer: () => unknown) => oldestFirst(answer()).slice(0, count)
const without = (isLeftOut: (number: bigint) => boolean) => (answer: () => unknown) =>
  (answer() as Log[]).filter(({ blockNumber }) => !isLeftOut(BigInt(String(blockNumber))))

const leftOut = /left out logs of block \d+: its receipts have \d, and \d were answered/

describe('an hour of logs that is not whole is a fault and no value, where the node', () => {
  it.each([
    ['lies', { eth_getLogs: emptied }, leftOut, 'chain-unreachable'],
    ['answers the first logs alone', { eth_getLogs: firstOf(100) }, leftOut, 'chain-unreachable'],
    ['answers half of the logs of its last block', { eth_getLogs: firstOf(599) }, leftOut, 'chain-unreachable'],
    ['leaves out some blocks', { eth_getLogs: without(number => number % 50n < 30n) }, leftOut, 'chain-unreachable'],
    [
      'lies and knows receipts by transaction',
      { eth_getLogs: emptied, eth_getBlockReceipts: missing },
      leftOut,
      'chain-unreachable',
    ],
    [
      'lies and hides all receipts',
      { eth_getLogs: emptied, eth_getBlockReceipts: missing, eth_getTransactionReceipt: missing },
      'whose header says that it has some',
      'chain-unreachable',
    ],
    ['has no receipts', { eth_getLogs: emptied, ...noReceipts }, 'has no receipts of block', 'chain-state-missing'],
    [
      'has empty receipts',
      { eth_getLogs: emptied, eth_getBlockReceipts: emptied },
      'has no receipts of block',
      'chain-state-missing',
    ],
    [
      'says that receipts are pruned',
      {
        eth_getLogs: emptied,
        eth_getBlockReceipts: () => {
          throw new NodeError(4444, 'pruned history unavailable')
        },
      },
      'has no receipts of block',
      'chain-state-missing',
    ],
    [
      'has no receipts and no such method',
      { eth_getLogs: emptied, ...noReceipts, eth_getBlockReceipts: missing },
      'has no receipts of block',
      'chain-state-missing',
    ],
    [
      'has receipts of the last half alone',
      {
        eth_getLogs: without(number => number < 400n),
        eth_getBlockReceipts: (answer: () => unknown, [at]: readonly unknown[]) => (Number(at) < 400 ? null : answer()),
      },
      'has no receipts of block',
      'chain-state-missing',
    ],
  ] as const)('%s', async (_, by, words, code) => {
    const server = await node(changed(undefined, by))
    const reader = openChain([server.url])
    const fault = await faultOf(reader.logs(hour, filter, patient))
    expect(fault.message).toMatch(words)
    expect(fault.code).toBe(code)
    if (code === 'chain-unreachable') expect(fault.fix).toContain('put a node that serves eth_getLogs, and all logs')
    expect(fault.facts['hosts']).toBe(new URL(server.url).host)
    expect(reader.health()[0]?.state).toBe(words === leftOut ? 'quarantine' : 'well')
  })

  it('has no receipts, also of a contract whose few logs lie in no block that is looked at', async () => {
    const world = { logsIn: (number: bigint) => (number === 301n ? 1 : 0), noise: [other] }
    const server = await node(changed(world, { eth_getLogs: emptied, ...noReceipts }))
    const fault = await faultOf(openChain([server.url]).logs(hour, filter, patient))
    expect(fault.code).toBe('chain-state-missing')
  })

  it('and another one is asked', async () => {
    const [first, second] = [
      await node(changed(undefined, { eth_getLogs: firstOf(7) })),
      await node(answering(honest())),
    ]
    const reader = openChain([first.url, second.url])
    expect((await reader.logs(hour, filter, patient)).value.length).toBe(600)
    expect(reader.health().map(({ state }) => state)).toEqual(['quarantine', 'well'])
  })
})

describe('a Bloom filter that says maybe by chance', () => {
  const noise = [contract, topic, other]

  it.each([
    ['with receipts', {}],
    ['without receipts by block', { eth_getBlockReceipts: missing }],
  ])('costs two receipts of blocks, and blames no healthy node: %s', async (_, by) => {
    const server = await node(changed({ logsIn: () => 0, noise }, by))
    const reader = openChain([server.url])
    await reader.logs(hour, filter, patient)
    const before = server.requests.length
    expect((await reader.logs(hourAfter(hour, 1), filter, patient)).value.length).toBe(0)
    const receipts = server.requests
      .slice(before)
      .flat()
      .filter(method => method.includes('Receipt'))
    expect(receipts.length).toBeLessThanOrEqual('eth_getBlockReceipts' in by ? 4 : 2)
    expect(reader.health()[0]?.state).toBe('well')
  })

  it.each([
    ['full, as on Filecoin', `0x${'ff'.repeat(256)}`],
    ['empty whatever the block holds', `0x${'00'.repeat(256)}`],
  ] as const)('blames no node of a chain where it is always %s', async (_, logsBloom) => {
    const ofBlock = (answer: () => unknown) => ({ ...(answer() as object), logsBloom })
    const world = { logsIn: (number: bigint) => (number % 100n === 7n ? 1 : 0) }
    const by = { eth_getBlockByNumber: ofBlock, eth_getBlockReceipts: missing, eth_getTransactionReceipt: missing }
    const server = await node(changed(world, by))
    expect((await openChain([server.url]).logs(hour, filter, patient)).value.length).toBe(3)
  })
})

describe('receipts that are refused', () => {
  const pass = answering(honest())
  const refusingWith =
    (status: number, headers: Record<string, string>): Behaviour =>
    (calls, response, body) => {
      if (!calls.some(({ method }) => method === 'eth_getBlockReceipts')) return pass(calls, response, body)
      response.writeHead(status, headers).end()
    }
  const refuse = (code: number, message: string) =>
    changed(undefined, {
      eth_getBlockReceipts: () => {
        throw new NodeError(code, message)
      },
    })

  it.each([
    ['in words of a rate', refuse(-32005, 'request rate limited')],
    ['by the code of a rate', refuse(429, 'not with this plan')],
    ['by HTTP 429', refusingWith(429, {})],
    ['by HTTP 429 and a time', refusingWith(429, { 'retry-after': '20' })],
    ['in words of no meaning', refuse(-32000, 'cannot do that')],
  ] as const)('hold up no other read of the hour, and are not waited for: %s', async (_, behaviour) => {
    // Whatever waits never ends.
    const time = { ...systemTime, sleep: () => new Promise<void>(() => {}) }
    const server = await node(behaviour)
    const reader = openChain([server.url], { time })
    const call = { kind: 'call', to: contract, input: '0x02' } as const
    for (const each of [hour, hour, hourAfter(hour, 1)]) {
      const [logs, reads] = [reader.logs(each, filter, patient), reader.read(each, [call], patient)]
      expect((await logs).value.length).toBe(600)
      expect((await reads).value).toMatchObject([{ kind: 'returned' }])
    }
    const receipts = server.requests.flat().filter(method => method === 'eth_getBlockReceipts')
    expect(receipts.length).toBeLessThanOrEqual(5)
    expect(reader.health()[0]).not.toHaveProperty('callsPerSecondMax')
  })

  it('are waited for where all else is refused, too', async () => {
    let refused = 0
    const server = await node((calls, response, body) => {
      if (refused === 0 && !calls.some(({ method }) => method === 'eth_getBlockReceipts'))
        return pass(calls, response, body)
      refused += 1
      if (refused > 3) return pass(calls, response, body)
      response.writeHead(429).end()
    })
    const reader = openChain([server.url], { time: new VirtualTime(1_700_100_000_000) })
    expect((await reader.logs(hour, filter, patient)).value.length).toBe(600)
    expect(refused).toBeGreaterThan(3)
  })
})

describe('logs that become none', () => {
  const few = (number: bigint) => (number % 300n === 1n ? 1 : 0)
  const next = hourAfter(hour, 1)
  const lengthsOf = async (reader: ReturnType<typeof openChain>, hours: readonly Hour[]) => {
    const lengths: number[] = []
    for (const each of hours) lengths.push((await reader.logs(each, filter, patient)).value.length)
    return lengths
  }

  it('are asked of another host, and the receipts of the first one decide', async () => {
    const isLeftOut = (number: bigint) => number > 533n
    const first = await node(changed({ logsIn: few }, { eth_getLogs: without(isLeftOut) }))
    const second = await node(answering(honest({ logsIn: few })))
    const reader = openChain([first.url, second.url])
    expect(await lengthsOf(reader, [hour, next])).toEqual([1, 1])
    expect(reader.health().map(({ state }) => state)).toEqual(['quarantine', 'well'])
  })

  it('are a disagreement where the receipts say none', async () => {
    const isThere = (number: bigint) => (number < 533n ? few(number) : 0)
    const [first, second] = [
      await node(answering(honest({ logsIn: isThere }))),
      await node(answering(honest({ logsIn: few }))),
    ]
    const reader = openChain([first.url, second.url])
    expect(await lengthsOf(reader, [hour])).toEqual([1])
    const fault = await faultOf(reader.logs(next, filter, patient))
    expect(fault.code).toBe('chain-disagreement')
    expect(fault.message).toBe(
      `ethereum: ${new URL(second.url).host} answers 1 logs of the hour, and ${new URL(first.url).host} none`,
    )
  })

  it('are none where the other host agrees, or has no opinion; it is asked once', async () => {
    for (const by of [{}, { eth_getLogs: missing }]) {
      const isThere = (number: bigint) => (number < 533n ? few(number) : 0)
      const first = await node(answering(honest({ logsIn: isThere })))
      const second = await node(changed({ logsIn: isThere }, by))
      const reader = openChain([first.url, second.url])
      expect(await lengthsOf(reader, [hour, next])).toEqual([1, 0])
      const asked = second.requests.length
      expect(asked).toBeGreaterThan(0)
      expect(await lengthsOf(reader, [hourAfter(next, 1)])).toEqual([0])
      expect(second.requests).toHaveLength(asked)
    }
  })
})

describe('no logs are none only of a contract that exists', () => {
  const quiet = { logsIn: () => 0 }
  const codes = (requests: readonly string[][]) => requests.flat().filter(method => method === 'eth_call').length

  it('at the hour: before its deployment it has no value', async () => {
    const server = await node(answering(honest({ ...quiet, deployedAt: 600n })))
    const reader = openChain([server.url])
    const hours = [3, 1, 2, 4].map(later => hourAfter(firstHour, later))
    const outcomes = await Promise.all(
      hours.map(each =>
        reader.logs(each, filter, patient).then(
          ({ value }) => value.length,
          fault => fault.message,
        ),
      ),
    )
    // Blocks of the hours end at 1133, 533, 833 and 1433.
    const none = `${contract} has no events: no contract there at that hour`
    expect(outcomes).toEqual([0, none, 0, 0])
    const asked = codes(server.requests)
    await reader.logs(hourAfter(firstHour, 5), filter, patient)
    expect(codes(server.requests)).toBe(asked)
  })

  it('which costs no request once it is known, as do the receipts of the time', async () => {
    const server = await node(answering(honest({ ...quiet, noise: [other] })))
    const reader = openChain([server.url])
    await reader.logs(hour, filter, patient)
    expect(server.requests.flat()).toEqual(expect.arrayContaining(['eth_call', 'eth_getBlockReceipts']))
    const next = hourAfter(hour, 1)
    await reader.block(next, patient)
    const before = server.requests.length
    expect((await reader.logs(next, filter, patient)).value.length).toBe(0)
    const header = 'eth_getBlockByNumber'
    expect(server.requests.slice(before).sort((a, b) => b.length - a.length)).toEqual([
      Array.from({ length: 8 }, () => header),
      [header, 'eth_getLogs', header],
    ])
  })

  it('each of several, whatever the others emit', async () => {
    const server = await node(answering(honest({ logsIn: number => (number === 300n ? 1 : 0) })))
    const both = { address: [contract, other], topics: [topic] }
    const fault = await faultOf(openChain([server.url]).logs(hour, both, patient))
    expect(fault).toMatchObject({ code: 'chain-call-undecodable', facts: { chain: 'ethereum', contract: other } })
    expect(fault.fix).toContain('set since: of the collector')
  })

  it('and not of a node that answers each block with its latest', async () => {
    const latest = (answer: () => unknown, params: readonly unknown[]) => {
      // It runs calls and tells code of its last block, whichever is asked for.
      Object.assign(params, { 1: 'latest' })
      return answer()
    }
    const by = { eth_call: latest, eth_getCode: latest, eth_getBalance: latest }
    const server = await node(changed({ ...quiet, deployedAt: 600n }, by))
    const fault = await faultOf(openChain([server.url]).logs(hour, filter, patient))
    expect(fault.code).toBe('chain-unreachable')
    expect(fault.message).toMatch(/read at timestamp \d+ when asked at block 533, .* whether there is a contract/)
  })

  it('also where the hour has no block', async () => {
    const still = scriptedChain(302, number => genesisSeconds + (number < 300 ? 12 * number : 36_000))
    const server = await node(answering(archiveAnswers(still, { codeOf: () => '0x' })))
    const fault = await faultOf(openChain([server.url]).logs(hourAfter(hour, 2), filter, patient))
    expect(fault.message).toContain('no contract there at that hour')
  })

  it('which a node without old state knows by what the contract emitted before', async () => {
    const noState = (answer: () => unknown, [, at]: readonly unknown[]) => {
      if (at === 'latest') return answer()
      throw new NodeError(-32000, 'missing trie node')
    }
    const answered = async (logsIn: World['logsIn']) => {
      const by = { eth_getCode: noState, eth_call: noState }
      const server = await node(changed({ ...(logsIn && { logsIn }) }, by))
      return openChain([server.url]).logs(hourAfter(hour, 1), filter, patient)
    }
    expect((await answered(number => (number === 250n ? 1 : 0))).value.length).toBe(0)
    const fault = await faultOf(answered(() => 0))
    expect(fault.code).toBe('chain-state-missing')
    expect(fault.message).toContain(`when asked whether there is a contract at ${contract}`)
  })
})

it('the Bloom filters of these tests are those of a header', () => {
  expect(mayHaveLogs(bloomOf([contract, topic]), filter)).toBe(true)
  expect(mayHaveLogs(bloomOf([other]), filter)).toBe(false)
})

it('as many contracts as the longest list has are remembered to exist', () => {
  const memory = new LogMemory()
  const addresses = Array.from({ length: 20_000 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}` as const)
  for (const address of addresses) memory.sawContract(address, 5n)
  expect(addresses.filter(address => !memory.exists(address, 6n))).toEqual([])
})
