import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { type Source, startSource } from '../runner/source.ts'
import { uniswapContract } from '../support/contracts.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { publishedContract } from '../support/published.ts'
import { configured, startDaemon, tidegauge, untilNextLook } from '../support/tidegauge.ts'

const hoursCount = 27

let chain: ProtocolChain
let source: Source
let factory: Deployed
/** The pairs in the order of their birth, in lower case. */
let born: readonly string[]
const hours: Hour[] = []
const hourOf = (place: number) => hourText(hours.at(place) as Hour)

/** Prices by token and hour, in thousandths. */
function prices(target: string) {
  const [, seconds = '', tokens = ''] = target.split('/')
  const price = (token: string) => Number((BigInt(token) % 997n) + (BigInt(seconds) % 89n) + 1n) / 1000
  return { body: JSON.stringify(Object.fromEntries(tokens.split(',').map(token => [token, price(token)]))) }
}

beforeAll(async () => {
  source = await startSource(prices)
  // The last hour is well before the current one, so that none turns meanwhile.
  chain = await ProtocolChain.start(1, hourAfter(hourAt(systemTime.nowMs()), -hoursCount - 1))
  const mintable = publishedContract(
    '@aave/core-v3/artifacts/contracts/mocks/tokens/MintableERC20.sol/MintableERC20.json',
  )
  const pair = uniswapContract('UniswapV2Pair')
  factory = await chain.deploy(uniswapContract('UniswapV2Factory'), [chain.owner])
  const tokens: Deployed[] = []
  for (const decimals of [6, 18, 8, 18]) tokens.push(await chain.deploy(mintable, [`T${decimals}`, 'T', decimals]))
  const [first, ...others] = tokens
  const pairs: Deployed[] = []
  if (!first) throw new Error('there is no token')
  while (hours.length < hoursCount) {
    const other = others[pairs.length]
    // A pair is born in every eighth hour.
    if (other && hours.length % 8 === 0) {
      await chain.send(factory, 'createPair', [first.address, other.address])
      pairs.push({ address: await chain.read(factory, 'getPair', [first.address, other.address]), abi: pair.abi })
    }
    for (const [place, one] of pairs.entries()) {
      for (const token of [first, others[place] ?? first]) {
        await chain.send(token, 'mint', [10n ** 7n * BigInt(hours.length + 3)])
        await chain.send(token, 'transfer', [one.address, 10n ** 7n * BigInt(hours.length + 3)])
      }
      await chain.send(one, 'sync')
    }
    hours.push(await chain.nextHour())
  }
  await chain.nextHour()
  born = pairs.map(({ address }) => address.toLowerCase())
})
afterAll(async () => {
  await chain?.stop()
  await source?.stop()
})

const env = { METRICS_KEY: 'a-key' }

/** A DEX, of which every kind of value without code is read over its pairs. @param head where the outbox is, and to whom is pushed */
function dex(head = 'service: embedded\n') {
  return configured(`${head}
status: { listen: "127.0.0.1:0" }
chains: { ethereum: { id: 1, rpc: ["${chain.url}"], settle: 60s } }
lists: { pairs: { chain: ethereum, address: "${factory.address}", length: "allPairsLength() view returns (uint256)", item: "allPairs(uint256) view returns (address)" } }
tokenPrices: { ethereum: [{ url: "${source.url}/{hourSeconds}/{tokens}", token: "{address}", pointer: "/{token}" }] }
protocols:
  - id: dex
    name: DEX
    collectors:
      - use: contract-read
        since: ${hourOf(0)}
        options:
          chain: ethereum
          each: pairs
          values:
            Token0: { call: "token0() view returns (address)", private: true }
            Token1: { call: "token1() view returns (address)", private: true }
            In0: { call: "balanceOf(address) view returns (uint256)", address: Token0, args: [item], decimals: true, price: token, private: true }
            In1: { call: "balanceOf(address) view returns (uint256)", address: Token1, args: [item], decimals: true, price: token, private: true }
            In: { sum: [In0, In1], private: true }
            TVL: { total: In, unit: USD }
            Pairs: { count: true }
      - use: event-sum
        since: ${hourOf(0)}
        options: { chain: ethereum, address: { each: pairs }, event: "Sync(uint112 reserve0, uint112 reserve1)", sum: reserve0, token: "token0() view returns (address)", price: token, label: Volume, unit: USD }
      - use: derived
        since: ${hourOf(23)}
        options: { values: { Volume24h: { of: Volume, take: sum, hours: 24, unit: USD }, Growth: { of: TVL, take: growth, hours: 24 } } }
`)
}

const backfilled = (config: string, from = hourOf(0), own = env) =>
  tidegauge(['backfill', '--from', from, '--to', hourOf(-1), '--overwrite', '--config', config], own)

/** Rows without their state: whether they are delivered depends on the service. */
async function exported(config: string, own = env): Promise<readonly string[]> {
  const range = ['--from', hourOf(0), '--to', hourOf(-1)]
  const { stdout } = await tidegauge(['export', ...range, '--all', '--config', config], own)
  const [, ...rows] = stdout.trim().split('\n')
  return rows.map(line => line.replace(/,\w+$/, '')).sort()
}

/** Three values in each hour; of the derived ones, one compares with the value 24 hours before. */
const rowsCount = 3 * hoursCount + (hoursCount - 23) + (hoursCount - 24)

describe('a DEX over a list, with prices of tokens, events, and windows', () => {
  it('has the same bits in a backfill, in collect and in a daemon, also after its list is changed on disk', async () => {
    const one = dex()
    await backfilled(one.config)
    const rows = await exported(one.config)
    expect(rows.filter(row => row.includes('Pairs')).map(row => row.split(',')[2])).toEqual(
      hours.map((_, place) => String(Math.min(3, Math.floor(place / 8) + 1))),
    )
    expect(rows).toHaveLength(rowsCount)

    const explained = await tidegauge(['explain', 'dex___TVL', hourOf(8), '--config', one.config])
    expect(explained.stdout).toMatch(
      /^list pairs \(length\) at block \d+ of ethereum: 2 items, 1 of them new in this hour: 0x\w{40}$/m,
    )
    expect(explained.stdout).toContain('the same value')

    const two = dex()
    const daemon = await startDaemon(two.config)
    for (let found: readonly string[] = []; found.length < rowsCount; found = await exported(two.config))
      await untilNextLook()
    expect(await exported(two.config)).toEqual(rows)
    expect(await daemon.kill('SIGTERM')).toBe(0)

    const dry = await tidegauge(['collect', '--dry-run', '--hour', hourOf(-1), '--json', '--config', two.config])
    const { metrics } = JSON.parse(dry.stdout) as { metrics: { metricId?: string; id?: string; value: number }[] }
    const again = metrics.map(({ metricId, id = metricId, value }) => `${id},${hourOf(-1)},${value}`)
    const last = rows.filter(row => row.includes(hourOf(-1)))
    expect(again.sort()).toEqual(last.map(row => row.split(',').slice(0, 3).join()))

    // A memory that was changed is not believed.
    const outbox = new SqliteOutbox(join(one.folder, 'data/embedded/outbox.db'))
    const kept = await outbox.lists.read('pairs')
    expect(kept?.items).toEqual(born)
    if (kept) await outbox.lists.save({ ...kept, items: kept.items.slice(1) })
    await outbox.close()
    expect((await backfilled(one.config, hourOf(25))).code).toBe(0)
    expect(await exported(one.config)).toEqual(rows)
  })
})

/** A collector of one's own that counts all pairs that were ever announced. */
const births = (since: string) => `import { defineCollector, z } from 'tidegauge'
const event = { type: 'event', name: 'PairCreated', inputs: [
  { name: 'token0', type: 'address', indexed: true }, { name: 'token1', type: 'address', indexed: true },
  { name: 'pair', type: 'address', indexed: false }, { name: 'place', type: 'uint256', indexed: false } ] } as const
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Born: {}, Last: {} },
  history: true,
  async collect({ chain }) {
    const logs = await chain('ethereum').logsSince('${since}', { address: '${factory.address}', event })
    return { Born: logs.length, Last: Number((logs.at(-1)?.args.pair ?? '0x0')) % 1_000_003 }
  },
})`

/** Values of the collector by the hour. */
function bornRows(since = 0): readonly string[] {
  return hours
    .flatMap((hour, place) => {
      const pairs = born.slice(Math.ceil(since / 8), Math.min(3, Math.floor(place / 8) + 1))
      const last = Number(pairs.at(-1) ?? '0x0') % 1_000_003
      return place < since
        ? []
        : [`dex___Born,${hourText(hour)},${pairs.length}`, `dex___Last,${hourText(hour)},${last}`]
    })
    .sort()
}

describe('all logs since an hour, for code', () => {
  const own = (since: string, from = hourOf(0)) => {
    const { folder, config } = configured(`service: embedded
status: { listen: "127.0.0.1:0" }
chains: { ethereum: { id: 1, rpc: ["${chain.url}"], settle: 0s } }
protocols: [{ id: dex, name: DEX, collectors: [{ use: ./births.ts, since: "${from}" }] }]
`)
    writeFileSync(join(folder, 'config/births.ts'), births(since))
    return { folder, config }
  }
  const valuesOf = async (config: string) => (await exported(config)).map(row => row.split(',').slice(0, 3).join())

  it('are those of the chain in a backfill and in a daemon, read on from what is remembered', async () => {
    const { config, folder } = own(hourOf(0))
    await backfilled(config)
    expect(await valuesOf(config)).toEqual(bornRows())
    const { stdout } = await tidegauge(['lists', '--config', config])
    expect(stdout).toMatch(/^dex\/births logs \w{12} +3 /m)
    const explained = await tidegauge(['explain', 'dex___Born', hourOf(-1), '--config', config])
    expect(explained.stdout).toMatch(/logs of 0x\w{40} since .*3 logs/s)

    const running = own(hourOf(0))
    const daemon = await startDaemon(running.config)
    for (let count = 0; count < bornRows().length; count = (await valuesOf(running.config)).length)
      await untilNextLook()
    expect(await valuesOf(running.config)).toEqual(bornRows())
    expect(await daemon.kill('SIGTERM')).toBe(0)

    // Memory that was changed is not believed; another since is another question.
    const outbox = new SqliteOutbox(join(folder, 'data/embedded/outbox.db'))
    const [kept] = await outbox.lists.all()
    if (kept) await outbox.lists.save({ ...kept, items: kept.items.slice(1), blocks: kept.blocks?.slice(1) })
    await outbox.close()
    await backfilled(config)
    expect(await valuesOf(config)).toEqual(bornRows())
    const later = own(hourOf(5), hourOf(5))
    await backfilled(later.config)
    expect(await valuesOf(later.config)).toEqual(bornRows(5))
    const beforeFirstBlock = own(hourText(hourAfter(hours[0] as Hour, -2_000)))
    await backfilled(beforeFirstBlock.config)
    expect(await valuesOf(beforeFirstBlock.config)).toEqual(bornRows())
  })

  it('after a reorg of final blocks, are those of the branch that stands, at each hour', async () => {
    const other = await ProtocolChain.start(1, hourAfter(hourAt(systemTime.nowMs()), -12))
    onTestFinished(() => other.stop())
    const token = await other.deploy(
      publishedContract('@aave/core-v3/artifacts/contracts/mocks/tokens/MintableERC20.sol/MintableERC20.json'),
      ['T', 'T', 18],
    )
    const at: Hour[] = []
    const minted = async (times: number) => {
      for (let count = 0; count < times; count += 1) await other.send(token, 'mint', [1n])
      at.push(await other.nextHour())
    }
    for (const times of [1, 1, 1]) await minted(times)
    const undo = await other.replaceable()
    for (const times of [3, 3, 3]) await minted(times)
    await other.nextHour()
    const { folder, config } = configured(`service: embedded
chains: { ethereum: { id: 1, rpc: ["${other.url}"], settle: 0s } }
protocols: [{ id: dex, name: DEX, collectors: [{ use: ./mints.ts, since: "${hourText(at[0] as Hour)}" }] }]
`)
    const code = `import { defineCollector, z } from 'tidegauge'
const event = { type: 'event', name: 'Transfer', inputs: [
  { name: 'from', type: 'address', indexed: true }, { name: 'to', type: 'address', indexed: true }, { name: 'value', type: 'uint256' } ] } as const
export default defineCollector({ options: z.strictObject({}), metrics: { Mints: {} }, history: true,
  async collect({ chain }) { return { Mints: (await chain('ethereum').logsSince('${hourText(at[0] as Hour)}', { address: '${token.address}', event })).length } } })`
    writeFileSync(join(folder, 'config/mints.ts'), code)
    const [from, to] = [hourText(at[0] as Hour), hourText(at.at(-1) as Hour)]
    const counts = async () => {
      await tidegauge(['backfill', '--from', from, '--to', to, '--overwrite', '--config', config], env)
      const { stdout } = await tidegauge(['export', '--from', from, '--to', to, '--all', '--config', config], env)
      return stdout
        .trim()
        .split('\n')
        .slice(1)
        .map(row => Number(row.split(',')[2]))
    }
    expect(await counts()).toEqual([1, 2, 3, 6, 9, 12])
    await undo()
    at.length = 3
    // Fewer blocks in each hour: those that were kept lie in later hours of this branch.
    for (const times of [2, 1, 2]) await minted(times)
    await other.nextHour()
    expect(await counts()).toEqual([1, 2, 3, 5, 6, 8])
  })

  it('of an hour after the run, or of no hour, are a mistake that is named', async () => {
    for (const [since, sentence] of [
      [hourText(hourAfter(hours.at(-1) as Hour, 1)), /logs are asked since .*, which is after/],
      ['yesterday', /logsSince: .*yesterday/],
    ] as const) {
      const { stdout, stderr } = await tidegauge([
        'collect',
        '--dry-run',
        '--hour',
        hourOf(-1),
        '--config',
        own(since).config,
      ])
      expect(stdout + stderr).toMatch(sentence)
    }
  })
})

describe.skipIf(postgresPlace.kind === 'missing')('with PostgreSQL as the outbox', () => {
  const databases = useTestDatabases()

  it('has the same bits', async () => {
    const own = { ...env, DATABASE_URL: await databases.empty() }
    const service = 'service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }\n'
    const [file, fleet] = [dex(), dex(`${service}data: { postgres: { env: DATABASE_URL } }\n`)]
    await backfilled(file.config)
    await backfilled(fleet.config, hourOf(0), own)
    const rows = await exported(fleet.config, own)
    expect(rows).toHaveLength(rowsCount)
    expect(rows).toEqual(await exported(file.config))
  })
})
