import type { Hour } from './hour.ts'

/** `0x` and an even number of hexadecimal digits. */
export type Hex = `0x${string}`

/** A block as it is proven to be: the last one with a timestamp at or before an hour. */
export interface AsOfBlock {
  readonly number: bigint
  readonly hash: Hex
  /** Seconds since 1970, as in the block's header. */
  readonly timestampSeconds: number
}

/** Which logs: of one address or several, with topics as in `eth_getLogs`. */
export interface LogFilter {
  readonly address: Hex | readonly Hex[]
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
}

/** Logs that values of an hour were made of, as far as it can be told later whether they are the same. */
export interface PinnedLogs {
  readonly filter: LogFilter
  /** Equal for equal logs. */
  readonly digest: string
}

/** The block that values of an hour were read at. */
export interface PinnedBlock {
  /** As `eth_chainId` answers it. */
  readonly chainId: number
  readonly block: AsOfBlock
  /** Absent where no logs were read. A node that had not seen the block yet may have left some out. */
  readonly logs?: readonly PinnedLogs[]
}

/** Final as-of blocks of one chain, kept for ever: they only spare the search, the answer is the same without them. */
export interface FinalBlocks {
  of(hour: Hour): AsOfBlock | undefined
  /** Those of the nearest hours before and after an hour, where there are any: where a search starts. */
  around(hour: Hour): readonly AsOfBlock[]
  /** Keeps them; one that is there already stays. */
  keep(found: readonly { readonly hour: Hour; readonly block: AsOfBlock }[]): void
  /** What was kept of an hour is not of this chain. */
  forget(hour: Hour): void
}
