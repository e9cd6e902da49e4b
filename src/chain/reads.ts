import type { Hour } from '../model/hour.ts'

/** `0x` and an even number of hexadecimal digits. */
export type Hex = `0x${string}`

/** A block as it is proven to be: the last one with a timestamp at or before an hour. */
export interface AsOfBlock {
  readonly number: bigint
  readonly hash: Hex
  /** Seconds since 1970, as in the block's header. */
  readonly timestampSeconds: number
}

/** One raw read at the as-of block: plain values only, so that it can cross into another process. */
export type ReadRequest =
  | { readonly kind: 'call'; readonly to: Hex; readonly input: Hex }
  /** Native balance of an address, in wei; answered as 32 bytes. */
  | { readonly kind: 'balance'; readonly address: Hex }

/** `reverted` carries the revert data of the contract: an answer of the chain, not a failure of the node. */
export type ReadAnswer =
  | { readonly kind: 'returned'; readonly output: Hex }
  | { readonly kind: 'reverted'; readonly output: Hex }

/** Which logs: of one address or several, with topics as in `eth_getLogs`. */
export interface LogFilter {
  readonly address: Hex | readonly Hex[]
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
}

/** One log as the chain has it; `args` are still encoded in topics and data. */
export interface RawLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: bigint
  readonly logIndex: number
}

/** One chain, read as of hours. Every method rejects with a Fault: a failure is never a value. */
export interface ChainReader {
  /** As-of block of the hour. Rejects with `chain-behind` while the chain has no block past the hour. */
  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock>
  /** Answers in the order of the requests. Requests made in the same turn for the same hour share `eth_call`s. */
  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<readonly ReadAnswer[]>
  /** Logs after the previous hour's as-of block, up to and including this hour's. */
  logs(hour: Hour, filter: LogFilter, signal: AbortSignal): Promise<readonly RawLog[]>
}

/** Chains by their name in the configuration. */
export type Chains = Readonly<Record<string, ChainReader>>
