import { decodeFunctionData, encodeFunctionResult, erc20Abi, type Hex } from 'viem'
import { expect, it, onTestFinished } from 'vitest'
import type { ReadAnswer, ReadRequest } from '../../src/chain/reads.ts'
import { collectorsByName } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { hour } from '../runner/setup.ts'
import { chainOf } from '../support/reads.ts'

/** A treasury of 12 tokens on 2 chains, from the first line to the last. */
const treasury = `service: embedded
chains:
  ethereum: { id: 1, rpc: [http://127.0.0.1:8545] }
  base: { id: 8453, rpc: [http://127.0.0.1:8546] }
prices:
  ETH: { sources: [{ fixed: 3000 }], tokens: { ethereum: native, base: native } }
  WETH: { sources: [{ price: ETH }], tokens: { ethereum: "0x0000000000000000000000000000000000000a01", base: "0x0000000000000000000000000000000000000b01" } }
  USDC: { sources: [{ fixed: 1 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a02", base: "0x0000000000000000000000000000000000000b02" } }
  USDT: { sources: [{ fixed: 1 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a03", base: "0x0000000000000000000000000000000000000b03" } }
  DAI: { sources: [{ fixed: 1 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a04", base: "0x0000000000000000000000000000000000000b04" } }
  WBTC: { sources: [{ fixed: 60000 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a05", base: "0x0000000000000000000000000000000000000b05" } }
  LINK: { sources: [{ fixed: 10 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a06", base: "0x0000000000000000000000000000000000000b06" } }
  UNI: { sources: [{ fixed: 5 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a07", base: "0x0000000000000000000000000000000000000b07" } }
  AAVE: { sources: [{ fixed: 100 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a08", base: "0x0000000000000000000000000000000000000b08" } }
  CRV: { sources: [{ fixed: 0.5 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a09", base: "0x0000000000000000000000000000000000000b09" } }
  stETH: { sources: [{ price: ETH }], tokens: { ethereum: "0x0000000000000000000000000000000000000a10", base: "0x0000000000000000000000000000000000000b10" } }
  ARB: { sources: [{ fixed: 2 }], tokens: { ethereum: "0x0000000000000000000000000000000000000a11", base: "0x0000000000000000000000000000000000000b11" } }
x-all: &all { owners: ["0x0000000000000000000000000000000000000c01"], assets: [ETH, WETH, USDC, USDT, DAI, WBTC, LINK, UNI, AAVE, CRV, stETH, ARB] }
protocols:
  - id: dao
    name: DAO
    collectors:
      - { use: balances, options: { label: Treasury, unit: USD, of: { ethereum: *all, base: *all } } }
`

/** One token of each kind for each address that ends in it, and two coins. */
const chain = (tokens: Hex) =>
  chainOf({
    block: async () => ({ number: 1n, hash: '0x00', timestampSeconds: hour / 1000 }),
    logs: async () => [],
    read: async (_, requests: readonly ReadRequest[]) =>
      requests.map((request): ReadAnswer => {
        if (request.kind !== 'call')
          return { kind: 'returned', output: `0x${(2n * 10n ** 18n).toString(16).padStart(64, '0')}` }
        if (!request.to.startsWith(tokens)) return { kind: 'reverted', output: '0x12345678' }
        const { functionName } = decodeFunctionData({ abi: erc20Abi, data: request.input })
        const result = functionName === 'decimals' ? 6 : 1_500_000n
        return {
          kind: 'returned',
          output: encodeFunctionResult({
            abi: erc20Abi,
            functionName: functionName as 'balanceOf',
            result: result as bigint,
          }),
        }
      }),
  })

it('a treasury of 12 tokens on 2 chains is a configuration of 23 lines', async () => {
  expect(treasury.trimEnd().split('\n')).toHaveLength(23)
  const config = parseConfig('/etc/tidegauge.yaml', treasury)
  const runner = new ProcessRunner({
    chains: {
      ethereum: chain('0x0000000000000000000000000000000000000a'),
      base: chain('0x0000000000000000000000000000000000000b'),
    },
    deadlineMs: 30_000,
    time: systemTime,
    prices: collectorsByName(config.prices),
    log: () => {},
  })
  onTestFinished(() => runner.stop())
  const [collector] = config.protocols[0]?.collectors ?? []
  if (!collector) throw new Error('there is no collector')
  const { readings } = await runner.collect(collector, hour)
  // On each chain 2 coins, and 1.5 of each of the others.
  const each = 2 * 3000 + 1.5 * (3000 + 1 + 1 + 1 + 60000 + 10 + 5 + 100 + 0.5 + 3000 + 2)
  expect(readings).toEqual({ Treasury: 2 * each })
})
