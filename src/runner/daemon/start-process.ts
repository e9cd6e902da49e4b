import { dirname } from 'node:path'
import { type SpawnDeps, spawnChild } from './child-spawn.ts'
import type { ProcessGroup } from './processes.ts'
import type { StartedProcess } from './started-process.ts'

/** Starts a process for a group of collectors. */
export function startProcess(
  { isShipped, declared, configFile }: ProcessGroup,
  permitted: Pick<SpawnDeps, 'reads' | 'links' | 'heapMbMax' | 'memoryMbMax'>,
): StartedProcess {
  // Shipped code only opens what the configuration declares; no code of one's own runs in its process.
  const mayUseSqlite = isShipped && declared.length > 0
  const spawned = spawnChild({ ...permitted, mayUseSqlite, folder: dirname(configFile) })
  // An empty id: lines of the process as a whole.
  return { spawned, isReady: false, collectors: new Set(['']), lastPing: 0 }
}
