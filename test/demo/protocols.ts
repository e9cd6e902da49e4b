import type { Scene } from '../support/scene.ts'

export interface DemoCollector {
  readonly use: string
  readonly options: Readonly<Record<string, string>>
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

/** What the demo collects: each shipped collector that needs no internet, on the scene's contracts and this machine. */
export function demoProtocols({ dollar, tide, vault, pool, feed, treasury }: Scene['addresses']): DemoProtocol[] {
  const onChain = (use: string, options: Readonly<Record<string, string>>) => ({
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
      collectors: [onChain('native-balance', { address: treasury, unit: 'ETH' })],
    },
    { id: thisMachine, name: 'This Machine', collectors: [{ use: 'host', options: {}, history: false }] },
  ]
}
