import type { EarliestMs } from './clock.ts'
import { type Hour, hourAt } from './hour.ts'

/** `0x` and an even number of hexadecimal digits. */
export type Hex = `0x${string}`

/** A proven as-of block: the last one with a timestamp at or before an hour. */
export interface AsOfBlock {
  /** Height of the block. */
  readonly number: bigint
  /** Of its header. */
  readonly hash: Hex
  /** Seconds since 1970, as in the block's header. */
  readonly timestampSeconds: number
}

/** Selects logs: of one address or several, with topics as in `eth_getLogs`. */
export interface LogFilter {
  /** Contract, or several of which any may have emitted it. */
  readonly address: Hex | readonly Hex[]
  /** By position; `null` matches any topic, a list matches each of its topics. */
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
}

/** The logs that values of an hour were computed from, as a digest to compare later. */
export interface PinnedLogs {
  readonly filter: LogFilter
  /** Equal for equal logs. */
  readonly digest: string
  /** Whole hours by which they are of an earlier hour. Default: 0. */
  readonly hoursBefore?: number
}

/** The as-of block that values of an hour were read at, kept to check later that it became final. */
export interface PinnedBlock {
  /** As `eth_chainId` answers it. */
  readonly chainId: number
  readonly block: AsOfBlock
  /** Absent where no logs were read. A node that had not seen the whole block may have left some out. */
  readonly logs?: readonly PinnedLogs[]
}

/** An hour and its as-of block. */
export interface HourBlock {
  readonly hour: Hour
  readonly block: AsOfBlock
}

/**
 * Cache of the final as-of blocks of one chain, kept for ever. It only shortens the search: answers are the same
 * without it. No method rejects: what cannot be read or written is looked up again.
 */
export interface FinalBlocks {
  /** The block of an hour; `undefined` when it is not known. */
  of(hour: Hour): Promise<AsOfBlock | undefined>
  /** The final blocks nearest to an hour, before and after it, as far as known: where a search starts. */
  around(hour: Hour): Promise<readonly AsOfBlock[]>
  /** Adds blocks; an hour that is known keeps its block. */
  keep(found: readonly HourBlock[]): Promise<void>
  /** Deletes an hour whose block turned out to be of another chain. Default: all hours. */
  forget(hour?: Hour): Promise<void>
}

const minuteMs = 60_000

/** Minutes until a block counts as final, by chain id; for other chains, a value that is safe on most. */
const settleMinutes: Readonly<Record<number, number>> = {
  1: 20,
  100: 10,
  137: 10,
  56: 5,
  43114: 5,
  // Development chains reorganize only on purpose.
  1337: 0,
  31337: 0,
}

/** Whether a chain is for development: its clock is set by a person or by this machine. */
export function isDevelopment(chainId: number): boolean {
  return settleMinutes[chainId] === 0
}

/** Default of `settle` for a chain, in milliseconds. Layer-2 chains are as final as their batches on layer 1. */
export function settleMsOf(chainId: number): number {
  return (settleMinutes[chainId] ?? 30) * minuteMs
}

/**
 * Whether the as-of block of an hour cannot be replaced any more: the hour is older than the chain's `settle`.
 *
 * @param earliestMs `undefined` while no witness confirms the clock: nothing is final then, but on a chain that settles at
 * once
 */
export function isFinal(hour: Hour, settleMs: number, earliestMs: EarliestMs | undefined): boolean {
  return settleMs === 0 || (earliestMs !== undefined && hour + settleMs <= earliestMs)
}

/** The newest hour that is final, as in `isFinal`; `undefined` where none is. @param current the current hour */
export function newestFinal(settleMs: number, earliestMs: EarliestMs | undefined, current: Hour): Hour | undefined {
  if (settleMs === 0) return current
  return earliestMs === undefined ? undefined : hourAt(earliestMs - settleMs)
}

/** The blocks of an hour that were not final yet at an instant, as in `isFinal`. */
export function notFinal(
  pins: readonly PinnedBlock[],
  hour: Hour,
  chains: readonly { readonly id: number; readonly settleMs: number }[],
  earliestMs: EarliestMs | undefined,
): PinnedBlock[] {
  const settleMs = (chainId: number) => chains.find(({ id }) => id === chainId)?.settleMs ?? settleMsOf(chainId)
  return pins.filter(({ chainId }) => !isFinal(hour, settleMs(chainId), earliestMs))
}
