import type { AsOfBlock, Hex, LogFilter } from '../model/block.ts'
import type { Hour } from '../model/hour.ts'
import type { LogList, RawLog } from './log-list.ts'

/** A read with words for people. */
interface NamedRead {
  /** Function and arguments: `balanceOf(0x…)`. Only where reads are recorded. */
  readonly name?: string | undefined
  /** Types and names of what it returns: `uint256 supply, bool isPaused`. Only where reads are recorded. */
  readonly returns?: string | undefined
}

/** A raw read that Multicall3 can make together with others. */
export type JoinableRead =
  | ({ readonly kind: 'call'; readonly to: Hex; readonly input: Hex } & NamedRead)
  /** Native balance of an address, in wei; the answer is 32 bytes. */
  | { readonly kind: 'balance'; readonly address: Hex }

/** One raw read at the as-of block, as plain values, so that it can cross processes. */
export type ReadRequest =
  | JoinableRead
  /** A call with a sender of its own, which Multicall3 cannot set. */
  | ({ readonly kind: 'call-from'; readonly from: Hex; readonly to: Hex; readonly input: Hex } & NamedRead)
  /** A storage slot, as 32 bytes; the answer is 32 bytes. */
  | { readonly kind: 'storage'; readonly address: Hex; readonly slot: Hex }

/** Number of bytes of the code at an address, as 32 bytes: 0 where there is no contract. */
export interface CodeSizeRead {
  readonly kind: 'code-size'
  readonly address: Hex
}

/** A read that is sent alone. */
export type SingleRead = ReadRequest | CodeSizeRead

/** Whether Multicall3 can make a read together with others. */
export function isJoinable(request: ReadRequest): request is JoinableRead {
  return request.kind === 'call' || request.kind === 'balance'
}

/** The contract or account that a read is of. */
export function targetOf(request: SingleRead): Hex {
  return 'to' in request ? request.to : request.address
}

/** The part of the target that is read, as a text that is equal for equal reads. */
export function partOf(request: ReadRequest): string {
  switch (request.kind) {
    case 'call':
      return request.input
    case 'balance':
      return ''
    case 'call-from':
      return `${request.input} from ${request.from}`
    case 'storage':
      return `slot ${request.slot}`
  }
}

/** `reverted` carries the contract's revert data: an answer of the chain, not a failure of the node. */
export type ReadAnswer =
  | { readonly kind: 'returned'; readonly output: Hex }
  | { readonly kind: 'reverted'; readonly output: Hex }

/**
 * Raw reads of one chain as of hours, independent of the process that asks the node. Every method rejects with a Fault:
 * a failure is never a value.
 */
export interface RawReads {
  /** As-of block of the hour. Rejects with `chain-behind` while the chain has no block past the hour. */
  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock>
  /** Answers in the order of the requests. Requests made in the same tick for the same hour share `eth_call`s. */
  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<readonly ReadAnswer[]>
  /**
   * Logs after the as-of block of the hour before, up to and including this hour's.
   *
   * @param since the first hour whose logs count; what is read is remembered. Default: the hour itself
   */
  logs(hour: Hour, filter: LogFilter, signal: AbortSignal, since?: Hour): Promise<Iterable<RawLog>>
}

/** A result, and the block it was read at. */
export interface ReadAt<T> {
  /** The block it was read at. */
  readonly at: AsOfBlock
  readonly value: T
}

/**
 * One chain, read as of hours. Every method rejects with a Fault. Requests of one event-loop tick are sent together.
 */
export interface ChainReader {
  /** As `eth_chainId` answers it. */
  readonly id: number
  /** Delay after an hour until its as-of block counts as final, in milliseconds. */
  readonly settleMs: number
  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock>
  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<ReadAt<readonly ReadAnswer[]>>
  /** @param hours number of hours, up to this one, whose logs are read and remembered: they are final. Default: 1, for values alone */
  logs(hour: Hour, filter: LogFilter, signal: AbortSignal, hours?: number): Promise<ReadAt<LogList>>
  /**
   * The as-of block, searched again without caches: a reorg may have replaced it.
   *
   * @param before the earlier block, if known: it is asked for first
   */
  recheck(hour: Hour, signal: AbortSignal, before?: AsOfBlock): Promise<AsOfBlock>
  /**
   * Whether a block is in the chain now; `undefined` where a node whose last block is later knows none of that number. Where it
   * is not, all final blocks that are known are forgotten: they may have been replaced, too. Absent where a reader asks no node.
   */
  hasBlock?(block: Pick<AsOfBlock, 'number' | 'hash'>, signal: AbortSignal): Promise<boolean | undefined>
  /** Host of the endpoint that served an hour; absent where a reader does not know hosts. */
  servedBy?(hour: Hour): string | undefined
  /** Forgets what was answered of an hour: it is asked for again. Absent where nothing is remembered. */
  forget?(hour: Hour): void
  /** Hosts of the endpoints that are asked; absent where a reader does not know hosts. */
  hosts?(): readonly string[]
  /** Resolves in the tick in which hours are looked up next, so that other requests can be sent with them. */
  readonly nextLookUp: Promise<void>
}

/** Chains by their name in the configuration. */
export type Chains = Readonly<Record<string, ChainReader>>
