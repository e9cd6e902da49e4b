import { address, defineCollector, units, z } from 'tidegauge'
import { parseAbi } from 'viem/utils'

const abi = parseAbi(['function amount(uint256 which) view returns (uint256)'])
const labels = ['One', 'Two', 'Three', 'Four', 'Five']

/**
 * Five values of a synthetic archive: each grows with the block's number, as nothing real does, so that any other block
 * than the right one gives another value. `first` makes collectors differ.
 */
export default defineCollector({
  options: z.strictObject({ chain: z.string(), contract: address, first: z.int().min(1) }),
  metrics: Object.fromEntries(labels.map(label => [label, { unit: 'TIDE', min: 0 }])),
  history: true,
  async collect({ options, chain }) {
    const calls = labels.map((_, index) => ({
      address: options.contract,
      abi,
      functionName: 'amount' as const,
      args: [BigInt(options.first + index)] as const,
    }))
    const amounts = await chain(options.chain).read(calls)
    return Object.fromEntries(labels.map((label, index) => [label, units(amounts[index] ?? -1n, 6)]))
  },
})

/** Number of the collector's metrics. */
export const metricsEach = labels.length
