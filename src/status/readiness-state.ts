import { overdueMs } from '../model/limits.ts'

/** Why a daemon is not ready, as a closed list in the order in which reasons are shown. */
export const readinessCauses = [
  'config-refused',
  'clock-wrong',
  'disk-full',
  'locked',
  'kept-locally',
  'fleet-stuck',
  'no-daemon',
  'not-collected',
  'not-planned',
  'gap',
  'not-delivered',
  'dead',
  'held',
] as const

/** One of `readinessCauses`. */
export type ReadinessCause = (typeof readinessCauses)[number]

/** `starting`: nothing is wrong, and hours that were missed before the start are still caught up. */
export type ReadinessState = 'starting' | 'ready' | 'not-ready'

/** All that readiness depends on. Counts are of hours whose turn was a quarter of an hour ago, or longer. */
export interface ReadinessFacts {
  /** Milliseconds since the loops were started. */
  readonly runningMs: number
  readonly isConfigRefused: boolean
  /** Whether a person should set the machine's clock. */
  readonly isClockWrong: boolean
  /** Whether nothing is planned, because the clock is not believed. */
  readonly isClockDoubted: boolean
  readonly isDiskFull: boolean
  /** Whether another process has kept this one from writing for long. */
  readonly isLocked: boolean
  /** Hours whose values wait in a local folder for the database of a fleet. */
  readonly keptLocally: number
  /** Reasons why a fleet does not work: nothing is claimed, or a role has no living holder. */
  readonly fleetTroubles: number
  /** Lanes of a fleet with due hours that no living daemon works. */
  readonly idleLanes: number
  /** Collectors with a due hour that was tried and failed, and with one that was not tried yet. */
  readonly failed: number
  readonly untried: number
  /** Collectors that are expected for the hour and have no row of it. */
  readonly unplanned: number
  /** Gaps of the newest such hour; older ones are history. */
  readonly gaps: number
  /** Due metrics, and whether delivery waits for something. */
  readonly undelivered: number
  readonly isDeliveryWaiting: boolean
  /** Dead and held metrics of the newest such hour. */
  readonly dead: number
  readonly held: number
  /** Whether what waits for a person's decision turns readiness red. */
  readonly isStrict: boolean
}

/** Causes that wait for a person's decision: nothing is late or stopped. */
const decisions: ReadonlySet<ReadinessCause> = new Set(['dead', 'held'])

/**
 * The state of a daemon, and what is wrong. For a quarter of an hour after a start, what was merely not tried yet is
 * caught up and is not wrong; what was tried and failed is. Dead and held metrics wait for a person's decision: they are
 * warnings, unless `isStrict`. Pure: the present facts decide, not the state before.
 */
export function readinessState(facts: ReadinessFacts): {
  readonly state: ReadinessState
  /** Reasons why it is not ready. */
  readonly causes: ReadonlySet<ReadinessCause>
  /** Troubles that delay nothing. */
  readonly warnings: ReadonlySet<ReadinessCause>
} {
  const isStarting = facts.runningMs < overdueMs
  const holds: Readonly<Record<ReadinessCause, boolean>> = {
    'config-refused': facts.isConfigRefused,
    'clock-wrong': facts.isClockWrong,
    'disk-full': facts.isDiskFull,
    locked: facts.isLocked,
    'kept-locally': facts.keptLocally > 0,
    'fleet-stuck': facts.fleetTroubles > 0,
    'no-daemon': facts.idleLanes > 0 && !isStarting,
    'not-collected': facts.failed > 0 || (facts.untried > 0 && !isStarting),
    // With a doubted clock or a full disk nothing is planned, which has a cause of its own.
    'not-planned': facts.unplanned > 0 && !isStarting && !facts.isClockDoubted && !facts.isDiskFull,
    gap: facts.gaps > 0,
    'not-delivered': facts.undelivered > 0 && (facts.isDeliveryWaiting || !isStarting),
    dead: facts.dead > 0,
    held: facts.held > 0,
  }
  const warnings = new Set(readinessCauses.filter(cause => holds[cause] && decisions.has(cause) && !facts.isStrict))
  const causes = new Set(readinessCauses.filter(cause => holds[cause] && !warnings.has(cause)))
  return { state: causes.size > 0 ? 'not-ready' : isStarting ? 'starting' : 'ready', causes, warnings }
}
