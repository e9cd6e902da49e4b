import { createServer } from 'node:http'
import {
  type Address,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import type { ChainReader } from '../../src/chain/reads.ts'
import type { CollectorConfig } from '../../src/config/config.ts'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { EarliestMs } from '../../src/model/clock.ts'
import { type Hour, hourAfter, hourText } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import type { ListKeeper } from '../../src/model/list-memory.ts'
import { ProcessRunner, type RunnerDeps } from '../../src/runner/daemon/process-runner.ts'
import { tinyContract } from '../cli/commands/tiny-contract.ts'
import { configured } from '../runner/setup.ts'
import { startSource } from '../runner/source.ts'
import { uniswapContract } from '../support/contracts.ts'
import { KeptLists } from '../support/kept-lists.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { publishedContract } from '../support/published.ts'
import { chainOf } from '../support/reads.ts'

const mintable = () =>
  publishedContract('@aave/core-v3/artifacts/contracts/mocks/tokens/MintableERC20.sol/MintableERC20.json')

let chain: ProtocolChain
let factory: Deployed
let registry: Deployed
let reader: OpenChainReader
const tokens: Deployed[] = []
const hours: Hour[] = []
/** Pairs in the order of their birth: one in each of the first three hours, two in the fourth. */
const pairs: Address[] = []

async function createPair(one: number, other: number): Promise<void> {
  const [a, b] = [tokens[one], tokens[other]]
  if (!a || !b) throw new Error('there are not so many tokens')
  await chain.send(factory, 'createPair', [a.address, b.address])
  const pair = await chain.read<Address>(factory, 'getPair', [a.address, b.address])
  pairs.push(pair)
  for (const token of [a, b]) {
    await chain.send(token, 'mint', [10n ** 18n * BigInt(pairs.length)])
    await chain.send(token, 'transfer', [pair, 10n ** 18n * BigInt(pairs.length)])
  }
}

beforeAll(async () => {
  chain = await ProtocolChain.start()
  factory = await chain.deploy(uniswapContract('UniswapV2Factory'), [chain.owner])
  for (const name of ['A', 'B', 'C', 'D']) tokens.push(await chain.deploy(mintable(), [name, name, 18]))
  for (const [one, other] of [
    [0, 1],
    [0, 2],
    [1, 2],
  ] as const) {
    await createPair(one, other)
    hours.push(await chain.nextHour())
  }
  await createPair(0, 3)
  await createPair(1, 3)
  hours.push(await chain.nextHour())
  const [one, two] = [tokens[0]?.address ?? '0x', tokens[1]?.address ?? '0x']
  const rows = encodeAbiParameters(parseAbiParameters('(address token, uint256 weight)[], uint256'), [
    [
      { token: two, weight: 1n },
      { token: one, weight: 2n },
    ],
    7n,
  ])
  registry = await chain.deploy(tinyContract({ 'all()': rows }, 'reverts'))
  hours.push(await chain.nextHour())
  // The chain has a block past the last hour.
  await chain.nextHour()
  reader = chain.reader('dev')
})
afterAll(async () => {
  reader?.close()
  await chain?.stop()
})

function listed(name: string, options: Record<string, unknown>): Record<string, CollectorConfig> {
  return { [name]: configured('list', { id: `list ${name}`, options: { chain: 'dev', ...options } }) }
}

const ofFactory = () =>
  listed('pairs', {
    address: factory.address,
    length: 'allPairsLength() view returns (uint256)',
    item: 'allPairs(uint256) view returns (address)',
  })

const ofEvents = (since = hours[0]) =>
  listed('pairs', {
    address: factory.address,
    event: 'PairCreated(address indexed token0, address indexed token1, address pair, uint256)',
    take: 'pair',
    since: hourText(since as Hour),
  })

const growing = () =>
  Object.fromEntries(
    Object.entries(ofFactory()).map(([name, { options, ...list }]) => [
      name,
      { ...list, options: { ...Object(options), grows: true } },
    ]),
  )

const Token0 = { call: 'token0() view returns (address)', private: true }
const values = {
  Token0,
  In0: {
    call: 'balanceOf(address) view returns (uint256)',
    address: 'Token0',
    args: ['item'],
    decimals: true,
    private: true,
  },
  TVL: { total: 'In0' },
  Mean: { mean: 'In0' },
  Most: { highest: 'In0' },
  Least: { lowest: 'In0' },
  Pools: { count: true },
}

const configPlace = () => ({ file: '/tidegauge.yaml', line: 1, column: 1 })

function runnerOn(
  lists: Record<string, CollectorConfig>,
  listKeeper?: ListKeeper,
  dev: ChainReader = reader,
  more: Partial<RunnerDeps> = {},
) {
  const lines: { message: string; facts: Readonly<Record<string, unknown>> }[] = []
  const runner = new ProcessRunner({
    chains: { dev },
    deadlineMs: 60_000,
    time: systemTime,
    earliestMs: () => (more.time ?? systemTime).nowMs() as EarliestMs,
    lists,
    listKeeper,
    log: (_collector, _level, message, facts) => void lines.push({ message, facts }),
    ...more,
  })
  return { runner, lines }
}

const overPairs = (own: Record<string, unknown> = values) =>
  configured('contract-read', { options: { chain: 'dev', each: 'pairs', values: own } })

/** One, two, three and five pairs; the nth has n of each token. */
const expected = [
  { TVL: 1, Mean: 1, Most: 1, Least: 1, Pools: 1 },
  { TVL: 3, Mean: 1.5, Most: 2, Least: 1, Pools: 2 },
  { TVL: 6, Mean: 2, Most: 3, Least: 1, Pools: 3 },
  { TVL: 15, Mean: 3, Most: 5, Least: 1, Pools: 5 },
  { TVL: 15, Mean: 3, Most: 5, Least: 1, Pools: 5 },
]

const orders = [
  [0, 1, 2, 3, 4],
  [4, 3, 2, 1, 0],
  [2, 0, 3, 1, 4],
] as const

describe('a list', () => {
  it.for([
    ['of a factory', ofFactory],
    ['of events', ofEvents],
    ['of a factory that only adds', growing],
  ] as const)('%s has a pool from the hour of its birth on, in whichever order hours are read', async ([, list]) => {
    for (const order of orders) {
      const { runner } = runnerOn(list())
      for (const place of order) {
        const { readings, failures } = await runner.collect(overPairs(), hours[place] as Hour)
        expect(failures).toEqual({})
        expect(readings, `hour ${place} of ${order}`).toEqual(expected[place])
      }
      await runner.stop()
    }
  })

  it('costs the steps of its values alone once it is known', async () => {
    const fresh = chain.reader('dev')
    onTestFinished(() => fresh.close())
    const { runner } = runnerOn(ofFactory(), undefined, fresh)
    const cost = (place: number) => chain.ethCalls(() => runner.collect(overPairs(), hours[place] as Hour))
    // The length, the new items, and two steps of their values.
    expect([await cost(2), await cost(3)]).toEqual([4, 4])
    // No new ones; and an earlier hour, which has fewer.
    expect([await cost(4), await cost(1)]).toEqual([2, 2])
    await runner.stop()
  })

  it('may keep its process busy for long, as many hours of many items do', async () => {
    const slept: number[] = []
    const sleep = (ms: number, signal?: AbortSignal) => systemTime.sleep(slept.push(ms) && ms, signal)
    const [pingEveryMs, time] = [777, { ...systemTime, sleep }]
    const { runner } = runnerOn(ofFactory(), undefined, reader, { time, limits: { pingEveryMs } })
    await runner.collect(overPairs(), hours[3] as Hour)
    // A process that does not answer pings is ended.
    expect(slept).not.toContain(pingEveryMs)
    await runner.stop()
  })

  it('is not read again from its beginning after a restart', async () => {
    const kept = new KeptLists()
    const before = runnerOn(ofEvents(), kept)
    await before.runner.collect(overPairs(), hours[2] as Hour)
    await before.runner.stop()
    expect(kept.saved.at(-1)).toMatchObject({
      hour: hours[2],
      items: pairs.slice(0, 3).map(each => each.toLowerCase()),
    })
    const after = runnerOn(ofEvents(), kept)
    const { readings } = await after.runner.collect(overPairs(), hours[3] as Hour)
    expect(readings).toEqual(expected[3])
    await after.runner.stop()
  })

  it('stands in place of addresses at other collectors', async () => {
    const addresses = tokens.map(each => each.address)
    const lists = {
      ...ofFactory(),
      ...listed('tokens', { fixed: addresses }),
      ...listed('some', { fixed: addresses.slice(1) }),
    }
    const named = Object.fromEntries(tokens.map(({ address }) => [address, 'One']))
    const prices = Object.fromEntries(
      [
        priceConfig('One', [{ fixed: 1 }], configPlace),
        priceConfig('Ten', [{ fixed: 10 }], configPlace),
        tokenPriceConfig('dev', [named], configPlace),
      ].map(({ name, collector }) => [name, collector]),
    )
    const { runner } = runnerOn(lists, undefined, reader, { prices })
    const cases: readonly (readonly [string, Record<string, unknown>, Record<string, number>])[] = [
      [
        'event-sum',
        {
          address: { each: 'pairs' },
          event: 'Transfer(address indexed from, address indexed to, uint256 value)',
          count: true,
          label: 'N',
        },
        { N: 0 },
      ],
      // All pairs together have 15 of the first tokens of each, and 15 of the others.
      ['erc20-supply', { token: { each: 'tokens' }, minus: { each: 'pairs' } }, { Supply: 0 }],
      [
        'balances',
        // One that is written and on the list counts once.
        { of: { dev: { owners: [{ each: 'pairs' }, pairs[0]], assets: [{ token: tokens[3]?.address }] } } },
        { Balance: 9 },
      ],
      [
        'balances',
        {
          of: {
            dev: {
              owners: { each: 'pairs' },
              assets: [
                { token: { each: 'tokens' }, price: 'token' },
                { token: tokens[3]?.address.toUpperCase().replace('X', 'x'), price: 'Ten' },
                { token: { each: 'some' }, price: 'token', decimals: 9 },
              ],
            },
          },
        },
        // Nine of the last token at ten dollars, and 21 of the others at one.
        { Balance: 111 },
      ],
    ]
    for (const [use, options, wanted] of cases) {
      const own = use === 'balances' ? options : { chain: 'dev', ...options }
      const { readings, failures } = await runner.collect(configured(use, { options: own }), hours[4] as Hour)
      expect(failures, use).toEqual({})
      expect(readings, use).toEqual(wanted)
    }
    await runner.stop()
  })

  it('counts the side that has a price, twice, and the pairs that are meant', async () => {
    // Tokens 0 and 1 have prices, 2 and 3 none: 0/1, 0/2, 1/2, 0/3, 1/3.
    const addressOf = (place: number) => tokens[place]?.address ?? '0x'
    const named = { [addressOf(0)]: 'Two', [addressOf(1)]: 'Ten' }
    const prices = [
      priceConfig('Two', [{ fixed: 2 }], configPlace),
      priceConfig('Ten', [{ fixed: 10 }], configPlace),
      tokenPriceConfig('dev', [named], configPlace),
    ]
    const { runner } = runnerOn(ofFactory(), undefined, reader, {
      prices: Object.fromEntries(prices.map(({ name, collector }) => [name, collector])),
    })
    const side = { call: 'balanceOf(address) view returns (uint256)', args: ['item'], price: 'token', private: true }
    const { readings, failures } = await runner.collect(
      overPairs({
        Token0,
        Token1: { call: 'token1() view returns (address)', private: true },
        In0: { ...side, address: 'Token0' },
        In1: { ...side, address: 'Token1' },
        Both: { sum: ['In0', 'In1'], private: true },
        Twice: { product: ['Side', 2], private: true },
        Side: { first: ['In0', 'In1'], private: true },
        Worth: { first: ['Both', 'Twice'], private: true },
        TVL: { total: 'Worth' },
        OfZero: { total: 'Worth', where: { Token0: addressOf(0) } },
        Rich: { count: true, where: { Worth: { min: 40 } } },
        NotOne: { count: true, where: { Token1: { not: [addressOf(1).toUpperCase().replace('X', 'x')] } } },
      }),
      hours[3] as Hour,
    )
    expect(failures).toEqual({})
    const places = [
      [0, 1, 12],
      [0, 2, 8],
      [1, 2, 60],
      [0, 3, 16],
      [1, 3, 100],
    ] as const
    const born = places.map(([one, other, worth]) => {
      const [first = '', second = ''] = [addressOf(one), addressOf(other)].sort((a, b) =>
        BigInt(a) < BigInt(b) ? -1 : 1,
      )
      return { first, second, worth }
    })
    expect(readings).toEqual({
      TVL: 12 + 8 + 60 + 16 + 100,
      OfZero: born.reduce((sum, { first, worth }) => sum + (first === addressOf(0) ? worth : 0), 0),
      Rich: 2,
      NotOne: born.filter(({ second }) => second !== addressOf(1)).length,
    })
    await runner.stop()
  })

  it('leaves items without a value out, as far as atLeast says, and names them', async () => {
    const addresses = [...tokens.map(each => each.address), factory.address]
    const { runner, lines } = runnerOn(listed('pairs', { fixed: addresses }))
    const Supply = { call: 'totalSupply() view returns (uint256)', decimals: true, private: true }
    const { readings, failures } = await runner.collect(
      overPairs({
        Supply,
        Some: { mean: 'Supply', atLeast: 0.8 },
        All: { total: 'Supply' },
        Most: { total: 'Supply', atLeast: 0.81 },
        N: { count: true },
      }),
      hours[0] as Hour,
    )
    expect(readings).toEqual({ Some: 0.5, N: 5 })
    expect(failures['All']?.message).toMatch(new RegExp(`^item ${factory.address.toLowerCase()}: \\w+ reverted`))
    expect(failures['Most']?.message).toContain('1 of 5 items have no value, and atLeast is 0.81')
    expect(lines.map(({ message }) => message)).toEqual(['Some: 1 of 5 items have no value, and are left out'])
    expect(lines[0]?.facts['items']).toContain(factory.address.toLowerCase())
    await runner.stop()
  })

  it.for([
    ['no answer', 503, '{token}', { code: 'price-unread', message: expect.stringMatching(/^item /) }],
    ['a refusal of many', 404, '{tokens}', { code: 'price-unread', message: expect.stringMatching(/^item /) }],
    ['a refusal of one', 404, '{token}', undefined],
  ] as const)(
    'leaves items without a price out, and none whose price is unread: %s',
    async ([, status, place, fails]) => {
      const [unread = '', ...others] = tokens.map(each => each.address.toLowerCase())
      const answered = JSON.stringify(Object.fromEntries(others.map(each => [each, 2])))
      const source = await startSource(target => (target.endsWith(unread) ? { status } : { body: answered }))
      const asked = { url: `${source.url}/{hourSeconds}/${place}`, pointer: '/{token}' }
      const sources = [{ ...asked, ...(place === '{tokens}' && { batch: 1 }) }]
      const { name, collector } = tokenPriceConfig('dev', sources, configPlace)
      const { runner } = runnerOn(listed('pairs', { fixed: [unread, ...others] }), undefined, reader, {
        prices: { [name]: collector },
      })
      const supply = { call: 'totalSupply() view returns (uint256)', decimals: true, price: 'token', private: true }
      const values = { Worth: supply, Some: { mean: 'Worth', atLeast: 0.5 } }
      const { failures } = await runner.collect(overPairs(values), hours[4] as Hour)
      expect(failures).toEqual(fails === undefined ? {} : { Some: expect.objectContaining(fails) })
      await runner.stop()
      await source.stop()
    },
  )

  it('is as of each hour where it does not only grow', async () => {
    const abi = parseAbi([
      'function n() view returns (uint256)',
      'function at(uint256) view returns (address)',
      'function id() view returns (uint256)',
    ])
    const [a, b, c, d] = [1, 2, 3, 4].map(each => `0x${String(each).repeat(40)}` as Address) as [
      Address,
      Address,
      Address,
      Address,
    ]
    const ids = new Map([a, b, c, d].map((each, place) => [each, 10n ** BigInt(place)]))
    // Within an hour one is added and another removed, whose place it takes: neither the length nor the last tells.
    // Then one is removed, and the last takes its place; then one is removed, and another added.
    const held = [
      [a, b, c],
      [d, b, c],
      [c, b],
      [c, d],
      [c, d, a],
    ]
    const moments = held.map((_, place) => ((hours[0] as Hour) + place * 3_600_000) as Hour)
    const shrinking = chainOf({
      block: async at => ({
        number: BigInt(at),
        hash: `0x${at.toString(16).padStart(64, '0')}`,
        timestampSeconds: at / 1000,
      }),
      logs: async () => [],
      read: async (at, requests) =>
        requests.map(request => {
          if (request.kind !== 'call') throw new Error('only calls are asked for')
          const { functionName, args = [] } = decodeFunctionData({ abi, data: request.input })
          const items = held[moments.indexOf(at)] ?? []
          const result = { n: BigInt(items.length), at: items[Number(args[0])], id: ids.get(request.to as Address) }[
            functionName
          ]
          if (result === undefined) return { kind: 'reverted', output: '0x' }
          return { kind: 'returned', output: encodeFunctionResult({ abi, functionName, result } as never) }
        }),
    })
    const values = { Id: { call: 'id() view returns (uint256)', private: true }, Sum: { total: 'Id' } }
    for (const order of [
      [0, 1, 2, 3, 4],
      [4, 3, 2, 1, 0],
      [2, 4, 1, 0, 3],
    ]) {
      const { runner } = runnerOn(
        listed('pairs', {
          address: a,
          length: 'n() view returns (uint256)',
          item: 'at(uint256) view returns (address)',
        }),
        undefined,
        shrinking,
      )
      for (const place of order) {
        const { readings } = await runner.collect(overPairs(values), moments[place] as Hour)
        expect(readings, `hour ${place} of ${order}`).toEqual({ Sum: [111, 1110, 110, 1100, 1101][place] })
      }
      await runner.stop()
    }
  })

  it('is an array of tuples, or what an address answers for the hour', async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end(JSON.stringify({ data: { a: { token: tokens[2]?.address }, b: { token: tokens[0]?.address } } }))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    const array = 'all() view returns ((address token, uint256 weight)[] rows, uint256 total)'
    const url = `http://127.0.0.1:${port}/?at={hourSeconds}&block={block}`
    const supply = { call: 'totalSupply() view returns (uint256)', decimals: true, private: true }
    const values = { S: supply, T: { total: 'S' }, N: { count: true } }
    const lists = {
      ...listed('rows', { address: registry.address, array, take: 'rows.token' }),
      ...listed('web', { url, pointer: '/data/*/token' }),
    }
    const { runner } = runnerOn(lists)
    const over = (each: string) =>
      runner.collect(configured('contract-read', { options: { chain: 'dev', each, values } }), hours[4] as Hour)
    // Supplies: A 1 + 2 + 4, B 1 + 3 + 5, C 2 + 3.
    expect(await over('rows')).toMatchObject({ readings: { T: 16, N: 2 }, failures: {} })
    expect(await over('web')).toMatchObject({ readings: { T: 12, N: 2 }, failures: {} })
    const { number } = await reader.block(hours[4] as Hour, new AbortController().signal)
    expect(asked).toEqual([`/?at=${(hours[4] as Hour) / 1000}&block=${number}`])
    await runner.stop()
    server.close()
  })

  it('reads dependent calls of one contract, with the hour, its block, and an earlier hour', async () => {
    const { runner } = runnerOn({})
    const first = { call: 'allPairs(uint256) view returns (address)', args: [0], private: true }
    const own = {
      Pair: first,
      Token: { call: 'token0() view returns (address)', address: 'Pair', private: true },
      Held: {
        call: 'balanceOf(address) view returns (uint256)',
        address: 'Token',
        args: ['Pair'],
        decimals: { address: 'Token' },
      },
      Pairs: { call: 'allPairsLength() view returns (uint256)' },
      Before: { call: 'allPairsLength() view returns (uint256)', hoursBefore: 2 },
      Gained: { difference: ['Pairs', 'Before'] },
    }
    const collector = configured('contract-read', { options: { chain: 'dev', address: factory.address, values: own } })
    const { readings, failures } = await runner.collect(collector, hours[3] as Hour)
    expect(failures).toEqual({})
    expect(readings).toEqual({ Held: 1, Pairs: 5, Before: 2, Gained: 3 })
    await runner.stop()
  })

  it.for([
    ['of a factory', ofFactory],
    ['of a factory that only adds', growing],
    ['of events', ofEvents],
  ] as const)('%s has no pool of a block that a reorg replaced, nor remembers it', async ([, list]) => {
    const replace = await chain.replaceable()
    await createPair(2, 3)
    const born = pairs.pop()?.toLowerCase()
    const hour = await chain.nextHour()
    await chain.nextHour()
    const settleMs = 3 * hourMs
    let nowMs = hour + hourMs + 1
    const time = { ...systemTime, nowMs: () => nowMs }
    const dev = chain.reader('dev', { time, settleMs })
    const kept = new KeptLists()
    const { runner } = runnerOn(list(), kept, dev, { time })
    const countAt = async (at: Hour) => (await runner.collect(overPairs(), at)).readings['Pools']
    expect(await countAt(hour)).toBe(pairs.length + 1)
    if (list === ofEvents) expect(kept.saved.flatMap(({ items }) => items)).not.toContain(born)

    await replace()
    for (let mined = 0; mined < 6; mined += 1) await chain.nextHour()
    for (const later of [hour, hourAfter(hour, 1), hourAfter(hour, 2)]) {
      nowMs = later + settleMs + hourMs
      expect(await countAt(later), hourText(later)).toBe(pairs.length)
    }
    expect(kept.saved.at(-1)).toMatchObject({ items: pairs.map(each => each.toLowerCase()) })
    await runner.stop()
    dev.close()
  })

  it('is of several contracts, of the items that are meant, and without those that are left out', async () => {
    const [a, b, c, d] = tokens.map(({ address }) => address) as [Address, Address, Address, Address]
    const second = await chain.deploy(uniswapContract('UniswapV2Factory'), [chain.owner])
    await chain.send(second, 'createPair', [a, b])
    const hour = await chain.nextHour()
    await chain.nextHour()
    const rows = [
      { token: a, status: 'active' },
      { token: b, status: 'ACTIVE' },
      { token: c, status: 'active' },
      { token: 'to be announced', status: 'planned' },
    ]
    const perPage = (path: string) => {
      const skip = Number(new URL(path, 'http://localhost').searchParams.get('skip') ?? 0)
      return path.includes('skip') ? rows.slice(0, 3).slice(skip, skip + 2) : rows
    }
    const source = await startSource(target => ({ body: JSON.stringify({ rows: perPage(target) }) }))
    const web = { url: `${source.url}/{hourSeconds}`, pointer: '/rows/*/token' }
    const address = [factory.address, second.address]
    const array = 'all() view returns ((address token, uint256 weight)[] rows, uint256 total)'
    const lists = {
      ...listed('places', {
        ...(ofFactory()['pairs']?.options as object),
        address,
        except: [pairs[0]?.toUpperCase().replace('X', 'x')],
      }),
      ...listed('events', { ...(ofEvents()['pairs']?.options as object), address, except: [pairs[0]] }),
      ...listed('arrays', { address: [registry.address], array, take: 'rows.token', except: [a] }),
      ...listed('meant', { ...web, where: { '/status': 'active' } }),
      ...listed('all', web),
      ...listed('paged', { ...web, pages: { parameter: 'skip', step: 2 } }),
      ...listed('overlapping', { ...web, pages: { parameter: 'skip', step: 1 } }),
      ...listed('none', { ...web, where: { '/status': 'gone' } }),
      ...listed('fixed', { fixed: [a, d], except: [d] }),
    }
    const { runner, lines } = runnerOn(lists)
    const count = async (each: string) => {
      const options = { chain: 'dev', each, values: { N: { count: true } } }
      return (await runner.collect(configured('contract-read', { options }), hour)).readings['N']
    }
    expect(await count('places')).toBe(pairs.length)
    expect(await count('events')).toBe(pairs.length)
    expect([await count('arrays'), await count('fixed'), await count('meant')]).toEqual([1, 1, 2])
    expect(await count('paged')).toBe(3)
    await expect(count('overlapping')).rejects.toThrow('its pages overlap')
    await expect(count('all')).rejects.toThrow('there is no address at /rows/3/token')
    expect(await count('none')).toBe(0)
    expect(lines.map(({ message }) => message)).toContain('none of 4 items of the answer meets where')
    await runner.stop()
    await source.stop()
  })

  it('warns of a contract that had events before those that count, and begins at the first block of the chain', async () => {
    const countOf = async (since: Hour, dev: ChainReader = reader) => {
      const { runner, lines } = runnerOn(ofEvents(since), undefined, dev, { earliestMs: () => undefined })
      const { readings } = await runner.collect(overPairs(), hours[4] as Hour)
      await runner.stop()
      return [readings['Pools'], lines.map(({ message }) => message).join()]
    }
    expect(await countOf(hours[2] as Hour)).toEqual([
      3,
      expect.stringMatching(/existed before .*: items that it announced earlier are left out/),
    ])
    for (const hoursBefore of [1, 40, 4_000])
      expect(await countOf(hourAfter(hours[0] as Hour, -hoursBefore))).toEqual([5, ''])
    // On its first day no hour may be final.
    const open: ChainReader = {
      ...{ id: reader.id, settleMs: 3_600_000, nextLookUp: reader.nextLookUp },
      block: (...of) => reader.block(...of),
      read: (...of) => reader.read(...of),
      logs: (...of) => reader.logs(...of),
      recheck: (...of) => reader.recheck(...of),
    }
    for (const hoursBefore of [1, 40])
      expect(await countOf(hourAfter(hours[0] as Hour, -hoursBefore), open)).toEqual([5, ''])
  })

  it('of a source that knows the present alone makes what is over it a value of the present', async () => {
    const lists = {
      ...listed('pairs', { url: 'http://127.0.0.1:9/', pointer: '/a', now: true }),
      ...listed('team', { fixed: [factory.address] }),
    }
    const { runner } = runnerOn(lists)
    expect(await runner.describe(overPairs())).toMatchObject({ kind: 'usable', history: false })
    const ofOwners = (each: string) =>
      configured('balances', { options: { of: { dev: { owners: { each }, assets: [{ native: true }] } } } })
    expect(await runner.describe(ofOwners('pairs'))).toMatchObject({ history: false })
    expect(await runner.describe(ofOwners('team'))).toMatchObject({ history: true })
    await runner.stop()
  })

  it('has a total of 0, and no mean, where it is empty', async () => {
    const since = hours[0] as Hour
    const { runner, lines } = runnerOn(
      listed('pairs', {
        address: tokens[0]?.address,
        event: 'PairCreated(address indexed token0, address indexed token1, address pair, uint256)',
        take: 'pair',
        since: hourText(since),
      }),
    )
    const { readings, failures } = await runner.collect(overPairs(), hours[1] as Hour)
    expect(readings).toEqual({ TVL: 0, Pools: 0 })
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining('is empty: no such event from')])
    expect(
      Object.values(failures)
        .map(({ message }) => message)
        .sort(),
    ).toEqual(['there is no highest of no items', 'there is no lowest of no items', 'there is no mean of no items'])
    await runner.stop()
  })
})
