import { type Address, parseUnits, zeroAddress } from 'viem'
import type { Deployed } from '../../src/devchain/miner.ts'
import type { ProtocolChain } from './protocol-chain.ts'
import { publishedContract } from './published.ts'

/** An Aave V3 market of Aave's own contracts, as its package ships them. */
export interface AaveMarket {
  readonly pool: Deployed
  readonly configurator: Deployed
  readonly provider: Deployed
  readonly oracle: Deployed
  readonly dataProvider: Deployed
  /** A new reserve with a price in USD. */
  list(asset: { readonly symbol: string; readonly decimals: number; readonly price: string }): Promise<Deployed>
  /** Another price in USD; 0 is what a feed answers that is paused. */
  setPrice(asset: Deployed, price: string): Promise<void>
}

/**
 * A contract of Aave's package.
 *
 * @param path like `protocol/pool/Pool`
 * @param libraries deployed ones by their names
 */
export function aaveContract(path: string, libraries?: Readonly<Record<string, Address>>) {
  return publishedContract(`@aave/core-v3/artifacts/contracts/${path}.sol/${path.split('/').at(-1)}.json`, libraries)
}

const logic = ['BorrowLogic', 'BridgeLogic', 'EModeLogic', 'LiquidationLogic', 'PoolLogic', 'SupplyLogic'] as const

/** A market as Aave's own scripts deploy it, the owner being its administrator. Prices are in USD, with 8 decimals. */
export async function deployAave(chain: ProtocolChain): Promise<AaveMarket> {
  const { owner } = chain
  const provider = await chain.deploy(aaveContract('protocol/configuration/PoolAddressesProvider'), ['Tests', owner])
  const ofProvider = [provider.address] as const
  await chain.send(provider, 'setACLAdmin', [owner])
  const acl = await chain.deploy(aaveContract('protocol/configuration/ACLManager'), ofProvider)
  await chain.send(provider, 'setACLManager', [acl.address])
  await chain.send(acl, 'addPoolAdmin', [owner])
  const dataProvider = await chain.deploy(aaveContract('misc/AaveProtocolDataProvider'), ofProvider)
  await chain.send(provider, 'setPoolDataProvider', [dataProvider.address])
  const oracleArguments = [provider.address, [], [], zeroAddress, zeroAddress, 100_000_000n]
  const oracle = await chain.deploy(aaveContract('misc/AaveOracle'), oracleArguments)
  await chain.send(provider, 'setPriceOracle', [oracle.address])
  const pool = await deployPool(chain, provider)
  const configuratorLogic = await chain.deploy(aaveContract('protocol/libraries/logic/ConfiguratorLogic'))
  const libraries = { ConfiguratorLogic: configuratorLogic.address }
  const implementation = await chain.deploy(aaveContract('protocol/pool/PoolConfigurator', libraries))
  await chain.send(provider, 'setPoolConfiguratorImpl', [implementation.address])
  const configurator = {
    address: await chain.read<Address>(provider, 'getPoolConfigurator'),
    abi: implementation.abi,
  }
  const market = { pool, configurator, provider, oracle, dataProvider }
  const setPrice = async (asset: Deployed, price: string) => {
    const feed = await chain.deploy(aaveContract('mocks/oracle/CLAggregators/MockAggregator'), [parseUnits(price, 8)])
    await chain.send(oracle, 'setAssetSources', [[asset.address], [feed.address]])
  }
  const list = await lister(chain, market)
  return {
    ...market,
    setPrice,
    async list({ symbol, decimals, price }) {
      const asset = await list(symbol, decimals)
      await setPrice(asset, price)
      return asset
    },
  }
}

async function deployPool(chain: ProtocolChain, provider: Deployed): Promise<Deployed> {
  const libraries: Record<string, Address> = {}
  for (const name of logic) {
    libraries[name] = (await chain.deploy(aaveContract(`protocol/libraries/logic/${name}`))).address
  }
  const flashLoans = await chain.deploy(aaveContract('protocol/libraries/logic/FlashLoanLogic', libraries))
  libraries['FlashLoanLogic'] = flashLoans.address
  const implementation = await chain.deploy(aaveContract('protocol/pool/Pool', libraries), [provider.address])
  await chain.send(provider, 'setPoolImpl', [implementation.address])
  return { address: await chain.read<Address>(provider, 'getPool'), abi: implementation.abi }
}

type Contracts = Pick<AaveMarket, 'pool' | 'configurator' | 'provider'>

const ray = 10n ** 27n

/** A function that lists a new token, of which everyone may have any amount. */
async function lister(chain: ProtocolChain, { pool, configurator, provider }: Contracts) {
  const of = async (name: string) => (await chain.deploy(aaveContract(name), [pool.address])).address
  const tokens = {
    aTokenImpl: await of('protocol/tokenization/AToken'),
    stableDebtTokenImpl: await of('protocol/tokenization/StableDebtToken'),
    variableDebtTokenImpl: await of('protocol/tokenization/VariableDebtToken'),
  }
  // Optimal usage, base rate, slopes of the variable and of the stable rate, and the rest of the stable rate.
  const rates = [80n, 1n, 4n, 75n, 5n, 60n, 1n, 8n, 20n].map(percent => (ray * percent) / 100n)
  const strategy = await chain.deploy(aaveContract('protocol/pool/DefaultReserveInterestRateStrategy'), [
    provider.address,
    ...rates,
  ])
  return async (symbol: string, decimals: number) => {
    const asset = await chain.deploy(aaveContract('mocks/tokens/MintableERC20'), [symbol, symbol, decimals])
    const reserve = {
      ...tokens,
      underlyingAssetDecimals: decimals,
      interestRateStrategyAddress: strategy.address,
      underlyingAsset: asset.address,
      treasury: chain.owner,
      incentivesController: zeroAddress,
      aTokenName: symbol,
      aTokenSymbol: `a${symbol}`,
      variableDebtTokenName: symbol,
      variableDebtTokenSymbol: `v${symbol}`,
      stableDebtTokenName: symbol,
      stableDebtTokenSymbol: `s${symbol}`,
      params: '0x10',
    }
    await chain.send(configurator, 'initReserves', [[reserve]])
    await chain.send(configurator, 'setReserveBorrowing', [asset.address, true])
    await chain.send(configurator, 'setReserveFactor', [asset.address, 1_000n])
    await chain.send(configurator, 'configureReserveAsCollateral', [asset.address, 8_000n, 8_250n, 10_500n])
    return asset
  }
}
