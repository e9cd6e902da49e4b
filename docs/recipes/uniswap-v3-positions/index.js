import { address, defineCollector, z } from 'tidegauge'
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'

const abi = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)',
  'function positions(uint256 id) view returns (uint96, address, address token0, address token1, uint24, int24, int24, uint128 liquidity, uint256, uint256, uint128 owed0, uint128 owed1)',
  'function decreaseLiquidity((uint256 tokenId, uint128 liquidity, uint256 amount0Min, uint256 amount1Min, uint256 deadline)) returns (uint256, uint256)',
  'function collect((uint256 tokenId, address recipient, uint128 amount0Max, uint128 amount1Max)) returns (uint256, uint256)',
])
const most = 2n ** 128n - 1n

/**
 * What the positions of some owners are worth, and the fees that they have not collected. The position manager is asked what their
 * owner would get now, so that no mathematics of ticks is needed: these calls are answered, and change nothing.
 */
export default defineCollector({
  options: z.strictObject({ chain: z.string(), manager: address, owners: z.array(address).min(1) }),
  metrics: {
    Positions: { unit: 'USD', min: 0 },
    UnclaimedFees: { unit: 'USD', min: 0 },
    PositionCount: { min: 0 },
  },
  history: true,
  async collect({ options: { chain: name, manager, owners }, chain, usd }) {
    const read = (functionName, calls) =>
      chain(name).read(calls.map(args => ({ address: manager, abi, functionName, args })))
    const asked = async (owner, functionName, argument) => {
      const data = encodeFunctionData({ abi, functionName, args: [argument] })
      return decodeFunctionResult({
        abi,
        functionName,
        data: await chain(name).call({ to: manager, from: owner, data }),
      })
    }
    const counts = await read(
      'balanceOf',
      owners.map(owner => [owner]),
    )
    const places = owners.flatMap((owner, i) =>
      Array.from({ length: Number(counts[i]) }, (_, place) => [owner, BigInt(place)]),
    )
    const ids = await read('tokenOfOwnerByIndex', places)
    const positions = await read(
      'positions',
      ids.map(id => [id]),
    )
    const worth = await Promise.all(
      positions.map(async ([, , token0, token1, , , , liquidity, , , owed0, owed1], i) => {
        const [owner, tokenId] = [places[i][0], ids[i]]
        const decrease = { tokenId, liquidity, amount0Min: 0n, amount1Min: 0n, deadline: most }
        const [inside, fees] = await Promise.all([
          liquidity === 0n ? [0n, 0n] : asked(owner, 'decreaseLiquidity', decrease),
          liquidity + owed0 + owed1 === 0n
            ? [0n, 0n]
            : asked(owner, 'collect', { tokenId, recipient: owner, amount0Max: most, amount1Max: most }),
        ])
        const amounts = both => [
          { token: token0, amount: both[0] },
          { token: token1, amount: both[1] },
        ]
        return { inside: amounts(inside), fees: amounts(fees) }
      }),
    )
    return {
      Positions: usd.total(
        name,
        worth.flatMap(({ inside }) => inside),
      ),
      UnclaimedFees: usd.total(
        name,
        worth.flatMap(({ fees }) => fees),
      ),
      PositionCount: ids.length,
    }
  },
})
