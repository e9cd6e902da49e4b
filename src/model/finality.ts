import type { PinnedBlock } from './block.ts'
import type { Hour } from './hour.ts'

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

/** The blocks of an hour that were not final yet at an instant. */
export function notFinal(
  pins: readonly PinnedBlock[],
  hour: Hour,
  chains: readonly { readonly id: number; readonly settleMs: number }[],
  atMs: number,
): PinnedBlock[] {
  const settleMs = (chainId: number) => chains.find(({ id }) => id === chainId)?.settleMs ?? settleMsOf(chainId)
  return pins.filter(({ chainId }) => atMs < hour + settleMs(chainId))
}
