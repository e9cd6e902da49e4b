import type { Devchain } from '../../src/devchain/devchain.ts'

export interface DemoCollector {
  readonly use: string
  readonly options: Readonly<Record<string, unknown>>
  /** Whether it is expected of the hours before the demo started. */
  readonly history: boolean
}

export interface DemoProtocol {
  readonly id: string
  readonly name: string
  readonly collectors: readonly DemoCollector[]
}

/** The protocol whose values are not on the chain. */
export const thisMachine = 'this-machine'

/** Sources of the prices in US dollars, by name. */
export function demoPrices({ feed }: Devchain['addresses']): Readonly<Record<string, readonly unknown[]>> {
  return { TIDE: [{ chain: 'demo', feed }], DUSD: [{ fixed: 1 }] }
}

/** Collectors of the demo: each shipped collector that needs no internet, on the scene's contracts and this machine. */
export function demoProtocols({ dollar, tide, vault, pool, feed, treasury }: Devchain['addresses']): DemoProtocol[] {
  const onChain = (use: string, options: Readonly<Record<string, unknown>>) => ({
    use,
    options: { chain: 'demo', ...options },
    history: true,
  })
  // A pair sorts its tokens by address.
  const isTideFirst = BigInt(tide) < BigInt(dollar)
  const poolOptions = isTideFirst
    ? { pool, quote: 'token1', unit0: 'TIDE', unit1: 'DUSD' }
    : { pool, quote: 'token0', unit0: 'DUSD', unit1: 'TIDE' }
  return [
    {
      id: 'demo-vault',
      name: 'Demo Dollar Vault',
      collectors: [
        onChain('erc4626-vault', { vault, unit: 'DUSD' }),
        onChain('erc20-supply', { token: dollar, unit: 'DUSD' }),
      ],
    },
    {
      id: 'demo-pool',
      name: 'Tide Pool',
      collectors: [onChain('uniswap-v2-pool', poolOptions), onChain('erc20-supply', { token: tide, unit: 'TIDE' })],
    },
    { id: 'demo-price', name: 'Tide Price Feed', collectors: [onChain('chainlink-feed', { feed, unit: 'USD' })] },
    {
      id: 'demo-treasury',
      name: 'Demo Treasury',
      collectors: [
        {
          use: 'balances',
          options: { unit: 'ETH', of: { demo: { owners: [treasury], assets: [{ native: true }] } } },
          history: true,
        },
      ],
    },
    {
      id: 'demo-dollars',
      name: 'Tide in Dollars',
      collectors: [
        onChain('contract-read', {
          address: tide,
          values: {
            Supply: { call: 'totalSupply() view returns (uint256)', decimals: true, private: true },
            MarketCap: { product: ['Supply', { price: 'TIDE' }], unit: 'USD', min: 0 },
          },
        }),
        {
          use: 'balances',
          options: {
            label: 'Locked',
            unit: 'USD',
            of: {
              demo: {
                owners: [pool, vault],
                assets: [
                  { token: tide, price: 'TIDE' },
                  { token: dollar, price: 'DUSD' },
                ],
              },
            },
          },
          history: true,
        },
      ],
    },
    { id: thisMachine, name: 'This Machine', collectors: [{ use: 'host', options: {}, history: false }] },
  ]
}
