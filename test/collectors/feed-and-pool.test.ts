import { parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { answeringRunner, contractOf } from './answering-contract.ts'

const answering = answeringRunner()
const { runner } = answering
const address = `0x${'11'.repeat(20)}`
const seconds = BigInt(hour / 1000)

const feedAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
])

describe('chainlink-feed', () => {
  const collect = (round: readonly bigint[], more = {}) => {
    answering.use(contractOf(feedAbi, { decimals: 8, latestRoundData: round }))
    return runner.collect(configured('chainlink-feed', { options: { chain: 'demo', feed: address, ...more } }), hour)
  }

  it('gives a price that is just not too old', async () => {
    const fresh = [5n, 250_000_000n, 0n, seconds - 3600n, 5n]
    expect((await collect(fresh, { maxAge: 3600 })).readings).toEqual({ Price: 2.5 })
  })

  it.for([
    ['too old', [5n, 1n, 0n, seconds - 3601n, 5n], 'the price is 3601 s old at 2026-11-20T13:00:00Z'],
    ['zero', [5n, 0n, 0n, seconds, 5n], 'round 5 answers 0, which is no price'],
    ['negative', [5n, -1n, 0n, seconds, 5n], 'round 5 answers -1, which is no price'],
    ['not answered', [5n, 1n, 0n, 0n, 5n], 'round 5 is not complete'],
    ['answered in an earlier round', [5n, 1n, 0n, seconds, 4n], 'round 5 is not complete'],
  ] as const)('gives no price that is %s', async ([, round, message]) => {
    expect((await faultOf(collect(round, { maxAge: 3600 }))).message).toBe(message)
  })
})

const poolAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function decimals() view returns (uint8)',
  'function getReserves() view returns (uint112, uint112, uint32)',
])

describe('uniswap-v2-pool', () => {
  const collect = (reserves: readonly [bigint, bigint, number], more = {}) => {
    answering.use(contractOf(poolAbi, { token0: address, token1: address, decimals: 2, getReserves: reserves }))
    return runner.collect(configured('uniswap-v2-pool', { options: { chain: 'demo', pool: address, ...more } }), hour)
  }

  it('tells prices in token1, or in token0 when asked to', async () => {
    const reserves = [1000n, 4000n, 0] as const
    expect((await collect(reserves)).readings).toEqual({ Reserve0: 10, Reserve1: 40, Price: 4, TVL: 80 })
    const turned = await collect(reserves, { quote: 'token0' })
    expect(turned.readings).toEqual({ Reserve0: 10, Reserve1: 40, Price: 0.25, TVL: 20 })
  })

  it.for([0, 5])('has no price when it is empty, or %i to nothing', async amount => {
    expect((await faultOf(collect([BigInt(amount), 0n, 0]))).message).toBe('the pool is empty: it has no price')
  })
})
