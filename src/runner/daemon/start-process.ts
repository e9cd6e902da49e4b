import { dirname } from 'node:path'
import { shippedCollectors } from '../origin.ts'
import { type SpawnDeps, spawnChild } from './child-spawn.ts'
import { runnerLimits } from './limits.ts'
import { groupOf, type ProcessGroup } from './processes.ts'
import { shippedReads } from './readable.ts'
import type { StartedProcess } from './started-process.ts'
import type { WarmProcesses } from './warm-processes.ts'

/**
 * Starts a process of shipped collectors for the next runner, before the configuration is known: what they may read does
 * not depend on it.
 */
export function startShipped(warm: WarmProcesses, configFile: string): void {
  const group = groupOf({ use: shippedCollectors()[0] ?? '', configFile }, [])
  const { heapMbMax, memoryMbMax } = runnerLimits
  const { readsChains } = warm
  const bounds = { heapMbMax, memoryMbMax, readsChains }
  warm.put(group.key, startProcess(group, { reads: shippedReads(), links: {}, ...bounds }))
}

/** Starts a process for a group of collectors. */
export function startProcess(
  { isShipped, declared, configFile }: ProcessGroup,
  permitted: Pick<SpawnDeps, 'reads' | 'links' | 'heapMbMax' | 'memoryMbMax' | 'readsChains'>,
): StartedProcess {
  // Shipped code only opens what the configuration declares; no code of one's own runs in its process.
  const mayUseSqlite = isShipped && declared.length > 0
  const spawned = spawnChild({ ...permitted, mayUseSqlite, folder: dirname(configFile) })
  // An empty id: lines of the process as a whole.
  return { spawned, isReady: false, collectors: new Set(['']), lastPing: 0 }
}
