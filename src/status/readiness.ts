import { clockAgreeMs } from '../model/clock.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import { asSentence } from '../model/text.ts'
import type { Lateness, LatenessWanted } from '../outbox/contract/status-store.ts'
import { type FleetState, lookAtFleet } from './fleet.ts'
import { type Observed, readerOf } from './observed.ts'
import {
  clockSentences,
  deadAndHeldSentences,
  gapSentence,
  keptSentences,
  lateSentence,
  missingSentences,
  refusedSentences,
  undeliveredSentences,
} from './sentences.ts'
import type { Readiness } from './snapshot.ts'

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

/** Input of a readiness. */
export type ReadinessInput = Pick<
  Observed,
  | 'config'
  | 'configuration'
  | 'outbox'
  | 'nowMs'
  | 'startedAtMs'
  | 'host'
  | 'destinations'
  | 'clock'
  | 'kept'
  | 'fleetTroubles'
  | 'isUnattended'
>

/** Readiness alone, from as few reads as possible: it is probed every few seconds. */
export async function readiness(observed: ReadinessInput): Promise<Readiness> {
  const lateness = await observed.outbox.status.lateness(latenessWanted(observed))
  return readinessOf(observed, lateness, await lookAtFleet(observed))
}

/** The lateness that a readiness needs. */
export function latenessWanted({ config, destinations, nowMs }: ReadinessInput): LatenessWanted {
  return {
    collectors: config.protocols.flatMap(({ collectors }) => collectors),
    protocolIds: config.protocols.map(({ id }) => id),
    destinations,
    hour: newestLate(nowMs),
  }
}

/** The newest hour that should be delivered. */
function newestLate(nowMs: number): Hour {
  return hourAt(nowMs - overdueMs)
}

/**
 * Readiness: red when an hour is late, that is, not collected or not delivered a quarter of an hour after its turn. The
 * hours are those the configuration expects, not the stored rows, so that a broken writer shows, too. `readinessState`
 * decides what is wrong, in a table; this says it in sentences.
 *
 * @param hour of the lateness. Default: the newest that should be delivered
 */
export function readinessOf(
  observed: ReadinessInput,
  lateness: Lateness,
  fleet: FleetState | undefined,
  hour: Hour = newestLate(observed.nowMs),
): Readiness {
  const { config, outbox, nowMs, startedAtMs, host } = observed
  const { destinations, deadAndHeld, due, late, missing } = lateness
  const expected = new Set(config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id)))
  // Older gaps are history, and shown in the grid.
  const gaps = lateness.gaps.filter(({ collector }) => expected.has(collector))
  const failed = late.filter(({ fault }) => fault)
  const clock = clockSentences({ ...observed, destinations })
  const full = outbox.health.fullSentence
  const locked = outbox.health.lockedSentence(nowMs)
  const idle = fleet?.idleLanes.filter(({ oldest }) => oldest <= hour) ?? []
  const reader = readerOf(observed)
  const { named } = reader
  const refused = refusedSentences(observed.configuration)
  const { state, causes, warnings } = readinessState({
    runningMs: nowMs - startedAtMs,
    isConfigRefused: refused.length > 0,
    isClockWrong: clock.length > 0,
    isClockDoubted: isDoubted(observed.clock, destinations),
    isDiskFull: full !== undefined,
    isLocked: locked !== undefined,
    keptLocally: observed.kept?.hours ?? 0,
    fleetTroubles: observed.fleetTroubles?.length ?? 0,
    idleLanes: idle.length,
    failed: failed.length,
    untried: late.length - failed.length,
    unplanned: missing.length,
    gaps: gaps.length,
    undelivered: due?.metrics ?? 0,
    isDeliveryWaiting: destinations.some(({ waiting }) => waiting !== undefined),
    ...deadAndHeld,
    isStrict: config.status.ready === 'strict',
  })
  const isCatchingUp = nowMs - startedAtMs < overdueMs
  const sentences: Readonly<Record<ReadinessCause, readonly string[]>> = {
    'config-refused': refused,
    'clock-wrong': clock,
    'disk-full': full === undefined ? [] : [asSentence(full)],
    locked: locked === undefined ? [] : [asSentence(locked)],
    'kept-locally': keptSentences(observed.kept),
    'fleet-stuck': (observed.fleetTroubles ?? []).map(asSentence),
    'no-daemon': idle.map(({ reason }) => asSentence(reason)),
    'not-collected': (isCatchingUp ? failed : late).map(each => lateSentence(each, reader)),
    'not-planned': missingSentences(missing, hour, reader),
    gap: gaps.map(gap => gapSentence(gap, named)),
    'not-delivered': undeliveredSentences(lateness, host, isCatchingUp, reader),
    dead: deadAndHeldSentences({ ...deadAndHeld, held: 0 }, hour, host, named),
    held: deadAndHeldSentences({ ...deadAndHeld, dead: 0 }, hour, host, named),
  }
  const said = (all: ReadonlySet<ReadinessCause>) => [...all].flatMap(cause => sentences[cause])
  const reasons = said(causes)
  return { ok: state !== 'not-ready', reasons, ...(warnings.size > 0 && { warnings: said(warnings) }) }
}

/** Whether nothing is planned for the clock; without a clock watch, by the skew with which a daemon doubts its own. */
function isDoubted(clock: ReadinessInput['clock'], destinations: Lateness['destinations']): boolean {
  if (clock) return clock.kind === 'doubted'
  return destinations.some(({ skewMs = 0 }) => Math.abs(skewMs) > clockAgreeMs)
}
