import { address, defineCollector, units, z } from 'tidegauge'
import { erc20Abi } from 'viem'

/** Supply of a token with 18 decimals, as of the hour. It is JavaScript: Node runs no TypeScript of an installed package. */
export default defineCollector({
  options: z.strictObject({
    chain: z.string().describe('name of a chain of the configuration'),
    token: address.describe('the token, 0x and 40 digits'),
  }),
  metrics: { Supply: { unit: 'TIDE', min: 0 } },
  history: true,
  async collect({ options, chain }) {
    const supply = await chain(options.chain).read({
      address: options.token,
      abi: erc20Abi,
      functionName: 'totalSupply',
    })
    return { Supply: units(supply, 18) }
  },
})
