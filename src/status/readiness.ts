import type { Config } from '../config/config.ts'
import { clockAgreeMs } from '../model/clock-limits.ts'
import { commandLine } from '../model/command-line.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import type { Backlog } from '../outbox/contract/balance.ts'
import type { DestinationState } from '../outbox/contract/destination.ts'
import type { Lateness, LatenessWanted } from '../outbox/contract/status-store.ts'
import { clockSentences } from './clock-sentences.ts'
import { type FleetState, lookAtFleet } from './fleet.ts'
import { deadAndHeldSentences, gapSentence, lateSentence, missingSentence, withFix } from './hour-sentences.ts'
import type { KeptHours, Observed } from './observed.ts'
import { type ReadinessCause, readinessState } from './readiness-state.ts'
import { refusedSentences } from './reloads.ts'
import type { Readiness } from './snapshot.ts'

/** Why pushes to the destinations wait, one sentence each; empty when none waits. */
export function waitingSentences(destinations: readonly Pick<DestinationState, 'waiting'>[]): string[] {
  return destinations.flatMap(({ waiting }) => waiting ?? [])
}

/** Sentence about due metrics that will not be delivered: their protocol was removed from the configuration. */
export function strandedSentence(
  config: Config,
  { byProtocol }: Pick<Backlog, 'byProtocol'>,
  named?: string,
): string | undefined {
  const configured = new Set(config.protocols.map(({ id }) => id))
  const stranded = [...byProtocol]
    .filter(([id, { due }]) => due > 0 && !configured.has(id))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  if (stranded.length === 0) return undefined
  const counts = stranded.map(([id, { due }]) => `${due} due of ${id}`).join(', ')
  return `no longer configured, and not delivered until they are again: ${counts}; to give them up: ${commandLine(`due drop ${stranded[0]?.[0]}`, named)}`
}

/** Sentence about values that wait on this machine for the database; empty when none do. */
export function keptSentences(kept: KeptHours | undefined): string[] {
  if (!kept || kept.hours === 0) return []
  const { hours, folder } = kept
  return [`values of ${hours} ${hours === 1 ? 'hour' : 'hours'} wait in ${folder} until the database takes them`]
}

/** Input of a readiness. */
type ReadinessInput = Pick<
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
 */
export function readinessOf(observed: ReadinessInput, lateness: Lateness, fleet: FleetState | undefined): Readiness {
  const { config, outbox, nowMs, startedAtMs, host } = observed
  const { destinations, deadAndHeld, due, late, missing } = lateness
  const hour = newestLate(nowMs)
  const expected = new Set(config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id)))
  // Older gaps are history, and shown in the grid.
  const gaps = lateness.gaps.filter(({ collector }) => expected.has(collector))
  const failed = late.filter(({ fault }) => fault)
  const clock = clockSentences({ ...observed, destinations })
  const full = outbox.health.fullSentence
  const locked = outbox.health.lockedSentence(nowMs)
  const idle = fleet?.idleLanes.filter(({ oldest }) => oldest <= hour) ?? []
  const { named } = observed.configuration
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
    isDeliveryWaiting: waitingSentences(destinations).length > 0,
    ...deadAndHeld,
    isStrict: config.status.ready === 'strict',
  })
  const isCatchingUp = nowMs - startedAtMs < overdueMs
  const sentences: Readonly<Record<ReadinessCause, readonly string[]>> = {
    'config-refused': refused,
    'clock-wrong': clock,
    'disk-full': full === undefined ? [] : [full],
    locked: locked === undefined ? [] : [locked],
    'kept-locally': keptSentences(observed.kept),
    'fleet-stuck': observed.fleetTroubles ?? [],
    'no-daemon': idle.map(({ reason }) => reason),
    'not-collected': (isCatchingUp ? failed : late).map(each => withFix(lateSentence(each), each.fault)),
    'not-planned': missing.map(id => missingSentence(id, hour)),
    gap: gaps.map(gapSentence),
    'not-delivered': undeliveredSentences(lateness, host, isCatchingUp),
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

/** Sentence about late metrics; after a start only when deliveries wait. */
export function undeliveredSentences(
  { due, destinations }: Pick<Lateness, 'due' | 'destinations'>,
  host: string,
  isCatchingUp: boolean,
): string[] {
  const waiting = waitingSentences(destinations).join('; ')
  if (!due || (isCatchingUp && !waiting)) return []
  const { metrics, oldest } = due
  const why = waiting ? `: ${waiting}` : ''
  return [
    `${metrics} ${metrics === 1 ? 'metric' : 'metrics'} not delivered to ${host}, the oldest of ${hourText(oldest)}${why}`,
  ]
}
