import { describe, expect, it } from 'vitest'
import type { EndpointDeps } from '../../../src/chain/endpoint/endpoint.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { archive, archiveAnswers } from '../support/archive.ts'
import { answering, type Behaviour, json, NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const hour = hourAfter(firstHour, 1)
/** As-of blocks of the two hours: the 300 blocks between have the logs. */
const [before, asOf] = [233n, 533n]
const contract = `0x${'c0'.repeat(20)}` as const
const filter = { address: contract, topics: [] }
const hex = (number: bigint) => `0x${number.toString(16)}`

/** The logs of the hour, and how many blocks each of the requests asked for. */
async function read(behaviour: Behaviour, limits: Partial<EndpointDeps> = {}) {
  const spans: number[] = []
  const server = await node((calls, response, body) => {
    for (const { method, params } of calls) {
      const [range] = params as [Record<string, string>]
      if (method === 'eth_getLogs' && range['fromBlock'] !== 'latest')
        spans.push(Number(BigInt(range['toBlock'] ?? 0) - BigInt(range['fromBlock'] ?? 0)) + 1)
    }
    return behaviour(calls, response, body)
  })
  const reader = openChain([], { endpoints: [{ url: server.url, ...limits }] })
  const again = async () => {
    spans.length = 0
    const { value } = await reader.logs(hour, filter, patient)
    return [...value].map(({ blockNumber }) => blockNumber)
  }
  return { server, reader, spans, again }
}

const all = Array.from({ length: Number(asOf - before) }, (_, index) => before + 1n + BigInt(index))

/** Refusals of nodes and providers of a range of more than `max` blocks: code, words, and data where the words are there. */
const words: readonly (readonly [
  by: string,
  code: number,
  message: string | ((from: bigint, max: bigint) => string),
  data?: string,
])[] = [
  [
    'Alchemy',
    -32600,
    (from, max) =>
      `You can make eth_getLogs requests with up to a ${max} block range. Based on your parameters, this block range should work: [${hex(from)}, ${hex(from + max - 1n)}]`,
  ],
  [
    'Alchemy, free',
    -32600,
    (from, max) =>
      `Under the Free tier plan, you can make eth_getLogs requests with up to a ${max} block range. Based on your parameters, this block range should work: [${hex(from)}, ${hex(from + max - 1n)}]. Upgrade to PAYG for expanded block range.`,
  ],
  [
    'Alchemy, size',
    -32602,
    (from, max) =>
      `Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [${hex(from)}, ${hex(from + max - 1n)}]`,
  ],
  [
    'Infura, results',
    -32005,
    (from, max) =>
      `query returned more than 10000 results. Try with this block range [${hex(from)}, ${hex(from + max - 1n)}].`,
  ],
  ['Infura, range', -32602, (_, max) => `range 300 exceeds limit of ${max}`],
  ['Infura, time', -32005, 'query timeout exceeded'],
  ['QuickNode', -32614, (_, max) => `eth_getLogs is limited to a ${max} range`],
  ['QuickNode, trial', -32615, (_, max) => `eth_getLogs is limited to a ${max} block range on the discover plan`],
  ['Ankr', -32600, 'block range is too wide'],
  ['Ankr, size', -32602, 'query exceeds max block range'],
  ['dRPC', 35, 'ranges over 10000 blocks are not supported on freetier'],
  ['dRPC, time', 30, 'Request timeout on the free tier, please upgrade your tier to the paid one'],
  ['1RPC', -32602, (_, max) => `eth_getLogs is limited to 0 - ${max} blocks range`],
  ['1RPC, size', -32603, 'eth_getLogs response size should not greater than 2097152 bytes'],
  ['Tenderly', -32602, 'invalid params', 'range 300 is bigger than range limit 50'],
  ['Candle', -32600, 'block range too high'],
  ['BSC', -32005, 'limit exceeded'],
  ['BSC, range', -32000, (_, max) => `exceed maximum block range: ${max}`],
  [
    'Chainstack',
    -32602,
    'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
  ],
  ['Blast', -32603, 'block range is too large, max is 5k'],
  ['BlastAPI', -32600, 'Please limit the query to at most 50 blocks'],
  ['Polygon', -32005, 'eth_getLogs block range too large, range: 300, max: 50'],
  ['Polygon, bor', -32603, 'block range is too wide'],
  [
    'zkSync',
    -32602,
    (from, max) =>
      `Query returned more than 10000 results. Try with this block range [${hex(from)}, ${hex(from + max - 1n)}].`,
  ],
  [
    'Nethermind',
    -32602,
    'invalid params',
    'Query returned more than 50000 results. Try with this block range [0x1000000, 0x1080000].',
  ],
  ['Besu', -32602, 'Requested range exceeds maximum range limit'],
  ['Erigon', -32000, 'query block range exceeds server limit: 300 > 50'],
  ['reth', -32602, (from, max) => `query exceeds max results 20000, retry with the range ${from}-${from + max - 1n}`],
  ['reth, range', -32602, (_, max) => `query exceeds max block range ${max}`],
  ['geth', -32602, 'exceed max block range limit'],
  ['geth, time', -32002, 'request timed out'],
  ['geth, size', -32003, 'response too large'],
  ['Arbitrum', -32000, 'logs matched by query exceeds limit of 10000'],
  [
    'Avalanche',
    -32000,
    (from, max) => `requested too many blocks from ${from} to ${from + 299n}, maximum is set to ${max}`,
  ],
  ['Cronos', -32000, (_, max) => `maximum [from, to] blocks distance: ${max}`],
  [
    'Ronin',
    -32602,
    'Invalid params',
    'requested block range 300 exceeds the limit of 50; narrow your fromBlock/toBlock',
  ],
  [
    'Morph',
    -32000,
    (_, max) => `block range is larger than max block range, block range = 300, max block range = ${max}`,
  ],
  ['Scroll', -32000, 'block range is bigger than maxBlockRange'],
  ['Polygon zkEVM', -32000, (_, max) => `block range too large, max range: ${max}`],
  ['Pulse', -32000, 'query returned more than allowed number of logs, try with smaller block range'],
  ['Cloudflare', -32047, 'Invalid eth_getLogs request. `fromBlock`-`toBlock` range too large. Max range: 50'],
  ['Thirdweb', -32005, 'Maximum allowed number of requested blocks is 50'],
  ['publicnode', -32701, 'exceed maximum block range: 50000'],
  ['LlamaNodes', -32000, 'range too large, max is 50'],
  ['Moonbeam', -32603, 'block range is too wide (maximum 50)'],
  ['Filecoin', 1, 'invalid epoch range: too large'],
  ['a proxy', -32603, 'Internal error'],
  ['a proxy without words', -32000, ''],
  ['one that names a revert', 3, 'execution reverted'],
  ['one that names a rate of its own', -32005, 'daily request count of blocks exceeded for this range'],
]

describe('a range of blocks that a node refuses is asked for in smaller ones, whatever its words:', () => {
  it.each(words.map(row => ({ row, by: row[0] })))('$by', async ({ row: [, code, message, data] }) => {
    const max = 50n
    const refusal = (from: bigint) => {
      return new NodeError(code, typeof message === 'string' ? message : message(from, max), data)
    }
    const { again } = await read(archive(chain, { logBlocksMax: max, logRefusal: refusal }))
    expect(await again()).toEqual(all)
  })

  const honest = archive(chain)
  const isLong = ([range]: readonly unknown[]) => {
    const { fromBlock, toBlock } = range as Record<string, string>
    return fromBlock !== 'latest' && BigInt(toBlock ?? 0) - BigInt(fromBlock ?? 0) >= 50n
  }

  it.each([400, 403, 413, 414, 422, 500, 502, 503, 504])('HTTP %i', async status => {
    const { again, reader } = await read((calls, response, body) => {
      const isRefused = calls.some(({ method, params }) => method === 'eth_getLogs' && isLong(params))
      if (!isRefused) return honest(calls, response, body)
      response.writeHead(status, { 'content-type': 'text/html' })
      response.end('<html>no</html>')
    })
    expect(await again()).toEqual(all)
    // The refusal was of the range: other calls still travel together, and are asked of this node.
    expect(reader.health()).toMatchObject([{ state: 'well', batchCallsMax: 1_000 }])
  })

  it('a connection that ends', async () => {
    const { again } = await read((calls, response, body) => {
      if (!calls.some(({ method, params }) => method === 'eth_getLogs' && isLong(params)))
        return honest(calls, response, body)
      response.destroy()
    })
    expect(await again()).toEqual(all)
  })

  it('a batch that must not hold logs', async () => {
    const { again, server } = await read((calls, response, body) => {
      const isRefused = calls.length > 1 && calls.some(({ method }) => method === 'eth_getLogs')
      if (!isRefused) return archive(chain, { logBlocksMax: 50n })(calls, response, body)
      json(response, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } })
    })
    expect(await again()).toEqual(all)
    const requests = server.requests.length
    expect(await again()).toEqual(all)
    const ofLogs = server.requests.slice(requests).filter(methods => methods.includes('eth_getLogs'))
    expect(ofLogs.filter(methods => methods.length > 1)).toEqual([])
  })

  it('an answer of nothing', async () => {
    const { again } = await read(
      answering((method, params) =>
        method === 'eth_getLogs' && isLong(params) ? null : archiveAnswers(chain)(method, params),
      ),
    )
    expect(await again()).toEqual(all)
  })
})

describe('a range that a node suggests', () => {
  it('is tried at once', async () => {
    const refusal = (from: bigint) =>
      new NodeError(-32600, `this block range should work: [${hex(from)}, ${hex(from + 36n)}]`)
    const { again, spans } = await read(archive(chain, { logBlocksMax: 37n, logRefusal: refusal }))
    expect(await again()).toEqual(all)
    expect(spans.slice(0, 2)).toEqual([300, 37])
  })

  it.each([
    'up to a 200 block range',
    'limit of 200',
    'max range: 200',
    'try again with 0 - 200 blocks',
    'range [0x0, 0xc8] works',
  ])('is only a hint: %s', async message => {
    const { again } = await read(
      archive(chain, { logBlocksMax: 20n, logRefusal: () => new NodeError(-32600, message) }),
    )
    expect(await again()).toEqual(all)
  })
})

describe('the number of blocks that passes', () => {
  it('is remembered', async () => {
    const { again, spans } = await read(archive(chain, { logBlocksMax: 100n }))
    await again()
    expect(spans).toContain(300)
    expect(await again()).toEqual(all)
    expect(spans).toEqual([100, 100, 100])
  })

  it('is tried to rise once a day, and a limit that is gone is', async () => {
    let logBlocksMax = 100n
    const { again, spans } = await read((...request) => archive(chain, { logBlocksMax })(...request))
    await again()
    logBlocksMax = 10_000n
    for (let reading = 0; reading < 26; reading++) expect(await again()).toEqual(all)
    expect(spans).toEqual([300])
  })

  it('of a node that does not let it rise is tried once a day', async () => {
    const { again, spans } = await read(archive(chain, { logBlocksMax: 100n }))
    const tries: number[] = []
    for (let reading = 0; reading < 40; reading++) {
      expect(await again()).toEqual(all)
      if (spans.some(blocks => blocks > 100)) tries.push(reading)
    }
    expect(tries).toEqual([0, 24])
  })

  it('may be configured, and is never exceeded then', async () => {
    const { again, spans } = await read(archive(chain), { logBlocksMax: 40 })
    expect(await again()).toEqual(all)
    expect(Math.max(...spans)).toBe(40)
  })

  it('is each filter’s own where a contract has more logs than pass', async () => {
    const most = 1_000
    const logsIn = (number: bigint) => (number === 400n ? 990 : 1)
    const { again, reader, spans } = await read(
      answering((method, params) => {
        const answer = archiveAnswers(chain, { logsIn })(method, params)
        if (Array.isArray(answer) && answer.length > most)
          throw new NodeError(-32005, `query returned more than ${most} results`)
        return answer
      }),
    )
    expect(await again()).toHaveLength(299 + 990)
    spans.length = 0
    const other = { address: contract, topics: [`0x${'99'.repeat(32)}`] } as const
    await reader.logs(hour, other, patient)
    expect(spans.length).toBeLessThanOrEqual(3)
  })
})

describe('a single block', () => {
  it('whose logs are refused fails alone, in a clear sentence', async () => {
    const { reader, server } = await read(
      answering((method, params) => {
        const [{ fromBlock, toBlock } = {}] = params as [Record<string, string>?]
        if (method !== 'eth_getLogs' || fromBlock === 'latest') return archiveAnswers(chain)(method, params)
        if (BigInt(fromBlock ?? 0) <= 400n && BigInt(toBlock ?? 0) >= 400n)
          throw new NodeError(-32005, 'query returned more than 10000 results')
        return archiveAnswers(chain)(method, params)
      }),
    )
    const fault = await faultOf(reader.logs(hour, filter, patient))
    expect(fault.message).toContain(
      'query returned more than 10000 results (-32005), when asked for the logs of block 400 alone',
    )
    expect(fault.fix).toMatch(/raise the limits of the node/)
    // The rest of the hour is not slowed down by that: nothing rests, and other logs pass at once.
    expect(reader.health()[0]?.state).toBe('well')
    expect(server.requests.length).toBeLessThan(40)
  })

  it('is not believed to be the limit where a node refuses everything for a while', async () => {
    let isOut = true
    const { reader, again, spans } = await read(
      answering((method, params) => {
        if (isOut && method === 'eth_getLogs') throw new NodeError(-32000, 'out of order')
        return archiveAnswers(chain)(method, params)
      }),
    )
    expect((await faultOf(reader.logs(hour, filter, patient))).message).toContain(
      'serves no logs, not even of its last block',
    )
    isOut = false
    expect(await again()).toEqual(all)
    expect(spans).toEqual([300])
  })
})

it('one block whose logs are refused, though others pass, is read from its receipts', async () => {
  const traits = { logsIn: (number: bigint) => (number === 300n ? 3 : 1) }
  const answers = archiveAnswers(chain, traits)
  const fat = answering((method, params) => {
    if (method === 'eth_getBlockReceipts') {
      const [number] = params
      const logs = answers('eth_getLogs', [{ ...filter, fromBlock: number, toBlock: number }])
      return [{ blockHash: chain.header(BigInt(String(number)))?.hash, logs }]
    }
    if (method !== 'eth_getLogs') return answers(method, params)
    const [{ fromBlock, toBlock }] = params as [Record<'fromBlock' | 'toBlock', string>]
    const isFat = fromBlock !== 'latest' && BigInt(fromBlock) <= 300n && BigInt(toBlock) >= 300n
    if (isFat) throw new NodeError(-32005, 'query returned more than 10000 results')
    return answers(method, params)
  })
  const { again } = await read(fat)
  expect(await again()).toEqual(all.flatMap(number => (number === 300n ? [number, number, number] : [number])))
})

describe('a filter of more addresses than a node takes', () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, index) => `0x${index.toString(16).padStart(40, '0')}` as const)

  /** Refuses as geth and Erigon do; the log of a block is that of the filter's first address. */
  async function limited() {
    const asked: number[] = []
    const answers = archiveAnswers(chain)
    const server = await node(
      answering((method, params) => {
        if (method !== 'eth_getLogs') return answers(method, params)
        const [{ address }] = params as [{ readonly address: readonly string[] }]
        asked.push(address.length)
        if (address.length > 1_000) throw new NodeError(-32602, 'exceed max addresses or topics per search position')
        const logs = answers(method, params) as { readonly logIndex: string }[]
        // Each address has a place of its own in the block, the later ones before the first.
        return logs.map(log => ({ ...log, logIndex: hex(5_000n - BigInt(address[0] ?? 0)) }))
      }),
    )
    return { server, reader: openChain([], { endpoints: [{ url: server.url }] }), asked }
  }

  it('is read in parts, whose logs are in order, and each contract is asked about once', async () => {
    const { server, reader, asked } = await limited()
    const own = { address: addresses(2_500), topics: [] }
    const { value } = await reader.logs(hour, own, patient)
    const seen = [...value]
    expect(seen.map(({ blockNumber }) => blockNumber)).toEqual(all.flatMap(number => [number, number, number]))
    expect(seen.slice(0, 3).map(({ address }) => Number(address))).toEqual([2_000, 1_000, 0])
    expect(Math.max(...asked)).toBe(1_000)
    const codes = () => server.requests.flat().filter(method => method === 'eth_getCode').length
    const before = codes()
    await reader.logs(hourAfter(hour, 1), own, patient)
    expect(codes()).toBe(before)
  })

  it('has the logs of an address once that is written twice', async () => {
    const { reader } = await limited()
    const twice = [...addresses(1_000), ...addresses(1_000)]
    const { value } = await reader.logs(hour, { address: twice, topics: [] }, patient)
    expect([...value]).toHaveLength(all.length)
  })
})
