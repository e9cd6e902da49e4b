import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallMeter } from '../../src/chain/endpoint/call-meter.ts'
import { createChainReader, type OpenChainReader } from '../../src/chain/read/reader.ts'
import { Devchain } from '../../src/devchain/devchain.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { type Truth, truthOf } from '../demo/truth.ts'
import { configured } from '../runner/setup.ts'
import { sampleOf } from '../support/soak.ts'
import { collectorContract } from './contract.ts'

/** Against a real node with real contracts and a past of a few hours. */
let scene: Devchain
let truth: Truth
let reader: OpenChainReader
const meter = new CallMeter()

beforeAll(async () => {
  scene = await Devchain.build({ nowMs: systemTime.nowMs(), hours: 4 })
  truth = await truthOf(scene)
  reader = createChainReader({ name: 'demo', id: scene.chainId, endpoints: [scene.url], time: systemTime, meter })
})
afterAll(async () => {
  reader?.close()
  await scene?.stop()
})

const chains = () => ({ demo: reader })
const hours = () => scene.hours.slice(1, 4)
const at = (option: string, name: keyof Devchain['addresses']) => () => ({
  chain: 'demo',
  [option]: scene.addresses[name],
})

/** The values of the vault, and the supply of its asset, by the signatures of their functions. */
const vaultValues = (dollar: string) => ({
  TVL: { call: 'totalAssets() view returns (uint256)', decimals: { address: dollar } },
  SharePrice: {
    call: 'convertToAssets(uint256 shares) view returns (uint256)',
    // Of many shares: for one it is rounded down to the smallest unit of the asset.
    args: [String(10n ** 24n)],
    decimals: 24,
  },
  Supply: { address: dollar, call: 'totalSupply() view returns (uint256)', decimals: true },
})

/** Collector, its options, and the protocol under which the truth knows its metrics. */
const cases = [
  ['erc20-supply', at('token', 'tide'), 'demo-pool'],
  ['erc4626-vault', at('vault', 'vault'), 'demo-vault'],
  [
    'balances',
    () => ({ unit: 'ETH', of: { demo: { owners: [scene.addresses.treasury], assets: [{ native: true }] } } }),
    'demo-treasury',
  ],
  ['uniswap-v2-pool', at('pool', 'pool'), 'demo-pool'],
  ['chainlink-feed', at('feed', 'feed'), 'demo-price'],
  ['contract-read', () => ({ ...at('address', 'vault')(), values: vaultValues(scene.addresses.dollar) }), 'demo-vault'],
] as const

for (const [use, options] of sampleOf(cases, 1)) collectorContract(use, { use, options, hours, chains })

describe('what is collected is what the chain says as of the hour:', () => {
  let runner: Runner
  beforeAll(() => {
    runner = new ProcessRunner({ chains: chains(), deadlineMs: 60_000, time: systemTime, log: () => {} })
  })
  afterAll(() => runner.stop())

  it.for(cases)('%s', async ([use, options, protocol]) => {
    const quote = use === 'uniswap-v2-pool' ? { quote: dollarSide(scene) } : {}
    for (const hour of hours()) {
      const { readings } = await runner.collect(configured(use, { options: { ...options(), ...quote } }), hour)
      expect(readings).toEqual(await truths(protocol, Object.keys(readings), hour))
    }
  })

  it('a pool without a curve of its own is at most two eth_calls an hour, once it is known to say nothing of one', async () => {
    // The second is of its tokens, which are asked for their decimals whatever is written.
    const options = { ...at('pool', 'pool')(), decimals0: 18, decimals1: 6 }
    const ethCalls = () => meter.counts().calls['eth_call'] ?? 0
    const costs: number[] = []
    for (const hour of scene.hours.slice(0, 4)) {
      const before = ethCalls()
      await runner.collect(configured('uniswap-v2-pool', { options }), hour)
      costs.push(ethCalls() - before)
    }
    expect(Math.max(...costs.slice(1))).toBeLessThanOrEqual(2)
  })
})

function dollarSide({ addresses: { dollar, tide } }: Devchain): 'token0' | 'token1' {
  return BigInt(dollar) < BigInt(tide) ? 'token0' : 'token1'
}

async function truths(protocol: string, labels: readonly string[], hour: Hour): Promise<Record<string, unknown>> {
  const pairs = labels.map(async label => [label, await truth.value(metricId(protocol, label), hour)] as const)
  return Object.fromEntries(await Promise.all(pairs))
}
