import type { AsOfBlock, Hex, LogFilter } from '../model/block.ts'
import type { Hour } from '../model/hour.ts'
import type { LogList } from './log-list.ts'

/** One raw read at the as-of block: plain values only, so that it can cross into another process. */
export type ReadRequest =
  | { readonly kind: 'call'; readonly to: Hex; readonly input: Hex }
  /** Native balance of an address, in wei; answered as 32 bytes. */
  | { readonly kind: 'balance'; readonly address: Hex }

/** `reverted` carries the revert data of the contract: an answer of the chain, not a failure of the node. */
export type ReadAnswer =
  | { readonly kind: 'returned'; readonly output: Hex }
  | { readonly kind: 'reverted'; readonly output: Hex }

/** One log as the chain has it; `args` are still encoded in topics and data. */
export interface RawLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: bigint
  readonly logIndex: number
}

/** Raw reads of one chain as of hours, wherever the node is asked. Every method rejects with a Fault: a failure is never a value. */
export interface RawReads {
  /** As-of block of the hour. Rejects with `chain-behind` while the chain has no block past the hour. */
  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock>
  /** Answers in the order of the requests. Requests made in the same turn for the same hour share `eth_call`s. */
  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<readonly ReadAnswer[]>
  /** Logs after the previous hour's as-of block, up to and including this hour's. */
  logs(hour: Hour, filter: LogFilter, signal: AbortSignal): Promise<Iterable<RawLog>>
}

/** What was read, and the block it was read at. */
export interface ReadAt<T> {
  readonly at: AsOfBlock
  readonly value: T
}

/** One chain, read as of hours. Every method rejects with a Fault. What is asked for in one turn travels together. */
export interface ChainReader {
  /** As `eth_chainId` answers it. */
  readonly id: number
  /** How long after an hour its as-of block counts as final. */
  readonly settleMs: number
  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock>
  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<ReadAt<readonly ReadAnswer[]>>
  logs(hour: Hour, filter: LogFilter, signal: AbortSignal): Promise<ReadAt<LogList>>
  /**
   * The as-of block, searched anew whatever is remembered: it may be another one after a reorg.
   *
   * @param before what it was, where that is known: it is asked for first
   */
  recheck(hour: Hour, signal: AbortSignal, before?: AsOfBlock): Promise<AsOfBlock>
  /** Resolves in the turn in which hours are looked up next: what is asked for then travels with them. */
  readonly nextLookUp: Promise<void>
}

/** Chains by their name in the configuration. */
export type Chains = Readonly<Record<string, ChainReader>>
