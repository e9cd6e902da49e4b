import { address, defineCollector, units, z } from 'tidegauge'
import { labelOption } from './values/declared.ts'

/** Native balance of an address, in whole coins: every EVM chain's own coin has 18 decimals. */
export default defineCollector({
  options: z.strictObject({
    chain: z.string().describe('the name of a chain of the configuration'),
    address: address.describe('the account'),
    unit: z.string().default('ETH').describe("the coin's symbol"),
    label: labelOption.max(16).default('Balance').describe('must differ when a protocol uses several'),
  }),
  metrics: ({ label, unit }) => ({ [label]: { unit, min: 0 } }),
  history: true,
  async collect({ options, chain }) {
    return { [options.label]: units(await chain(options.chain).balance(options.address), 18) }
  },
})
