import type { Hex } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { LearntOfNode } from '../endpoint/learnt.ts'
import { isJoinable, type JoinableRead, partOf, type ReadAnswer, type ReadRequest, targetOf } from '../reads.ts'
import { Certifier, type CertifierDeps, plainContext, type ReadTarget } from './certificate.ts'

/** Usual address of Multicall3, on almost every chain that has it (https://www.multicall3.com). */
export const multicall3Address: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

/**
 * Chains on which `block.number` and `blockhash` are another chain's: Arbitrum One, Nova and Sepolia return about those
 * of Ethereum (https://docs.arbitrum.io/build-decentralized-apps/arbitrum-vs-ethereum/block-numbers-and-time). Others
 * are learnt.
 */
const foreignNumberIds: ReadonlySet<number> = new Set([42161, 42170, 421614])

/**
 * Hedera and its networks: a contract sees balances in tinybars (8 decimals), while `eth_getBalance` returns weibars
 * (18 decimals), as everywhere (https://docs.hedera.com/hedera/core-concepts/smart-contracts). Balances there are never
 * read through a contract, so that their unit is the same on every path.
 */
const tinybarIds: ReadonlySet<number> = new Set([295, 296, 297, 298])

/**
 * Way to run code that makes a read and certifies its block. `override`: in the place of the sender (a state override
 * of `eth_call`); `create`: as creation code, where there are no overrides: a contract sees another stranger as sender.
 */
export type CodeWay = 'override' | 'create'

/** Which code an endpoint runs. */
export type CodeWays = Readonly<Record<CodeWay, boolean>>

/** A text that is equal for equal reads. */
export function keyOf(request: ReadRequest): string {
  return `${targetOf(request)}${partOf(request)}`
}

/** Reads of a chain remembered to revert without data, and the hexadecimal digits of the call data of one. */
const revertsRememberedMax = 10_000
const revertDigitsRememberedMax = 1_000

const soleEndpoint: CertifierDeps = { endpoints: () => [], contextFound: () => {} }

/** Facts learnt about a chain, shared by all endpoints. They only save calls: answers are the same without them. */
export class ReadMemory {
  /** Address of Multicall3 on the chain. */
  readonly multicall: Hex
  /** Whether contracts see balances in another unit. */
  readonly balancesApart: boolean
  /** Certify aggregates and single reads: Multicall3 may see its block otherwise than the EVM does. */
  readonly aggregates: Certifier
  readonly singles: Certifier
  /** Absent until the node was asked. */
  readonly codeWays = new WeakMap<LearntOfNode, CodeWays>()
  readonly #reverts = new Set<string>()
  #absentTo = -1n
  #presentFrom: bigint | undefined

  /** @param chainId as `eth_chainId` answers it @param multicall default: the usual address */
  constructor(chainId: number, multicall: Hex = multicall3Address, deps: CertifierDeps = soleEndpoint) {
    this.multicall = multicall
    const context = foreignNumberIds.has(chainId) ? { secondsShift: 0n, hasParent: false } : plainContext
    this.aggregates = new Certifier(deps, context)
    this.singles = new Certifier(deps, context)
    this.balancesApart = tinybarIds.has(chainId)
  }

  /** Whether a read is sent with others in one aggregate. */
  isJoined(request: ReadRequest): request is JoinableRead {
    return isJoinable(request) && !(this.balancesApart && request.kind === 'balance')
  }

  /**
   * Whether a read is known to revert without data: it did when it was sent alone, where no other read could use up its
   * gas, and it returned nothing since. A pool has many functions less than its forks, hour by hour.
   */
  isKnownRevert(request: ReadRequest): boolean {
    return this.#reverts.has(keyOf(request))
  }

  /** Records what the contract itself answered to a read: alone, or data, which no lack of gas gives. */
  sawAnswer(request: ReadRequest, { kind, output }: ReadAnswer): void {
    if (kind === 'returned') {
      if (this.#reverts.size > 0) this.#reverts.delete(keyOf(request))
      return
    }
    if (output !== '0x' || partOf(request).length > revertDigitsRememberedMax || this.isKnownRevert(request)) return
    const [oldest] = this.#reverts
    if (this.#reverts.size >= revertsRememberedMax && oldest !== undefined) this.#reverts.delete(oldest)
    this.#reverts.add(keyOf(request))
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

/** Where reads are made. */
export interface ReadScope {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  /** Of the chain, the same for all of its hours and endpoints. */
  readonly memory: ReadMemory
  readonly signal: AbortSignal
}
