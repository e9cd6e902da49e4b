/** A view function that standards and well-known protocols have. */
export interface StandardFunction {
  readonly call: string
  /** Default: none. */
  readonly args?: readonly unknown[]
}

const text = (name: string) => ({ call: `${name}() view returns (string)` })
const number = (name: string, bits = 256) => ({ call: `${name}() view returns (uint${bits})` })
const address = (name: string) => ({ call: `${name}() view returns (address)` })
const flag = (name: string) => ({ call: `${name}() view returns (bool)` })
const bytes = (name: string) => ({ call: `${name}() view returns (bytes32)` })
const supports = (id: string) => ({ call: 'supportsInterface(bytes4 id) view returns (bool)', args: [id] })
const at = (name: string, type: string, place: number) => ({
  call: `${name}(uint256 place) view returns (${type})`,
  args: [place],
})

/** The functions that a contract is asked for, by a name of ours. */
export const standardFunctions = {
  // ERC-20, and tokens older than it, whose texts are 32 bytes.
  name: text('name'),
  nameBytes: bytes('name'),
  symbol: text('symbol'),
  symbolBytes: bytes('symbol'),
  decimals: number('decimals', 8),
  totalSupply: number('totalSupply'),
  // ERC-165: every contract that has it denies the last one.
  erc165: supports('0x01ffc9a7'),
  noInterface: supports('0xffffffff'),
  erc721: supports('0x80ac58cd'),
  erc1155: supports('0xd9b67a26'),
  accessControl: supports('0x7965db0b'),
  // ERC-4626.
  asset: address('asset'),
  totalAssets: number('totalAssets'),
  convertToAssets: { call: 'convertToAssets(uint256 shares) view returns (uint256)', args: [1] },
  // Ownable, Pausable, votes.
  owner: address('owner'),
  paused: flag('paused'),
  clock: number('clock', 48),
  clockMode: text('CLOCK_MODE'),
  // Chainlink.
  latestRoundData: {
    call: 'latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
  },
  latestAnswer: { call: 'latestAnswer() view returns (int256)' },
  latestTimestamp: number('latestTimestamp'),
  description: text('description'),
  version: number('version'),
  // Uniswap.
  token0: address('token0'),
  token1: address('token1'),
  factory: address('factory'),
  getReserves: { call: 'getReserves() view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)' },
  // Solidly, Camelot.
  stable: flag('stable'),
  stableSwap: flag('stableSwap'),
  slot0: {
    call: 'slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
  },
  slot0Wide: {
    call: 'slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint32 feeProtocol, bool unlocked)',
  },
  liquidity: number('liquidity', 128),
  fee: number('fee', 24),
  tickSpacing: { call: 'tickSpacing() view returns (int24)' },
  // Aave.
  aavePool: address('POOL'),
  aaveAsset: address('UNDERLYING_ASSET_ADDRESS'),
  scaledTotalSupply: number('scaledTotalSupply'),
  aaveReserves: { call: 'getReservesList() view returns (address[])' },
  aaveFlashPremium: number('FLASHLOAN_PREMIUM_TOTAL', 128),
  aaveProvider: address('ADDRESSES_PROVIDER'),
  // Compound: Comet, and the markets before it.
  baseToken: address('baseToken'),
  totalBorrow: number('totalBorrow'),
  getUtilization: number('getUtilization'),
  underlying: address('underlying'),
  exchangeRateStored: number('exchangeRateStored'),
  getCash: number('getCash'),
  totalBorrows: number('totalBorrows'),
  totalReserves: number('totalReserves'),
  // Curve.
  getVirtualPrice: number('get_virtual_price'),
  coin0: at('coins', 'address', 0),
  coin1: at('coins', 'address', 1),
  balance0: at('balances', 'uint256', 0),
  balance1: at('balances', 'uint256', 1),
  amplification: number('A'),
  // Balancer.
  getPoolId: bytes('getPoolId'),
  getRate: number('getRate'),
  getSwapFeePercentage: number('getSwapFeePercentage'),
  // Lido, Rocket Pool, Coinbase, Yearn, Sky.
  getTotalPooledEther: number('getTotalPooledEther'),
  getTotalShares: number('getTotalShares'),
  stEthPerToken: number('stEthPerToken'),
  getExchangeRate: number('getExchangeRate'),
  exchangeRate: number('exchangeRate'),
  pricePerShare: number('pricePerShare'),
  getPricePerFullShare: number('getPricePerFullShare'),
  chi: number('chi'),
  // Gauges and staking.
  workingSupply: number('working_supply'),
  lpToken: address('lp_token'),
  stakingToken: address('stakingToken'),
  rewardsToken: address('rewardsToken'),
  rewardRate: number('rewardRate'),
  // Safe, governors, timelocks.
  getThreshold: number('getThreshold'),
  getOwners: { call: 'getOwners() view returns (address[])' },
  nonce: number('nonce'),
  votingDelay: number('votingDelay'),
  votingPeriod: number('votingPeriod'),
  getMinDelay: number('getMinDelay'),
} as const satisfies Readonly<Record<string, StandardFunction>>

export type StandardName = keyof typeof standardFunctions
