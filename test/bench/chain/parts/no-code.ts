import { fileURLToPath } from 'node:url'
import type { OpenChainReader } from '../../../../src/chain/read/reader.ts'
import type { CollectorConfig } from '../../../../src/config/config.ts'
import { priceConfig } from '../../../../src/config/load.ts'
import { systemTime } from '../../../../src/edge/time.ts'
import { type Hour, hourAfter, hourAt } from '../../../../src/model/hour.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { ProcessRunner, type RunnerDeps } from '../../../../src/runner/daemon/process-runner.ts'
import { forgetCounts, syntheticArchive } from '../../../chain/support/synthetic-archive.ts'
import { syntheticKinds } from '../../../chain/support/synthetic-kinds.ts'
import { randomPlaces, SyntheticScene } from '../../../chain/support/synthetic-reader.ts'
import { Place } from '../../delivery/place.ts'
import type { Figure } from '../../figures.ts'

const seed = 5
const places = 3
export const hours = 12
/** Time after an hour at which it is collected: the block past it is there, as when the daemon collects. */
const afterMs = 12_000

export interface Cost {
  readonly requests: number
  readonly calls: number
  readonly ethCalls: number
  /** Those of the first hour, which is not among the others. */
  readonly firstEthCalls: number
}

/** A live hour of fifty collectors without code, some of them in US dollars, and of ten written ones. */
export async function* noCodeHours(): AsyncGenerator<Figure> {
  const archive = syntheticArchive(syntheticKinds.slots())
  await using scene = await SyntheticScene.start(archive)
  const pairs: { readonly written: Cost; readonly noCode: Cost }[] = []
  for (const from of randomPlaces(archive, places, hours + 1, seed)) {
    pairs.push({ written: await costOf(scene, written, from), noCode: await costOf(scene, noCode, from) })
  }
  const ratio = (of: 'requests' | 'calls') => pairs.map(pair => pair.noCode[of] / pair.written[of])
  const what = 'a live hour of 50 collectors without code'
  yield { what: `${what}: HTTP requests`, values: pairs.map(({ noCode }) => noCode.requests), target: { atMost: 2 } }
  yield { what: `${what}: eth_call`, values: pairs.map(({ noCode }) => noCode.ethCalls), target: { atMost: 1 } }
  yield { what: `${what}, of 10 written: requests`, values: ratio('requests'), target: { atMost: 1 } }
  yield { what: `${what}, of 10 written: calls`, values: ratio('calls'), target: { atMost: 1 } }
  yield {
    what: 'balances of 20 owners and 30 assets on 3 chains: eth_call an hour and chain',
    values: await treasuryCalls(),
    target: { atMost: 1 },
  }
}

/** `eth_call`s an hour of each of three chains. */
async function treasuryCalls(): Promise<readonly number[]> {
  await using stack = new AsyncDisposableStack()
  const names = ['one', 'two', 'three']
  const place = stack.use(new Place())
  const scenes: SyntheticScene[] = []
  const chains: Record<string, OpenChainReader> = {}
  for (const name of names) {
    const scene = stack.use(await SyntheticScene.start(syntheticArchive(syntheticKinds.slots())))
    const outbox = new SqliteOutbox(place.file(`${name}.db`))
    stack.defer(() => outbox.close())
    scenes.push(scene)
    chains[name] = scene.reader(outbox.intake.finalBlocks(1))
  }
  const runner = new ProcessRunner({
    chains,
    prices: pricesOn('one'),
    deadlineMs: 60_000,
    time: systemTime,
    log: () => {},
  })
  stack.defer(() => runner.stop())
  const collector = collectorOf('balances', 0, {
    of: Object.fromEntries(
      names.map(name => [
        name,
        {
          owners: addresses(20, 5_000),
          assets: [{ native: true, price: 'ETH' }, ...addresses(29, 6_000).map(token => ({ token, price: 'USDC' }))],
        },
      ]),
    ),
  })
  await runner.describe(collector)
  const first = hourAfter(hourAt(Math.min(...scenes.map(({ clock }) => clock.time.nowMs()))), -hours - 1)
  for (let passed = 0; passed <= hours; passed += 1) {
    const hour = hourAfter(first, passed)
    for (const scene of scenes) {
      if (passed === 1) forgetCounts(scene.archive)
      scene.followClock(hour + afterMs)
    }
    await runner.collect(collector, hour)
  }
  return scenes.map(({ archive }) => (archive.counts.callsByMethod.get('eth_call') ?? 0) / hours)
}

/** Cost of an hour, once the first has passed. @param named lists, and prices in place of the usual ones */
export async function costOf(
  scene: SyntheticScene,
  collectors: readonly CollectorConfig[],
  from: Hour,
  named: Pick<RunnerDeps, 'lists' | 'prices'> = {},
): Promise<Cost> {
  await using place = new Place()
  const outbox = new SqliteOutbox(place.file('outbox.db'))
  const chain = scene.reader(outbox.intake.finalBlocks(1))
  const runner = new ProcessRunner({
    chains: { synthetic: chain },
    prices,
    ...named,
    deadlineMs: 60_000,
    time: systemTime,
    log: () => {},
  })
  await Promise.all(
    [...collectors, ...Object.values(named.prices ?? prices)].map(collector => runner.describe(collector)),
  )
  let firstEthCalls = 0
  for (let passed = 0; passed <= hours; passed += 1) {
    const { callsByMethod } = scene.archive.counts
    if (passed === 1) firstEthCalls = callsByMethod.get('eth_call') ?? 0
    if (passed <= 1) forgetCounts(scene.archive)
    const hour = hourAfter(from, passed)
    scene.followClock(hour + afterMs)
    const outcomes = await Promise.all(collectors.map(collector => runner.collect(collector, hour)))
    const [failure] = outcomes.flatMap(({ failures }) => Object.values(failures))
    if (failure) throw new Error(failure.message)
  }
  const { requests, calls, callsByMethod } = scene.archive.counts
  await runner.stop()
  outbox.close()
  const ethCalls = (callsByMethod.get('eth_call') ?? 0) / hours
  return { requests: requests / hours, calls: calls / hours, ethCalls, firstEthCalls }
}

const configFile = fileURLToPath(new URL('../tidegauge.yaml', import.meta.url))
const place = { file: configFile, line: 1, column: 1 }
export const chain = 'synthetic'

export function collectorOf(use: string, index: number, options: unknown): CollectorConfig {
  return { id: `bench/${use}-${index}`, protocolId: 'bench', use, options, place, placeOf: () => place }
}

const written = Array.from({ length: 10 }, (_, index) => collectorOf('./written.ts', index, { first: 1 + 5 * index }))

export const addressOf = (index: number) => `0x${index.toString(16).padStart(40, '0')}`
export const addresses = (count: number, from: number) =>
  Array.from({ length: count }, (_, index) => addressOf(from + index))

function pricesOn(chain: string): Readonly<Record<string, CollectorConfig>> {
  const feed = (index: number) => ({ chain, feed: addressOf(1_000 + index), maxAge: 90_000 })
  const sources = {
    ETH: [feed(1), feed(2)],
    BTC: [feed(3)],
    stETH: [{ ...feed(4), price: 'ETH' }],
    USDC: [{ fixed: 1 }],
  }
  return Object.fromEntries(
    Object.entries(sources).map(([name, all]) => [name, priceConfig(name, all, () => place).collector]),
  )
}

const prices = pricesOn(chain)

const noCode = Array.from({ length: 50 }, (_, index) => {
  const address = addressOf(1 + index)
  if (index % 5 === 0) return collectorOf('erc20-supply', index, { chain, token: address })
  if (index % 5 === 1) {
    const owners = addresses(20, 5_000)
    const tokens = addresses(5, 6_000).map(token => ({ token, price: 'USDC' }))
    return collectorOf('balances', index, {
      of: { [chain]: { owners, assets: [{ native: true, price: 'ETH' }, ...tokens] } },
    })
  }
  const rate = 'rateOf(uint256 which) view returns (uint256)'
  return collectorOf('contract-read', index, {
    chain,
    address,
    values: {
      Supply: { call: 'totalSupply() view returns (uint256)', decimals: true },
      Rate: { call: rate, args: [index], decimals: 27, private: true },
      Value: { product: ['Supply', 'Rate', { price: index % 2 === 0 ? 'stETH' : 'BTC' }] },
    },
  })
})
