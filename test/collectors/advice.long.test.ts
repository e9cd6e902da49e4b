import { type Address, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import { priceConfig } from '../../src/config/load.ts'
import { type Artifact, artifact } from '../../src/devchain/contracts.ts'
import { systemTime } from '../../src/edge/time.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { tinyContract } from '../cli/commands/tiny-contract.ts'
import { configured } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { ownContract } from '../support/contracts.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { type AdviceWorld, adviceRows, type Trial } from './advice-rows.ts'
import { printed } from './advice-texts.ts'

/** Words as a contract returns them. */
const words = (...values: readonly bigint[]): Hex =>
  `0x${values.map(value => BigInt.asUintN(256, value).toString(16).padStart(64, '0')).join('')}`

const account: Address = `0x${'7e'.repeat(20)}`
const answer = 123_456_780n
const place = { file: '/tidegauge.yaml', line: 1, column: 1 }

let chain: ProtocolChain
let reader: OpenChainReader
let source: Source
let world: AdviceWorld

beforeAll(async () => {
  chain = await ProtocolChain.start()
  source = await startSource(answerTo)
  reader = chain.reader('demo')
  world = await deployed()
})
afterAll(async () => {
  reader?.close()
  await source?.stop()
  await chain?.stop()
})

async function deployed(): Promise<AdviceWorld> {
  const deploy = async (contract: Artifact) => (await chain.deploy(contract)).address
  const registry = await chain.deploy(await ownContract('Registry'))
  await chain.send(registry, 'add', [1, 2])
  const before = await chain.nextHour()
  // Within the last hour one takes the place of another, which leaves.
  await chain.send(registry, 'add', [9, 1])
  await chain.send(registry, 'put', [0, 7])
  await chain.send(registry, 'remove', [1])
  const six = await chain.deploy(artifact('Token'), ['T', 'T', 6])
  const eighteen = await chain.deploy(artifact('Token'), ['T', 'T', 18])
  await chain.send(six, 'mint', [account, 5_001_000_001n])
  await chain.send(eighteen, 'mint', [account, 25n * 10n ** 17n])
  const silent = tinyContract({ 'balanceOf(address)': words(64_000_007n), 'totalSupply()': words(1_275n) }, 'reverts')
  const round = (atSeconds: number) => ({ 'latestRoundData()': words(9n, answer, 0n, BigInt(atSeconds), 9n) })
  const decimals = { 'decimals()': words(8n) }
  const lastSeconds = (before + 3_600_000) / 1000
  const observed = tinyContract(
    {
      'token0()': words(BigInt(six.address)),
      'token1()': words(BigInt(eighteen.address)),
      'observe(uint32[])': words(64n, 160n, 2n, 0n, 600n * 270_000n, 2n, 0n, 0n),
    },
    'reverts',
  )
  const lendingPool = await deploy(
    tinyContract({ 'getReservesList()': words(32n, 1n, BigInt(six.address)) }, 'reverts'),
  )
  // 2,000 of six are supplied, of which each is 0.0004 of the base currency.
  const answersOfOracle = {
    'BASE_CURRENCY()': words(BigInt(eighteen.address)),
    'BASE_CURRENCY_UNIT()': words(10n ** 18n),
    'getAssetPrice(address)': words(4n * 10n ** 14n),
    'getReserveData(address)': words(0n, 0n, 2_000_000_000n, 0n, 0n, 0n, 0n),
  }
  const oracle = await deploy(tinyContract(answersOfOracle, 'reverts'))
  const named = { 'getPool()': lendingPool, 'getPriceOracle()': oracle, 'getPoolDataProvider()': oracle }
  const answersOfProvider = Object.entries(named).map(([name, address]) => [name, words(BigInt(address))] as const)
  const addresses = {
    ...{ lendingPool, provider: await deploy(tinyContract(Object.fromEntries(answersOfProvider), 'reverts')) },
    ...{ six: six.address, eighteen: eighteen.address, silent: await deploy(silent), account },
    ...{ registry: registry.address, url: source.url },
    bareFeed: await deploy(tinyContract({ ...round(lastSeconds - 60), 'latestAnswer()': words(answer) }, 'reverts')),
    timelessFeed: await deploy(tinyContract({ 'latestAnswer()': words(answer), ...decimals }, 'reverts')),
    oldFeed: await deploy(tinyContract({ ...round(lastSeconds - 100_000), ...decimals }, 'reverts')),
    pool: await deploy(forgetful(await deploy(observed))),
  }
  const last = await chain.nextHour()
  // The chain has a block past it.
  await chain.nextHour()
  return { ...addresses, hours: [before, last] }
}

/** A contract that answers as another one, and reverts with the word OLD where its first number of a list is 1800. */
function forgetful(other: Address): Artifact {
  const forward = `3660006000376000600036600073${other.slice(2)}5afa503d6000600 03e3d6000f3`.replace(' ', '')
  const jump = 11 + forward.length / 2
  const store = (at: number, hex: string) => `7f${hex.padEnd(64, '0')}60${at.toString(16).padStart(2, '0')}52`
  const revert = `5b${store(0, '08c379a0')}${store(4, '20'.padStart(64, '0'))}${store(36, '3'.padStart(64, '0'))}${store(68, '4f4c44')}60646000fd`
  const runtime = `60443561070814 61${jump.toString(16).padStart(4, '0')}57${forward}${revert}`.replace(' ', '')
  return {
    abi: parseAbi(['function observe(uint32[])']),
    bytecode: `0x61${(runtime.length / 2).toString(16).padStart(4, '0')}80600c6000396000f3${runtime}`,
  }
}

/** 130 items that are 1 each, so many on a page; powers of two by their offset; and texts. */
function answerTo(target: string) {
  const { pathname, searchParams } = new URL(target, 'http://a')
  const [limit, page] = [Number(searchParams.get('limit') ?? 100), Number(searchParams.get('page') ?? 1)]
  const items = Array.from({ length: 130 }, (_, n) => ({ n, v: 1 })).slice((page - 1) * limit, page * limit)
  const offset = Number(searchParams.get('o'))
  const powers = Array.from({ length: 10 }, (_, power) => ({ v: 2 ** power }))
  const twoHours = Date.parse(searchParams.get('at') ?? '') - 7_200_000
  const addresses = [world?.six, null, world?.eighteen].map(address => ({ address }))
  const answers: Readonly<Record<string, unknown>> = {
    '/cut': { list: items },
    '/map': { list: { ...items } },
    '/cursor': { list: items, ...(items.length === limit && { next: page + 1 }) },
    '/offset': { list: powers.slice(offset, offset + 3) },
    '/none': { list: [] },
    '/texts': { clear: '1,234.5', decimalComma: '12,345', thousandths: 12_345 },
    '/old': { v: 7, at: twoHours, name: 'spot' },
    '/tokens': { list: addresses },
  }
  return { body: JSON.stringify(answers[pathname]) }
}

/** The value of a trial, and all that is said of it; its lists were read in the hour before, too. */
async function tried({ use, options, lists = {}, prices = {}, label = 'X' }: Trial) {
  const said: string[] = []
  const named = Object.entries(prices).map(
    ([name, sources]) => [name, priceConfig(name, sources, () => place)] as const,
  )
  const runner = new ProcessRunner({
    ...{ chains: { demo: reader }, deadlineMs: 60_000, time: systemTime },
    log: (_collector, _level, message) => void said.push(message),
    lists: Object.fromEntries(
      Object.entries(lists).map(([name, list]) => [
        name,
        configured('list', { id: `list/${name}`, options: { chain: 'demo', ...list } }),
      ]),
    ),
    prices: Object.fromEntries(named.map(([name, { collector }]) => [name, collector])),
  })
  onTestFinished(() => runner.stop())
  const collector = configured(use, { options })
  const description = await runner.describe(collector)
  if (description.kind !== 'usable') return { said: description.mistakes.map(({ message }) => message) }
  const [before, last] = world.hours
  if (Object.keys(lists).length > 0) await runner.collect(collector, before).catch(() => {})
  const outcome = await runner.collect(collector, last).catch((error: Error) => ({ readings: {}, failures: { error } }))
  for (const { message, fix } of Object.values(outcome.failures) as { message: string; fix?: string }[])
    said.push(`${message} → ${fix}`)
  return { said, value: (outcome.readings as Readonly<Record<string, number>>)[label] }
}

it.for(adviceRows)('$advice', async ({ advice, wrong, right, values }) => {
  expect((await tried(wrong(world))).said.join('\n')).toMatch(printed(advice))
  const followed = await Promise.all([right(world)].flat().map(tried))
  expect(followed.map(({ value, said }) => value ?? said)).toEqual(values)
  // The same is not said again.
  expect(followed.flatMap(({ said }) => said).join('\n')).not.toMatch(printed(advice))
})
