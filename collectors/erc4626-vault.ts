import { type ChainAsOf, type CollectContext, type DeclaredMetric, defineCollector, z } from 'tidegauge'
import { erc4626Abi } from 'viem'
import { placeMistakes } from './values/by-chain.ts'
import { addressesNow, contracts, type WrittenAddresses } from './values/contracts.ts'
import { decimalsReader, ofOption } from './values/decimals.ts'
import { tokenDecimals } from './values/decimals-option.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { type Fraction, scaled, total } from './values/fraction.ts'
import { noneMistakes, noneOption, readingOf } from './values/none.ts'
import { priced, priceOption } from './values/price/exact-price.ts'

const takes = ['TVL', 'SharePrice'] as const

const vaults = {
  chain: z.string().optional().describe('the name of a chain of the configuration'),
  vault: contracts.optional().describe('the vault, or several of one asset whose assets are added up'),
  decimals: tokenDecimals.describe('of an asset that has no decimals(): one that has them is asked'),
  of: z
    .record(z.string(), z.strictObject({ vault: contracts, decimals: tokenDecimals }))
    .optional()
    .describe('vault by the names of several chains, added up'),
}

const value = z.strictObject({
  ...vaults,
  take: z.enum(takes).default('TVL').describe('the assets, or the price of one whole share'),
  price: priceOption,
  none: noneOption,
  ...declared,
})

const options = z
  .strictObject({
    ...vaults,
    price: priceOption,
    none: noneOption,
    unit: z.string().optional().describe("the asset's symbol; USD with a price"),
    values: z.record(labelOption, value).optional().describe('by label, where there are several'),
  })
  .superRefine((input, context) => {
    const tell = (path: readonly (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    const mistakes = placeMistakes(input, { ofChain: ['vault', 'decimals'], ofValue: ['price', 'none', 'unit'] })
    for (const { path, message } of mistakes) tell(path, message)
    for (const [label, each] of Object.entries(input.values ?? { '': input })) {
      const vaults = placesOf(each).map(({ vault }) => vault)
      for (const { path, message } of noneMistakes(each.none, ...vaults))
        tell([...(input.values ? ['values', label] : []), ...path], message)
    }
    for (const [label, each] of Object.entries(input.values ?? {})) {
      if (each.take === 'SharePrice' && !isSingle(each))
        tell(['values', label, 'take'], 'is the price of one vault, and there are several')
    }
  })

type Options = z.output<typeof options>
type Vaults = Pick<Options, keyof typeof vaults>
type Value = Vaults & DeclaredMetric & Pick<Options, 'price' | 'none'> & { readonly take: (typeof takes)[number] }

interface Vault {
  readonly chain: string
  readonly address: `0x${string}`
  /** Of the asset, where it has no `decimals()`. */
  readonly decimals: number | undefined
}

/**
 * ERC-4626 vaults: their assets (`totalAssets()`) and the price of one whole share (`convertToAssets()`), both in whole
 * tokens of the asset. The decimals of share and asset are read on chain. The assets of several vaults, also on several
 * chains, are added up, and then there is no share price. With a price both are in US dollars. A sum is whole or fails.
 */
export default defineCollector({
  options,
  metrics: given =>
    Object.fromEntries(
      Object.entries(valuesOf(given)).map(([label, each]) => [label, { ...declaration(each), min: each.min ?? 0 }]),
    ),
  history: true,
  collect({ options, chain, price, list }) {
    const readValue = async ({ take, ...vaultValue }: Value) => {
      const readVault = take === 'TVL' ? assetsOf : sharePriceOf
      const vaults = await vaultsOf(vaultValue, options.chain, list)
      const parts = vaults.map(vault => {
        const vaultChain = chain(vault.chain)
        // Asked for by the price of the token alone.
        const token = vaultValue.price === 'token' ? assetOf(vaultChain, vault) : '0x'
        return priced(price, vaultValue.price, readVault(vaultChain, vault), { chain: vault.chain, token })
      })
      return readingOf(total(await Promise.all(parts)), parts.length, vaultValue.none)
    }
    return Object.fromEntries(Object.entries(valuesOf(options)).map(([label, each]) => [label, readValue(each)]))
  },
})

/** The values by label. */
function valuesOf({ values, unit, ...vaultOptions }: Options): Readonly<Record<string, Value>> {
  if (values) return values
  const TVL = { ...vaultOptions, unit, take: 'TVL' } as const
  return !isSingle(vaultOptions) ? { TVL } : { TVL, SharePrice: { ...TVL, take: 'SharePrice' } }
}

/** The vaults as they are written for each chain. */
function placesOf({ of, chain, vault = [], decimals }: Vaults, chainOfAll = '') {
  return of
    ? Object.entries(of).map(([chain, place]) => ({ chain, ...place }))
    : [{ chain: chain ?? chainOfAll, vault: vault as WrittenAddresses, decimals }]
}

/** Whether it is of one vault, which has a price of its share: how many a list has is known by the hour alone. */
function isSingle(written: Vaults): boolean {
  const counts = placesOf(written).map(({ vault }) => ('each' in vault ? 2 : vault.length))
  return counts.every(count => count <= 1) && counts.filter(count => count === 1).length <= 1
}

async function vaultsOf(
  vaultsOption: Vaults,
  chainOfAll: string | undefined,
  list: CollectContext<unknown>['list'],
): Promise<readonly Vault[]> {
  const vaults = placesOf(vaultsOption, chainOfAll).map(async ({ chain, vault, decimals }) =>
    (await addressesNow(list, vault)).map(address => ({ chain, address, decimals })),
  )
  return (await Promise.all(vaults)).flat()
}

async function assetsOf(chain: ChainAsOf, vault: Vault): Promise<Fraction> {
  const [assets, decimals] = await Promise.all([
    chain.read({ address: vault.address, abi: erc4626Abi, functionName: 'totalAssets' }),
    assetDecimals(chain, vault),
  ])
  return scaled(assets, decimals)
}

/** Digits of a share's price below the smallest unit of the asset, to which a vault rounds down what it answers. */
const priceDigits = 18

/** The price of a share, out of that of 10^18 shares: for one, a vault of an asset with 2 decimals says 1 for months. */
async function sharePriceOf(chain: ChainAsOf, vault: Vault): Promise<Fraction> {
  const { address } = vault
  const shares = async () => {
    const args = [10n ** BigInt((await decimalsReader(chain)(address)) + priceDigits)] as const
    return chain.read({ address, abi: erc4626Abi, functionName: 'convertToAssets', args })
  }
  const [assets, decimals] = await Promise.all([shares(), assetDecimals(chain, vault)])
  return scaled(assets, decimals + priceDigits)
}

async function assetDecimals(chain: ChainAsOf, { address, decimals }: Vault): Promise<number> {
  return decimalsReader(chain, ofOption('decimals'))(await assetOf(chain, { address }), decimals)
}

function assetOf(chain: ChainAsOf, { address }: Pick<Vault, 'address'>): Promise<`0x${string}`> {
  return chain.read({ address, abi: erc4626Abi, functionName: 'asset' })
}
