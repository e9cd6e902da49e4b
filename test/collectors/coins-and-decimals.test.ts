import { type Address, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import { artifact } from '../../src/devchain/contracts.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { tinyContract } from '../cli/commands/tiny-contract.ts'
import { configured } from '../runner/setup.ts'
import { feeEmitter, feeEvent } from '../support/fee-emitter.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'

/** Decimals of each token, what was paid in it, what the treasury has, and its price in units of a ten thousandth. */
const ofTokens = [
  { decimals: 0, paid: 3n, held: 41n, price: 3_700n },
  { decimals: 6, paid: 5_001_000_001n, held: 777_000_003n, price: 10_001n },
  { decimals: 18, paid: 12_345_678_901_234_567_891n, held: 9_999_999_999_999_999_999n, price: 25_005_000n },
  // Without decimals(): the configuration says 3.
  { decimals: 3, paid: 1_275n, held: 64_000_007n, price: 122_500n },
  // The coin.
  { decimals: 18, paid: 70_000_000_000_000_001n, held: 2_000_000_000_000_000_003n, price: 30_001_250n },
] as const

let chain: ProtocolChain
let reader: OpenChainReader
let runner: ProcessRunner
let hour: Hour
let dex: Deployed
let tokens: readonly Address[] = []
const treasury: Address = `0x${'7e'.repeat(20)}`
const place = { file: '/tidegauge.yaml', line: 1, column: 1 }

beforeAll(async () => {
  chain = await ProtocolChain.start()
  dex = await chain.deploy(feeEmitter())
  const deployed: Deployed[] = []
  for (const { decimals } of ofTokens.slice(0, 3))
    deployed.push(await chain.deploy(artifact('Token'), ['T', 'T', decimals]))
  const held = `0x${ofTokens[3].held.toString(16).padStart(64, '0')}` as Hex
  const mute = await chain.deploy(tinyContract({ 'balanceOf(address)': held }, 'reverts'))
  tokens = [...deployed, mute].map(({ address }) => address)
  const coin: Address = `0x${'0'.repeat(40)}`
  for (const [index, { paid, held }] of ofTokens.entries()) {
    const token = deployed[index]
    if (token) await chain.send(token, 'mint', [treasury, held])
    await chain.send(dex, 'pay', [tokens[index] ?? coin, paid])
  }
  await chain.send({ address: treasury, abi: parseAbi(['function give()']) }, 'give', [], { value: ofTokens[4].held })
  hour = await chain.nextHour()
  // The chain has a block past the hour.
  await chain.nextHour()
  reader = chain.reader('demo')
  const names = Object.fromEntries([...tokens, `0x${'E'.repeat(40)}`].map((address, index) => [address, `P${index}`]))
  const prices = [
    ...ofTokens.map(({ price }, index) =>
      priceConfig(
        `P${index}`,
        [{ fixed: `${price / 10_000n}.${String(price % 10_000n).padStart(4, '0')}` }],
        () => place,
      ),
    ),
    tokenPriceConfig('demo', [names], () => place),
  ]
  const listOf = (fixed: readonly Address[]) => configured('list', { options: { chain: 'demo', fixed } })
  runner = new ProcessRunner({
    ...{ chains: { demo: reader }, deadlineMs: 60_000, time: systemTime, log: () => {} },
    lists: { tokens: listOf(tokens), all: listOf([...tokens, coin]) },
    prices: Object.fromEntries(prices.map(({ name, collector }) => [name, collector])),
  })
})
afterAll(async () => {
  await runner?.stop()
  reader?.close()
  await chain?.stop()
})

/** The exact sum in US dollars, by whole numbers of 10^-22. */
function dollars(part: 'paid' | 'held', places = ofTokens.map((_, place) => place)): number {
  const worth = places.map(index => {
    const { decimals, price, ...amounts } = ofTokens[index] ?? ofTokens[0]
    return amounts[part] * price * 10n ** BigInt(18 - decimals)
  })
  return Number(`${worth.reduce((sum, each) => sum + each, 0n)}e-22`)
}

it('amounts of the coin and of tokens with 0, 6, 18 decimals and without any are worth what fractions say', async () => {
  const collected = async (use: string, options: Record<string, unknown>) => {
    const { readings, failures } = await runner.collect(configured(use, { options }), hour)
    expect(failures).toEqual({})
    return readings['X']
  }
  const priced = { price: 'token', decimals: 3 }
  const event = { chain: 'demo', address: dex.address, event: feeEvent, sum: 'amount', token: 'token', label: 'X' }
  expect(await collected('event-sum', { ...event, ...priced })).toBe(dollars('paid'))
  const of = { demo: { owners: [treasury], assets: [{ token: { each: 'all' }, ...priced }] } }
  expect(await collected('balances', { label: 'X', of })).toBe(dollars('held'))
  const Held = { call: 'balanceOf(address) view returns (uint256)', args: [treasury], private: true, ...priced }
  const values = { Held, X: { total: 'Held' } }
  expect(await collected('contract-read', { chain: 'demo', each: 'tokens', values })).toBe(
    dollars('held', [0, 1, 2, 3]),
  )
})
