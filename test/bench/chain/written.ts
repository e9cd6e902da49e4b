import { defineCollector, z } from 'tidegauge'
import { parseAbi } from 'viem'

const abi = parseAbi(['function valueOf(uint256 which) view returns (uint256)'])

/** A collector as a person writes it: five values of a contract. */
export default defineCollector({
  options: z.strictObject({ first: z.int() }),
  metrics: { One: {}, Two: {}, Three: {}, Four: {}, Five: {} },
  history: true,
  async collect({ options, chain }) {
    const own = { address: '0x1111111111111111111111111111111111111111', abi, functionName: 'valueOf' } as const
    const asked = [0, 1, 2, 3, 4].map(index => ({ ...own, args: [BigInt(options.first + index)] }) as const)
    const values = await chain('synthetic').read(asked)
    const [One = Number.NaN, Two = Number.NaN, Three = Number.NaN, Four = Number.NaN, Five = Number.NaN] =
      values.map(Number)
    return { One, Two, Three, Four, Five }
  },
})
