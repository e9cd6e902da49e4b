import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { artifact } from '../../src/devchain/contracts.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { configured, tidegauge } from '../support/tidegauge.ts'

/** Hours of each chain, and pairs on the list of the first. */
const hoursCount = 6
const pairsCount = 200

/** Metrics of an hour. */
const metricsCount = 66

interface Scene {
  readonly chain: ProtocolChain
  readonly token: Deployed
  readonly vault: Deployed
  readonly feeds: readonly Deployed[]
  readonly factory: Deployed
}

const ids = [1, 10, 137]
const scenes: Scene[] = []
const hours: Hour[] = []

async function sceneOf(id: number, start: Hour): Promise<Scene> {
  const chain = await ProtocolChain.start(id, start)
  const token = await chain.deploy(artifact('Token'), ['Gold', 'GOLD', 6])
  const vault = await chain.deploy(artifact('Vault'), [token.address, 'Vault', 'vGOLD'])
  const feeds = [
    await chain.deploy(artifact('Feed'), ['GOLD / USD', 8]),
    await chain.deploy(artifact('Feed'), ['COIN / USD', 8]),
  ]
  for (const [place, feed] of feeds.entries()) await chain.send(feed, 'update', [BigInt(10 ** 9 * (place + 1))])
  const factory = await chain.deploy(artifact('PairFactory'))
  await chain.send(token, 'mint', [chain.owner, 10n ** 12n])
  if (id === 1) {
    for (let count = 0; count < pairsCount; count += 1) {
      const other = `0x${(count + 4096).toString(16).padStart(40, '0')}`
      await chain.send(factory, 'createPair', [token.address, other])
    }
  }
  return { chain, token, vault, feeds, factory }
}

beforeAll(async () => {
  const start = hourAfter(hourAt(systemTime.nowMs()), 1 - hoursCount)
  scenes.push(...(await Promise.all(ids.map(id => sceneOf(id, start)))))
  for (let count = 0; count < hoursCount; count += 1) {
    const ends = await Promise.all(
      scenes.map(async scene => {
        await transfers(scene, BigInt(1_000 + count))
        return scene.chain.nextHour()
      }),
    )
    hours.push(ends[0] ?? start)
  }
  await Promise.all(scenes.map(scene => transfers(scene, 5n)))
})
afterAll(() => Promise.all(scenes.map(({ chain }) => chain.stop())))

/** Sixteen collectors of a chain: what one protocol has. */
function ofChain({ chain, token, vault, feeds }: Scene, place: number): string {
  const name = `c${place}`
  const transfer = `chain: ${name}, address: "${token.address}", event: "Transfer(address indexed from, address indexed to, uint256 value)"`
  const read = (label: string, of: Deployed, call: string) =>
    `{ use: contract-read, id: r-${label.toLowerCase()}-${name}, options: { chain: ${name}, address: "${of.address}", values: { ${label}: { call: "${call}", decimals: 6, private: true }, ${label}USD: { product: [${label}, { price: GOLD${place} }], unit: USD } } } }`
  return [
    `{ use: event-sum, id: moved-${name}, options: { ${transfer}, sum: value, decimals: 6, label: Moved, unit: GOLD } }`,
    `{ use: event-sum, id: count-${name}, options: { ${transfer}, count: true, label: Transfers } }`,
    `{ use: event-sum, id: who-${name}, options: { ${transfer}, unique: from, label: Senders } }`,
    `{ use: event-sum, id: dollars-${name}, options: { ${transfer}, sum: value, token: "${token.address}", price: GOLD${place}, label: MovedUSD, unit: USD } }`,
    `{ use: event-sum, id: swaps-${name}, options: { chain: ${name}, address: "${vault.address}", event: "Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)", count: true, label: Deposits } }`,
    read('Supply', token, 'totalSupply() view returns (uint256)'),
    read('Assets', vault, 'totalAssets() view returns (uint256)'),
    read('Shares', vault, 'totalSupply() view returns (uint256)'),
    read('Decimals', token, 'decimals() view returns (uint8)'),
    read('Ratio', vault, 'decimals() view returns (uint8)'),
    `{ use: balances, options: { label: Treasury, unit: USD, of: { ${name}: { owners: ["${vault.address}", "${chain.owner}"], assets: [{ token: "${token.address}", price: VIEW${place} }, { native: true, price: COIN${place} }] } } } }`,
    `{ use: balances, id: gas-${name}, options: { label: Gas, unit: COIN, of: { ${name}: { owners: ["${chain.owner}"], assets: [{ native: true }] } } } }`,
    `{ use: erc20-supply, id: circulating-${name}, options: { label: Circulating, unit: GOLD, of: { ${name}: { token: "${token.address}" } } } }`,
    `{ use: erc20-supply, id: shares-${name}, options: { label: VaultShares, unit: vGOLD, of: { ${name}: { token: "${vault.address}" } } } }`,
    `{ use: erc4626-vault, options: { chain: ${name}, values: { VaultTVL: { vault: "${vault.address}", unit: GOLD } } } }`,
    `{ use: chainlink-feed, options: { chain: ${name}, feed: "${feeds[0]?.address}", label: Gold, unit: USD } }`,
  ].join('\n      - ')
}

function world() {
  const [first] = scenes
  return configured(
    `service: embedded
status: { listen: "127.0.0.1:0" }
chains:
${scenes.map(({ chain }, place) => `  c${place}: { id: ${ids[place]}, rpc: ["${chain.url}"], settle: 60s }`).join('\n')}
lists: { pairs: { chain: c0, address: "${first?.factory.address}", length: "allPairsLength() view returns (uint256)", item: "allPairs(uint256) view returns (address)" } }
prices:
  USD: [{ fixed: 1 }]
${scenes
  .map(
    ({ feeds, vault }, place) => `  GOLD${place}: [{ chain: c${place}, feed: "${feeds[0]?.address}" }]
  COIN${place}: [{ chain: c${place}, feed: "${feeds[1]?.address}" }]
  VIEW${place}: [{ chain: c${place}, address: "${vault.address}", call: "convertToAssets(uint256) view returns (uint256)", args: [1000000], decimals: 6, price: GOLD${place} }]`,
  )
  .join('\n')}
protocols:
${scenes.map((scene, place) => `  - id: p${place}\n    name: P${place}\n    collectors:\n      - ${ofChain(scene, place)}`).join('\n')}
  - id: dex
    name: DEX
    collectors:
      - { use: contract-read, options: { chain: c0, each: pairs, values: { Reserve: { call: "balanceOf(address) view returns (uint256)", address: "${first?.token.address}", args: [item], decimals: 6, price: GOLD0, private: true }, TVL: { total: Reserve, unit: USD }, Pairs: { count: true } } } }
      - { use: event-sum, options: { chain: c0, address: { each: pairs }, event: "Sync(uint112 reserve0, uint112 reserve1)", count: true, label: Syncs } }
`,
    {},
  )
}

/** Calls that the nodes had while something was done, each in a batch as one. */
async function callsOf(work: () => Promise<unknown>): Promise<number> {
  const before = scenes.map(({ chain }) => chain.requests.length)
  await work()
  return scenes.flatMap(({ chain }, place) => chain.requests.slice(before[place])).flat().length
}

async function transfers({ chain, token, vault }: Scene, amount: bigint): Promise<void> {
  await chain.send(token, 'transfer', [vault.address, amount])
  await chain.send(token, 'transfer', [chain.others[0], amount * 2n])
}

describe('the bill of 50 collectors, 10 prices and a list of 200 on 3 chains', () => {
  it('of a backfill is at most 100 calls an hour', async () => {
    const { config } = world()
    const range = ['--from', hourText(hours[1] as Hour), '--to', hourText(hours.at(-1) as Hour)]
    const calls = await callsOf(() => tidegauge(['backfill', ...range, '--overwrite', '--config', config]))
    const { stdout } = await tidegauge(['export', ...range, '--all', '--config', config])
    expect(stdout.trim().split('\n')).toHaveLength(1 + metricsCount * (hoursCount - 1))
    expect(calls / (hoursCount - 1)).toBeLessThanOrEqual(100)
  })

  it('of one hour, whose blocks are looked for, is at most 150 calls', async () => {
    const { config } = world()
    const calls = await callsOf(async () => {
      const { code } = await tidegauge(['collect', '--hour', hourText(hours.at(-1) as Hour), '--config', config])
      expect(code).toBe(0)
    })
    expect(calls).toBeLessThanOrEqual(150)
  })
})
