import { type Address, encodeDeployData, encodeFunctionData, type Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { artifact } from '../../src/devchain/contracts.ts'
import { hourAt, hourText } from '../../src/model/hour.ts'
import { tinyContract } from '../cli/commands/tiny-contract.ts'
import { hasNodes, RealNode } from '../support/real-node.ts'
import { configured, tidegauge } from '../support/tidegauge.ts'

const hour = hourAt(Date.UTC(2026, 10, 20, 11))
const genesisSeconds = hour / 1000 - 3_900
const owners = Array.from({ length: 600 }, (_, n): Address => `0x${(n + 1).toString(16).padStart(40, '0')}`)

/** Ten thousandths of a dollar that one is worth. */
const price = 12_345n
const words = (...values: readonly bigint[]): Hex =>
  `0x${values.map(value => value.toString(16).padStart(64, '0')).join('')}`

async function deployed(node: RealNode, seconds: number, data: Hex): Promise<Address> {
  await node.mine(seconds, { data })
  const { transactions } = await node.rpc<{ transactions: Hex[] }>('eth_getBlockByNumber', 'latest', false)
  return (await node.rpc<{ contractAddress: Address }>('eth_getTransactionReceipt', transactions[0])).contractAddress
}

describe.skipIf(!hasNodes())('a node of another project answers 600 calls and a price', () => {
  it.for([
    ['hardhat', 'with Multicall3'],
    ['hardhat', 'without'],
    ['ganache', 'with Multicall3'],
    ['ganache', 'without'],
  ] as const)('%s %s: of a list, and each by a value of its own', async ([name, multicall]) => {
    const node = await RealNode.start(name, genesisSeconds)
    const contract = artifact('Token')
    const token = await deployed(node, genesisSeconds + 60, encodeDeployData({ ...contract, args: ['T', 'T', 6] }))
    const round = words(9n, price * 10_000n, 0n, BigInt(hour / 1000 - 60), 9n)
    const answers = { 'latestRoundData()': round, 'decimals()': words(8n) }
    const feed = await deployed(node, genesisSeconds + 120, tinyContract(answers, 'reverts').bytecode)
    if (multicall === 'with Multicall3') await node.placeMulticall3()
    // The first and the last have some.
    for (const [place, amount] of [
      [0, 5_000_001n],
      [599, 7_000_000n],
    ] as const) {
      const data = encodeFunctionData({ ...contract, functionName: 'mint', args: [owners[place], amount] })
      await node.mine(hour / 1000 - 1_200 + place, { to: token, data })
    }
    for (const seconds of [0, 60, 120]) await node.mine(hour / 1000 + seconds)

    const call = { call: 'balanceOf(address) view returns (uint256)', address: token, decimals: true, private: true }
    const dollars = (label: string) => ({ product: [label, { price: 'P' }], unit: 'USD' })
    const each = owners.flatMap((owner, n) => [
      [`B${n}`, { ...call, args: [owner] }],
      [`V${n}`, dollars(`B${n}`)],
    ])
    const values = {
      B: { ...call, args: ['item'] },
      V: { ...dollars('B'), private: true },
      X: { total: 'V', unit: 'USD' },
    }
    const { config } = configured(
      JSON.stringify({
        service: 'embedded',
        chains: { c: { id: 31_337, rpc: [node.url], settle: '0s' } },
        prices: { P: [{ chain: 'c', feed }] },
        lists: { L: { chain: 'c', fixed: owners } },
        protocols: [
          {
            id: 'p',
            name: 'P',
            collectors: [
              { use: 'contract-read', id: 'list', options: { chain: 'c', each: 'L', values } },
              { use: 'contract-read', id: 'each', options: { chain: 'c', values: Object.fromEntries(each) } },
            ],
          },
        ],
      }),
    )
    const { stdout } = await tidegauge(['collect', '--dry-run', '--json', '--hour', hourText(hour), '--config', config])
    const { metrics, faults } = JSON.parse(stdout) as { metrics: { id: string; value: number }[]; faults: unknown }
    expect(faults).toEqual([])
    const worth = new Map(metrics.map(({ id, value }) => [id, value]))
    const of = (amount: bigint) => Number(`${amount * price}e-10`)
    const expected = owners.map(
      (_, n) => [`p___V${n}`, of(n === 0 ? 5_000_001n : n === 599 ? 7_000_000n : 0n)] as const,
    )
    expect(worth).toEqual(new Map([['p___X', of(12_000_001n)], ...expected]))
  })
})
