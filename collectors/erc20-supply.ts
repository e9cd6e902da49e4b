import { address, defineCollector, units, z } from 'tidegauge'
import { erc20Abi } from 'viem'

/** Total supply of an ERC-20 token (`totalSupply()`), in whole tokens. The token's own `decimals()` are used. */
export default defineCollector({
  options: z.strictObject({
    chain: z.string(),
    token: address,
    unit: z.string().optional().describe("the token's symbol"),
    label: z.string().max(16).default('Supply').describe('must differ when a protocol uses several'),
  }),
  metrics: ({ label, unit }) => ({ [label]: { unit, min: 0 } }),
  history: true,
  async collect({ options, chain }) {
    const token = { address: options.token, abi: erc20Abi } as const
    const [supply, decimals] = await chain(options.chain).read([
      { ...token, functionName: 'totalSupply' },
      { ...token, functionName: 'decimals' },
    ])
    return { [options.label]: units(supply, decimals) }
  },
})
