import { address, defineCollector, units, z } from 'tidegauge'
import { erc20Abi, erc4626Abi } from 'viem'

/**
 * An ERC-4626 vault: its assets (`totalAssets()`) and the price of one whole share (`convertToAssets()`), both in whole
 * tokens of the vault's asset. The decimals of share and asset are read on chain.
 */
export default defineCollector({
  options: z.strictObject({
    chain: z.string(),
    vault: address,
    unit: z.string().optional().describe("the asset's symbol"),
  }),
  metrics: ({ unit }) => ({ TVL: { unit, min: 0 }, SharePrice: { unit, min: 0 } }),
  history: true,
  async collect({ options, chain }) {
    const { read } = chain(options.chain)
    const vault = { address: options.vault, abi: erc4626Abi } as const
    const [assets, asset, shareDecimals] = await read([
      { ...vault, functionName: 'totalAssets' },
      { ...vault, functionName: 'asset' },
      { address: options.vault, abi: erc20Abi, functionName: 'decimals' },
    ])
    const [decimals, price] = await Promise.all([
      read({ address: asset, abi: erc20Abi, functionName: 'decimals' }),
      read({ ...vault, functionName: 'convertToAssets', args: [10n ** BigInt(shareDecimals)] }),
    ])
    return { TVL: units(assets, decimals), SharePrice: units(price, decimals) }
  },
})
