import { type Address, numberToHex, parseAbi, parseEther, parseUnits } from 'viem'
import { multicall3Address } from '../chain/read/read-memory.ts'
import type { Anvil } from './anvil.ts'
import { artifact } from './contracts.ts'
import { call, type Deployed, type Miner } from './miner.ts'

/** Contracts and accounts of the local chain. The accounts are the node's own, unlocked. */
export interface Deployment {
  /** Owns what is not in a contract, and signs nearly everything. */
  readonly owner: Address
  /** An account with nothing but native balance. */
  readonly treasury: Address
  /** ERC-20 "Demo Dollar", 6 decimals. */
  readonly dollar: Deployed
  /** ERC-20 "Tide", 18 decimals. */
  readonly tide: Deployed
  /** ERC-4626 over the dollar. */
  readonly vault: Deployed
  /** Pair of the two tokens, with the functions and events of Uniswap V2. */
  readonly pool: Deployed
  /** Price of a tide in dollars, 8 decimals. */
  readonly feed: Deployed
  /** Holds tokens and trades with the pool. */
  readonly trader: Deployed
}

/** The one function of a pair that is called here. */
const pairAbi = parseAbi(['function getReserves() view returns (uint112, uint112, uint32)'])

/** Amounts in smallest units; of the feed, a price. */
export const dollars = (amount: number) => parseUnits(amount.toFixed(6), 6)
export const tides = (amount: number) => parseUnits(amount.toFixed(12), 18)
/** In wei. */
export const ethers = (amount: number) => parseEther(amount.toFixed(9))
export const feedAnswer = (price: number) => parseUnits(price.toFixed(8), 8)

/**
 * Deploys everything and gives it its first balances: a pool of 1,000,000 tides at 2 dollars, a vault of 750,000
 * dollars, a treasury of 250 coins.
 */
export async function deploy(anvil: Anvil, miner: Miner): Promise<Deployment> {
  const [owner, treasury] = await anvil.rpc<Address[]>('eth_accounts')
  if (!owner || !treasury) throw new Error('the node has no accounts')
  await placeMulticall3(anvil, miner, owner)
  const deployment = { owner, treasury, ...(await deployContracts(miner, owner)) }
  await anvil.rpc('anvil_setBalance', treasury, numberToHex(ethers(250)))
  await fund(deployment, miner)
  return deployment
}

async function deployContracts(miner: Miner, owner: Address) {
  const dollar = await miner.deploy(owner, artifact('Token'), ['Demo Dollar', 'DUSD', 6])
  const tide = await miner.deploy(owner, artifact('Token'), ['Tide', 'TIDE', 18])
  const vault = await miner.deploy(owner, artifact('Vault'), [dollar.address, 'Demo Dollar Vault', 'vDUSD'])
  const feed = await miner.deploy(owner, artifact('Feed'), ['TIDE / USD', 8])
  const trader = await miner.deploy(owner, artifact('Trader'))
  const factory = await miner.deploy(owner, artifact('PairFactory'))
  await miner.mine(miner.lastSeconds + 1, [
    { ...call(owner, factory, 'createPair', tide.address, dollar.address), gas: 4_000_000 },
  ])
  const address = (await miner.read(factory, 'getPair', [tide.address, dollar.address])) as Address
  return { dollar, tide, vault, feed, trader, pool: { address, abi: pairAbi } }
}

async function fund({ owner, dollar, tide, vault, pool, feed, trader }: Deployment, miner: Miner): Promise<void> {
  await miner.mine(miner.lastSeconds + 1, [
    call(owner, dollar, 'mint', trader.address, dollars(12_000_000)),
    call(owner, tide, 'mint', trader.address, tides(6_000_000)),
    call(owner, dollar, 'mint', owner, dollars(5_000_000)),
    call(owner, tide, 'mint', owner, tides(100_000)),
    call(owner, trader, 'addLiquidity', pool.address, tide.address, tides(1e6), dollar.address, dollars(2e6)),
    call(owner, dollar, 'approve', vault.address, 2n ** 256n - 1n),
    call(owner, vault, 'deposit', dollars(750_000), owner),
    call(owner, feed, 'update', feedAnswer(2)),
  ])
}

/** Multicall3 has no immutables: its code, deployed anywhere, works at its own address. */
async function placeMulticall3(anvil: Anvil, miner: Miner, owner: Address): Promise<void> {
  const { address } = await miner.deploy(owner, artifact('Multicall3'))
  await anvil.rpc('anvil_setCode', multicall3Address, await anvil.rpc('eth_getCode', address, 'latest'))
}
