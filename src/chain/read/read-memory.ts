import { AggregateInputs } from './aggregate-inputs.ts'
import { Splits } from './splits.ts'

/**
 * Chains on which `block.number` is another chain's: Arbitrum One, Nova and Sepolia give about that of Ethereum
 * (https://docs.arbitrum.io/build-decentralized-apps/arbitrum-vs-ethereum/block-numbers-and-time). Others of that family
 * are learnt.
 */
const foreignNumberIds: ReadonlySet<number> = new Set([42161, 42170, 421614])

/**
 * What is learnt about one chain while it is read, whichever endpoint is asked. It only spares calls: the answers are the
 * same without it.
 */
export class ReadMemory {
  readonly inputs = new AggregateInputs()
  readonly splits = new Splits()
  /** Whether a contract that asks for the block's number is told that of its own chain. */
  hasOwnNumber: boolean
  #absentTo = -1n
  #presentFrom: bigint | undefined

  /** @param chainId as `eth_chainId` answers it */
  constructor(chainId: number) {
    this.hasOwnNumber = !foreignNumberIds.has(chainId)
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
