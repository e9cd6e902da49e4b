import { type Address, createPublicClient, erc20Abi, erc4626Abi, http, type PublicClient, parseAbi } from 'viem'
import type { Devchain } from '../../src/devchain/devchain.ts'
import type { Hour } from '../../src/model/hour.ts'
import type { MetricId } from '../../src/model/metric.ts'

/** The chain, read without any of the product's code. */
export interface Truth {
  /** Value of a metric at an hour; `undefined` for one that this file does not know. */
  value(id: MetricId, hour: Hour): Promise<number> | undefined
  /** Every metric it knows. */
  readonly ids: readonly string[]
}

interface At {
  readonly client: PublicClient
  readonly blockNumber: bigint
}

type Reading = (at: At) => Promise<number>

const poolAbi = parseAbi(['function getReserves() view returns (uint112, uint112, uint32)'])
const feedAbi = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)'])

/** Reads every header of the chain, from the first to the last, and finds each hour's block by looking at all of them. */
export async function truthOf({ url, addresses }: Pick<Devchain, 'url' | 'addresses'>): Promise<Truth> {
  const client: PublicClient = createPublicClient({ transport: http(url, { batch: true }) })
  const count = Number(await client.getBlockNumber({ cacheTime: 0 })) + 1
  const numbers = Array.from({ length: count }, (_, number) => BigInt(number))
  const blocks = await Promise.all(numbers.map(blockNumber => client.getBlock({ blockNumber })))
  const asOf = (hour: Hour) => {
    const block = blocks.filter(({ timestamp }) => Number(timestamp) * 1000 <= hour).at(-1)
    if (!block) throw new Error('the chain has no block at or before this hour')
    return block.number
  }
  const readings = readingsOf(addresses)
  return {
    ids: Object.keys(readings),
    value: (id, hour) => readings[id]?.({ client, blockNumber: asOf(hour) }),
  }
}

/** Meaning of each metric of the demo. */
function readingsOf({ dollar, tide, vault, pool, feed, treasury }: Devchain['addresses']): Record<string, Reading> {
  const isTideFirst = BigInt(tide) < BigInt(dollar)
  const reserves = async (at: At) => {
    const [amount0, amount1] = await reservesOf(pool, at)
    const [tideAmount, dollarAmount] = isTideFirst ? [amount0, amount1] : [amount1, amount0]
    // With 40 decimals: the last one decides nothing.
    const price = decimal((dollarAmount * 10n ** (18n - 6n + 40n)) / tideAmount, 40)
    return { tides: decimal(tideAmount, 18), dollars: decimal(dollarAmount, 6), price }
  }
  const [tideReserve, dollarReserve] = isTideFirst ? ['Reserve0', 'Reserve1'] : ['Reserve1', 'Reserve0']
  return {
    'demo-vault___TVL': async at => decimal(await assetsOf(vault, at), 6),
    'demo-vault___SharePrice': async at => decimal(await shareOf(vault, at), 24),
    'demo-vault___Supply': async at => decimal(await supplyOf(dollar, at), 6),
    [`demo-pool___${tideReserve}`]: async at => (await reserves(at)).tides,
    [`demo-pool___${dollarReserve}`]: async at => (await reserves(at)).dollars,
    'demo-pool___Price': async at => (await reserves(at)).price,
    'demo-pool___TVL': async at => 2 * (await reserves(at)).dollars,
    'demo-pool___Supply': async at => decimal(await supplyOf(tide, at), 18),
    'demo-price___Price': async at => decimal(await answerOf(feed, at), 8),
    'demo-treasury___Balance': async at => decimal(await balanceOf(treasury, at), 18),
    // A product of a supply with 18 decimals and a price with 8.
    'demo-dollars___MarketCap': async at => decimal((await supplyOf(tide, at)) * (await answerOf(feed, at)), 26),
    'demo-dollars___Locked': async at => {
      const [tides, dollars] = [await heldBy([pool, vault], tide, at), await heldBy([pool, vault], dollar, at)]
      return decimal(tides * (await answerOf(feed, at)) + dollars * 10n ** 20n, 26)
    },
  }
}

function balanceOf(address: Address, { client, blockNumber }: At): Promise<bigint> {
  return client.getBalance({ address, blockNumber })
}

async function heldBy(owners: readonly Address[], token: Address, { client, blockNumber }: At): Promise<bigint> {
  const own = { address: token, abi: erc20Abi, functionName: 'balanceOf', blockNumber } as const
  const balances = await Promise.all(owners.map(owner => client.readContract({ ...own, args: [owner] })))
  return balances.reduce((sum, balance) => sum + balance, 0n)
}

async function reservesOf(address: Address, { client, blockNumber }: At): Promise<readonly [bigint, bigint]> {
  const [amount0, amount1] = await client.readContract({
    address,
    abi: poolAbi,
    functionName: 'getReserves',
    blockNumber,
  })
  return [amount0, amount1]
}

function supplyOf(address: Address, { client, blockNumber }: At): Promise<bigint> {
  return client.readContract({ address, abi: erc20Abi, functionName: 'totalSupply', blockNumber })
}

function assetsOf(address: Address, { client, blockNumber }: At): Promise<bigint> {
  return client.readContract({ address, abi: erc4626Abi, functionName: 'totalAssets', blockNumber })
}

function shareOf(address: Address, { client, blockNumber }: At): Promise<bigint> {
  return client.readContract({
    address,
    abi: erc4626Abi,
    functionName: 'convertToAssets',
    // As the collector asks: one share is rounded down to the smallest unit of the asset.
    args: [10n ** 24n],
    blockNumber,
  })
}

async function answerOf(address: Address, { client, blockNumber }: At): Promise<bigint> {
  const [, answer] = await client.readContract({ address, abi: feedAbi, functionName: 'latestRoundData', blockNumber })
  return answer
}

/** The nearest double to a whole number of smallest units. */
function decimal(amount: bigint, decimals: number): number {
  return Number(`${amount}e-${decimals}`)
}
