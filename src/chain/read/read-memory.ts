import type { Hex } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { isJoinable, type JoinableRead, type ReadRequest } from '../reads.ts'
import { ListCache } from './list-cache.ts'
import { multicall3Address } from './multicall.ts'
import { readList } from './read-list.ts'
import { type ApartWay, ReadsApart } from './reads-apart.ts'
import { Splits } from './splits.ts'
import { aggregateCall } from './written-aggregate.ts'

/**
 * Chains on which `block.number` is another chain's: Arbitrum One, Nova and Sepolia return about that of Ethereum
 * (https://docs.arbitrum.io/build-decentralized-apps/arbitrum-vs-ethereum/block-numbers-and-time). Others of that
 * family are learnt.
 */
const foreignNumberIds: ReadonlySet<number> = new Set([42161, 42170, 421614])

/**
 * Hedera and its networks: a contract sees balances in tinybars (8 decimals), while `eth_getBalance` returns weibars
 * (18 decimals), as everywhere (https://docs.hedera.com/hedera/core-concepts/smart-contracts). Balances there are never
 * read through a contract, so that their unit is the same on every path.
 */
const tinybarIds: ReadonlySet<number> = new Set([295, 296, 297, 298])

/** Facts learnt about a chain, shared by all endpoints. They only save calls: answers are the same without them. */
export class ReadMemory {
  readonly lists = new ListCache(readList)
  readonly inputs = new ListCache((requests: readonly JoinableRead[]) => aggregateCall(requests, this.multicall))
  readonly splits = new Splits()
  readonly apart = new ReadsApart()
  /** Address of Multicall3 on the chain. */
  readonly multicall: Hex
  readonly #balancesApart: boolean
  /** Whether a contract sees its own chain's block number. */
  hasOwnNumber: boolean
  #absentTo = -1n
  #presentFrom: bigint | undefined

  /** @param chainId as `eth_chainId` answers it @param multicall default: the usual address */
  constructor(chainId: number, multicall: Hex = multicall3Address) {
    this.multicall = multicall
    this.hasOwnNumber = !foreignNumberIds.has(chainId)
    this.#balancesApart = tinybarIds.has(chainId)
  }

  /** Whether all reads of an endpoint that can be joined are sent together, so that no such read needs to be checked. */
  allTogether(endpoint: Endpoint): boolean {
    return !this.#balancesApart && this.apart.isEmpty(endpoint)
  }

  /** Way to send a read; undefined when it is sent with the others. */
  wayOf(endpoint: Endpoint, request: ReadRequest): ApartWay | undefined {
    const way = this.apart.wayOf(endpoint, request)
    if (way || (isJoinable(request) && !(this.#balancesApart && request.kind === 'balance'))) return way
    return 'singly'
  }

  /**
   * Whether Multicall3 is known to be missing at a block: not deployed at one block, it is missing at all earlier ones.
   */
  isAbsentAt(number: bigint): boolean {
    return number <= this.#absentTo
  }

  /** Whether Multicall3 must exist at a block: it answered at that one or an earlier one. */
  isPresentAt(number: bigint): boolean {
    return this.#presentFrom !== undefined && number >= this.#presentFrom
  }

  /** Records that there is no code at Multicall3's address. */
  sawAbsent(number: bigint): void {
    if (number > this.#absentTo && !this.isPresentAt(number)) this.#absentTo = number
  }

  /** Records that Multicall3 answered. */
  sawPresent(number: bigint): void {
    if (this.#presentFrom === undefined || number < this.#presentFrom) this.#presentFrom = number
  }
}
