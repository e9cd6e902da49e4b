import type { Endpoint } from '../endpoint/endpoint.ts'
import type { ReadRequest } from '../reads.ts'
import { AggregateInputs } from './aggregate-inputs.ts'
import { type ApartWay, ReadsApart } from './reads-apart.ts'
import { Splits } from './splits.ts'

/**
 * Chains on which `block.number` is another chain's: Arbitrum One, Nova and Sepolia give about that of Ethereum
 * (https://docs.arbitrum.io/build-decentralized-apps/arbitrum-vs-ethereum/block-numbers-and-time). Others of that family
 * are learnt.
 */
const foreignNumberIds: ReadonlySet<number> = new Set([42161, 42170, 421614])

/**
 * Hedera and its networks: a contract sees balances in tinybars (8 decimals), `eth_getBalance` tells them in weibars (18
 * decimals) as it does everywhere (https://docs.hedera.com/hedera/core-concepts/smart-contracts). So that a balance is in
 * one unit on every path, it is never read through a contract there.
 */
const tinybarIds: ReadonlySet<number> = new Set([295, 296, 297, 298])

/**
 * What is learnt about one chain while it is read, whichever endpoint is asked. It only spares calls: the answers are the
 * same without it.
 */
export class ReadMemory {
  readonly inputs = new AggregateInputs()
  readonly splits = new Splits()
  readonly apart = new ReadsApart()
  readonly #balancesApart: boolean
  /** Whether a contract that asks for the block's number is told that of its own chain. */
  hasOwnNumber: boolean
  #absentTo = -1n
  #presentFrom: bigint | undefined

  /** @param chainId as `eth_chainId` answers it */
  constructor(chainId: number) {
    this.hasOwnNumber = !foreignNumberIds.has(chainId)
    this.#balancesApart = tinybarIds.has(chainId)
  }

  /** Whether all reads of an endpoint travel together: then there is nothing to look at read by read. */
  allTogether(endpoint: Endpoint): boolean {
    return !this.#balancesApart && this.apart.isEmpty(endpoint)
  }

  /** How a read is made where it does not travel with the others. */
  wayOf(endpoint: Endpoint, request: ReadRequest): ApartWay | undefined {
    const way = this.apart.wayOf(endpoint, request)
    return way ?? (this.#balancesApart && request.kind === 'balance' ? 'singly' : undefined)
  }

  /** Whether Multicall3 is known to be missing at a block: what is not deployed at one is not at any before it. */
  isAbsentAt(number: bigint): boolean {
    return number <= this.#absentTo
  }

  /** Whether Multicall3 must be there: it answered at that block or before. */
  isPresentAt(number: bigint): boolean {
    return this.#presentFrom !== undefined && number >= this.#presentFrom
  }

  /** There is no code where Multicall3 should be. */
  sawAbsent(number: bigint): void {
    if (number > this.#absentTo && !this.isPresentAt(number)) this.#absentTo = number
  }

  /** Multicall3 answered. */
  sawPresent(number: bigint): void {
    if (this.#presentFrom === undefined || number < this.#presentFrom) this.#presentFrom = number
  }
}
