import { writeFileSync } from 'node:fs'
import { tokenPriceConfig } from '../../../../src/config/load.ts'
import { hourAt, parseHour } from '../../../../src/model/hour.ts'
import { syntheticArchive } from '../../../chain/support/synthetic-archive.ts'
import { syntheticKinds } from '../../../chain/support/synthetic-kinds.ts'
import { randomPlaces, SyntheticScene } from '../../../chain/support/synthetic-reader.ts'
import { startSource } from '../../../runner/source.ts'
import type { Figure } from '../../figures.ts'
import { addresses, addressOf, chain, collectorOf, costOf, hours } from './no-code.ts'
import { backfilled } from './year.ts'

const factory = { address: addressOf(1), length: 'poolCount() view returns (uint256)' }
const pools = { ...factory, item: 'poolAt(uint256) view returns (address)' }
const supply = { call: 'totalSupply() view returns (uint256)', decimals: true }
const rate = { call: 'rateOf(uint256 which) view returns (uint256)', args: [1], decimals: 27, private: true }
const value = { product: ['Supply', 'Rate'] }

/** Lists, their items' values, and the prices of tokens: what an hour and a backfill of them cost. */
export async function* listHours(): AsyncGenerator<Figure> {
  const { listed, alone, cpuMs } = await liveCost()
  const items = 'an hour of 1,000 items of a list with 3 calls each'
  yield { what: `${items}: eth_call`, values: [listed.ethCalls], target: { atMost: 5 } }
  yield { what: `${items}: eth_call of the first hour`, values: [listed.firstEthCalls], target: { atMost: 5 } }
  yield {
    what: `${items}, of one contract: requests`,
    values: [listed.requests / alone.requests],
    target: { atMost: 1 },
  }
  yield { what: `${items}: CPU of the daemon`, values: [cpuMs], unit: ' ms', target: { atMost: 1_000 } }
  yield { what: 'prices of 500 tokens: requests an hour', values: [await tokenRequests()], target: { atMost: 5 } }
  const longest = await backfilled(parseHour('2024-01-01T00:00:00Z'), 1, writePools, 1, 20_000)
  yield { what: 'an hour of the longest list, of 20,000 items: time', values: [longest.seconds], unit: ' s' }
  const days = 30
  const month = await backfilled(parseHour('2024-01-01T00:00:00Z'), days * 24, writePools, 1, 300)
  const what = `a backfill of ${days} days over a list of 300`
  yield { what: `${what}: calls an hour`, values: [month.calls / (days * 24)], target: { atMost: 6 } }
  yield { what: `${what}: time`, values: [month.seconds], unit: ' s' }
}

/** Cost of an hour of a thousand pools with three calls each, and of the same calls of one contract. */
async function liveCost() {
  const archive = syntheticArchive(syntheticKinds.slots())
  archive.pools = 1_000
  await using scene = await SyntheticScene.start(archive)
  const list = collectorOf('list', 0, { chain, ...pools })
  const values = { Supply: { ...supply, private: true }, Rate: rate, Value: { ...value, private: true } }
  const ofPools = collectorOf('contract-read', 1, {
    chain,
    each: 'pools',
    values: { ...values, TVL: { total: 'Value' } },
  })
  const ofOne = collectorOf('contract-read', 2, { chain, address: addressOf(1), values: { ...values, Value: value } })
  const [from] = randomPlaces(archive, 1, hours + 1, 5)
  if (from === undefined) throw new Error('the archive has no hours')
  const alone = await costOf(scene, [ofOne], from)
  const before = process.cpuUsage()
  const listed = await costOf(scene, [ofPools], from, { lists: { pools: list } })
  const { user, system } = process.cpuUsage(before)
  return { listed, alone, cpuMs: (user + system) / 1_000 / (hours + 1) }
}

/** Requests an hour for the prices of five hundred tokens. */
async function tokenRequests(): Promise<number> {
  const source = await startSource(target => {
    const tokens = target.split('/').at(-1)?.split(',') ?? []
    return { body: JSON.stringify(Object.fromEntries(tokens.map(token => [token, 2]))) }
  })
  const archive = syntheticArchive(syntheticKinds.slots())
  await using scene = await SyntheticScene.start(archive)
  const url = `${source.url}/{hourSeconds}/{tokens}`
  const sources = [{ url, token: '{address}', pointer: '/{token}' }]
  const { name, collector } = tokenPriceConfig(chain, sources, () => collectorOf('token-price', 0, {}).place)
  const assets = addresses(500, 6_000).map(token => ({ token, price: 'token' }))
  const balances = collectorOf('balances', 0, { of: { [chain]: { owners: addresses(1, 5_000), assets } } })
  await costOf(scene, [balances], hourAt(scene.clock.time.nowMs() - 100 * 3_600_000), { prices: { [name]: collector } })
  await source.stop()
  return source.asked.length / (hours + 1)
}

/** A configuration of one total over the pools of a factory. */
function writePools(file: string, urls: { readonly rpc: string; readonly service: string }): void {
  const values = { Supply: { ...supply, private: true }, TVL: { total: 'Supply' } }
  const config = {
    service: { url: urls.service, key: { env: 'BENCH_KEY' } },
    data: './kept',
    delivery: { pace: 1_000, inFlight: 4 },
    log: { level: 'warn' },
    chains: { ethereum: { id: 1, rpc: [urls.rpc] } },
    lists: { pools: { chain: 'ethereum', ...pools } },
    protocols: [
      {
        ...{ id: 'bench', name: 'bench' },
        collectors: [{ use: 'contract-read', options: { chain: 'ethereum', each: 'pools', values } }],
      },
    ],
  }
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config))
}
