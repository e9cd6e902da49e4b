import type { Spawned } from './child-spawn.ts'

/** A process of collectors, and what it was given so far. */
export interface StartedProcess {
  readonly spawned: Spawned
  /** Whether it has said that it is ready. */
  readonly isReady: boolean
  /** Collectors it was given: it may log for no others. */
  readonly collectors: Set<string>
  /** Number of the last ping. */
  readonly lastPing: number
}
