import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  erc20Abi,
  http,
  multicall3Abi,
  parseEther,
  publicActions,
} from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { multicall3Address } from '../../src/chain/read/read-memory.ts'
import { Devchain } from '../../src/devchain/devchain.ts'
import { hourAfter, hourAt, hoursFrom, parseHour } from '../../src/model/hour.ts'

const hour = parseHour('2026-11-20T13:00:00Z')
const nowMs = hour + 754_321
const nowSeconds = Math.floor(nowMs / 1000)

async function blocksOf(chain: Devchain) {
  const client = createPublicClient({ transport: http(chain.url, { batch: true }) })
  const count = Number(await client.getBlockNumber({ cacheTime: 0 })) + 1
  const numbers = Array.from({ length: count }, (_, number) => BigInt(number))
  return Promise.all(numbers.map(blockNumber => client.getBlock({ blockNumber })))
}

describe('a local chain with 48 hours of past', () => {
  let chain: Devchain
  let blocks: Awaited<ReturnType<typeof blocksOf>>
  let seconds: number[]
  beforeAll(async () => {
    chain = await Devchain.build({ nowMs, hours: 48 })
    blocks = await blocksOf(chain)
    seconds = blocks.map(({ timestamp }) => Number(timestamp))
  })
  afterAll(() => chain.stop())

  it('covers the current hour and the 48 before it', () => {
    expect(chain.hours).toEqual(hoursFrom(hourAfter(hour, -48), hour))
  })

  it('has timestamps that rise from block to block and never lie ahead of now', () => {
    expect(seconds.every((second, index) => index === 0 || second > (seconds[index - 1] ?? second))).toBe(true)
    expect(seconds.at(-1)).toBeLessThanOrEqual(nowSeconds)
  })

  it('has an as-of block for every hour, with a block past it', () => {
    for (const asOf of chain.hours) {
      const index = seconds.findLastIndex(second => second <= asOf / 1000)
      expect(index).toBeGreaterThan(0)
      expect(seconds[index + 1]).toBeGreaterThan(asOf / 1000)
    }
  })

  it('is irregular: several blocks in each hour, on the full hour itself now and then', () => {
    const inHour = (from: number) => seconds.filter(second => second > from && second <= from + 3600).length
    expect(chain.hours.slice(0, -1).every(from => inHour(from / 1000) >= 3)).toBe(true)
    expect(seconds.some(second => second % 3600 === 0)).toBe(true)
    expect(new Set(chain.hours.map(from => inHour(from / 1000))).size).toBeGreaterThan(3)
  })

  it('has no transaction that failed', async () => {
    const client = createPublicClient({ transport: http(chain.url, { batch: true }) })
    const hashes = blocks.flatMap(({ transactions }) => transactions)
    const receipts = await Promise.all(hashes.map(hash => client.getTransactionReceipt({ hash })))
    expect(receipts.length).toBeGreaterThan(49 * 5)
    expect(receipts.filter(({ status }) => status !== 'success')).toEqual([])
  })

  it('changes what can be read from hour to hour', async () => {
    const client = createPublicClient({ transport: http(chain.url, { batch: true }) })
    const asOf = (at: number) => BigInt(seconds.findLastIndex(second => second <= at / 1000))
    const supplies = await Promise.all(
      chain.hours.map(at =>
        client.readContract({
          address: chain.addresses.tide,
          abi: erc20Abi,
          functionName: 'totalSupply',
          blockNumber: asOf(at),
        }),
      ),
    )
    expect(new Set(supplies).size).toBe(49)
  })

  it('has Multicall3 at its own address', async () => {
    const client = createPublicClient({ transport: http(chain.url) })
    const call = { address: multicall3Address, abi: multicall3Abi, functionName: 'getCurrentBlockTimestamp' } as const
    expect(await client.readContract(call)).toBe(BigInt(seconds.at(-1) ?? 0))
  })
})

it('life goes on at the pulse, one block for a second and none back in time', async () => {
  const chain = await Devchain.build({ nowMs, hours: 1 })
  try {
    const before = (await blocksOf(chain)).length
    for (const ms of [nowMs + 60_000, nowMs + 60_500, nowMs, nowMs + 3_600_000]) await chain.pulse(ms)
    const later = (await blocksOf(chain)).slice(before).map(({ timestamp }) => Number(timestamp))
    expect(later).toEqual([nowSeconds + 60, nowSeconds + 3600])
  } finally {
    await chain.stop()
  }
})

it('life goes on after a user has moved its time, as far ahead of the clock', async () => {
  const chain = await Devchain.build({ nowMs, hours: 1 })
  try {
    const client = createTestClient({ mode: 'anvil', transport: http(chain.url) }).extend(publicActions)
    await client.setNextBlockTimestamp({ timestamp: BigInt(nowSeconds + 86_400) })
    await client.mine({ blocks: 1 })
    for (const minute of [1, 2]) await chain.pulse(nowMs + minute * 60_000)
    const { timestamp } = await client.getBlock()
    expect(timestamp).toBe(BigInt(nowSeconds + 86_400 + 60))
  } finally {
    await chain.stop()
  }
})

it('a block that a user mines at the time of the clock moves nothing', async () => {
  const chain = await Devchain.build({ nowMs, hours: 1 })
  try {
    const client = createTestClient({ mode: 'anvil', transport: http(chain.url) }).extend(publicActions)
    for (const minute of [1, 2, 3]) {
      await client.setNextBlockTimestamp({ timestamp: BigInt(nowSeconds + minute * 60) })
      await client.mine({ blocks: 1 })
      await chain.pulse(nowMs + minute * 60_000)
    }
    await chain.pulse(nowMs + 240_000)
    const { timestamp } = await client.getBlock()
    expect(timestamp).toBe(BigInt(nowSeconds + 240))
  } finally {
    await chain.stop()
  }
})

it('life goes on after transactions that a user sent from the accounts that it uses itself', async () => {
  const chain = await Devchain.build({ nowMs, hours: 1 })
  try {
    const wallet = createWalletClient({ transport: http(chain.url) })
    const accounts = await wallet.getAddresses()
    const before = (await blocksOf(chain)).length
    const hashes: string[] = []
    for (let minute = 1; minute <= 30; minute++) {
      for (const account of accounts.slice(0, 2)) {
        hashes.push(await wallet.sendTransaction({ account, chain: null, to: account, value: 1n, gas: 21_000n }))
      }
      await chain.pulse(nowMs + minute * 60_000)
    }
    const minedHashes = (await blocksOf(chain)).slice(before).flatMap(({ transactions }) => transactions as string[])
    expect(minedHashes).toEqual(expect.arrayContaining(hashes))
    // Some are its own.
    expect(minedHashes.length).toBeGreaterThan(hashes.length)
  } finally {
    await chain.stop()
  }
})

it('life goes on after a user spent what the accounts had that it uses itself', async () => {
  const chain = await Devchain.build({ nowMs, hours: 1 })
  try {
    const client = createWalletClient({ transport: http(chain.url) }).extend(publicActions)
    const [owner, treasury, to] = await client.getAddresses()
    for (const account of [owner, treasury]) {
      const value = (await client.getBalance({ address: account ?? '0x' })) - parseEther('0.01')
      await client.sendTransaction({ account: account ?? '0x', chain: null, to, value, gas: 21_000n })
    }
    for (let minute = 1; minute <= 30; minute++) await chain.pulse(nowMs + minute * 60_000)
    expect((await client.getBlock()).timestamp).toBe(BigInt(nowSeconds + 30 * 60))
  } finally {
    await chain.stop()
  }
})

it('the current hour counts only once a block can lie past it', async () => {
  const chain = await Devchain.build({ nowMs: hour + 999, hours: 1 })
  try {
    expect(chain.hours).toEqual(hoursFrom(hourAfter(hour, -2), hourAfter(hour, -1)))
    await chain.pulse(hour + 1999)
    expect((await blocksOf(chain)).at(-1)?.timestamp).toBe(BigInt(hourAt(nowMs) / 1000 + 1))
  } finally {
    await chain.stop()
  }
})

it('the same instant gives the same past', async () => {
  const chains = await Promise.all([1, 2].map(() => Devchain.build({ nowMs, hours: 3 })))
  try {
    const [one, two] = await Promise.all(chains.map(blocksOf))
    expect(one?.map(({ stateRoot }) => stateRoot)).toEqual(two?.map(({ stateRoot }) => stateRoot))
  } finally {
    await Promise.all(chains.map(chain => chain.stop()))
  }
})

it('a stopped chain leaves nothing: its node has ended', async () => {
  const chain = await Devchain.build({ nowMs, hours: 1 })
  await chain.stop()
  await chain.ended
  await expect(fetch(chain.url)).rejects.toThrow()
})
