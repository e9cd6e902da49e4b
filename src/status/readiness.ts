import { clockAgreeMs } from '../model/clock.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import { asSentence } from '../model/text.ts'
import type { LateCollector } from '../outbox/contract/hours.ts'
import type { Lateness, LatenessWanted } from '../outbox/contract/status-store.ts'
import { type FleetState, readFleet } from './fleet.ts'
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
import { type Readiness, type ReadinessCause, readinessCauses } from './snapshot.ts'
import type { Observed } from './sources.ts'

/** Causes that wait for a person's decision: nothing is late or stopped. */
const decisions: ReadonlySet<ReadinessCause> = new Set([
  ...(['dead', 'held', 'window-incomplete', 'fleet-differs'] as const),
])

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
  | 'isForceUnknown'
>

/** Readiness alone, from as few reads as possible: it is probed every few seconds. */
export async function readiness(observed: ReadinessInput): Promise<Readiness> {
  const lateness = await observed.outbox.status.lateness(latenessWanted(observed))
  return readinessOf(observed, lateness, await readFleet(observed))
}

/** Readiness where the outbox cannot be read: that, and what the daemon knows without it. @param reason as a sentence */
export function unreadReadiness(
  reason: string,
  input: Pick<ReadinessInput, 'configuration' | 'kept' | 'fleetTroubles'>,
): Readiness {
  const sentences: readonly (readonly [cause: ReadinessCause, texts: readonly string[]])[] = [
    ['config-refused', refusedSentences(input.configuration)],
    ['outbox-unread', [asSentence(reason)]],
    ['kept-locally', keptSentences(input.kept)],
    ['fleet-stuck', input.fleetTroubles?.map(asSentence) ?? []],
  ]
  const causes = sentences.flatMap(([cause, texts]) => texts.map(() => cause))
  return { ok: false, reasons: sentences.flatMap(([, texts]) => texts), causes }
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
 * hours are those the configuration expects, not the stored rows, so that a broken writer shows, too.
 *
 * For a quarter of an hour after a start, what was merely not tried yet is caught up and is not wrong; what was tried and
 * failed is. The causes in `decisions` stop nothing: they are warnings, unless `status.ready` is `strict`.
 * Pure: the present facts decide, not the state before.
 *
 * @param hour of the lateness. Default: the newest that should be delivered
 */
export function readinessOf(
  input: ReadinessInput,
  lateness: Lateness,
  fleet: FleetState | undefined,
  hour: Hour = newestLate(input.nowMs),
): Readiness {
  const sentencesByCause = sentencesOf(input, lateness, fleet, hour)
  const isWarning = (cause: ReadinessCause) => decisions.has(cause) && !isStrict(input)
  const sentencesFor = (causes: readonly ReadinessCause[]) => causes.flatMap(cause => sentencesByCause[cause])
  const red = readinessCauses.filter(cause => !isWarning(cause))
  const reasons = sentencesFor(red)
  const causes = red.flatMap(cause => sentencesByCause[cause].map(() => cause))
  const warnings = sentencesFor(readinessCauses.filter(isWarning))
  const isReady = reasons.length === 0
  return { ok: isReady, reasons, ...(!isReady && { causes }), ...(warnings.length > 0 && { warnings }) }
}

/** The part of a lateness that is a trouble now. */
interface LateHours {
  /** Overdue hours; after a start only those that have failed. */
  readonly uncollected: readonly LateCollector[]
  /** Overdue hours of derived values whose window is not full. */
  readonly incomplete: readonly LateCollector[]
  /** Collectors without a row for the hour, unless something else is why nothing is planned. */
  readonly unplannedCollectors: readonly string[]
}

/** Troubles among what is late, for readiness and for notices. @param isStarting whether it is merely caught up */
export function lateHours(
  { outbox, clock, isForceUnknown }: Pick<ReadinessInput, 'outbox' | 'clock' | 'isForceUnknown'>,
  { late: lateCollectors, missing: missingIds, destinations }: Lateness,
  isStarting: boolean,
): LateHours {
  const isWindow = ({ fault }: LateCollector) => fault?.code === 'window-incomplete'
  // With a doubted clock or a full disk nothing is planned, which has a cause of its own.
  const isPlanned =
    !isStarting && !isForceUnknown && outbox.health.fullSentence === undefined && !isDoubted(clock, destinations)
  return {
    uncollected: lateCollectors.filter(each => !isWindow(each) && (each.fault || !isStarting)),
    incomplete: lateCollectors.filter(isWindow),
    unplannedCollectors: isPlanned ? missingIds : [],
  }
}

/** Whether what waits for a person's decision turns readiness red, too. */
export function isStrict({ config }: Pick<ReadinessInput, 'config'>): boolean {
  return config.status.ready === 'strict'
}

/** The sentences of each cause; none of one that does not hold. */
function sentencesOf(
  input: ReadinessInput,
  lateness: Lateness,
  fleet: FleetState | undefined,
  hour: Hour,
): Readonly<Record<ReadinessCause, readonly string[]>> {
  const { config, configuration, outbox, nowMs, startedAtMs, host } = input
  const { destinations, deadAndHeld } = lateness
  const isStarting = nowMs - startedAtMs < overdueMs
  const lateTroubles = lateHours(input, lateness, isStarting)
  const { fullSentence, isReadOnly } = outbox.health
  const lockSentence = outbox.health.lockedSentence(nowMs)
  const idleLanes = fleet?.idleLanes.filter(({ oldest }) => oldest <= hour) ?? []
  const expectedIds = new Set(config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id)))
  return {
    'config-refused': refusedSentences(configuration),
    'clock-wrong': clockSentences({ ...input, destinations }),
    // The lateness was read from it.
    'outbox-unread': [],
    'disk-full': fullSentence === undefined || isReadOnly ? [] : [asSentence(fullSentence)],
    'read-only': fullSentence !== undefined && isReadOnly ? [asSentence(fullSentence)] : [],
    locked: lockSentence === undefined ? [] : [asSentence(lockSentence)],
    'kept-locally': keptSentences(input.kept),
    'fleet-stuck': fleet?.troubles ?? [],
    'no-daemon': isStarting ? [] : idleLanes.map(({ reason }) => asSentence(reason)),
    'not-collected': lateTroubles.uncollected.map(each => lateSentence(each, input)),
    'not-planned': missingSentences(lateTroubles.unplannedCollectors, hour, input),
    // Older gaps are history, and shown in the grid.
    gap: lateness.gaps.filter(({ collector }) => expectedIds.has(collector)).map(gap => gapSentence(gap)),
    'not-delivered': undeliveredSentences(lateness, host, isStarting, input),
    dead: deadAndHeldSentences({ ...deadAndHeld, held: 0 }, hour, host),
    held: deadAndHeldSentences({ ...deadAndHeld, dead: 0 }, hour, host),
    'window-incomplete': lateTroubles.incomplete.map(each => lateSentence(each, input)),
    'fleet-differs': fleet?.differences ?? [],
  }
}

/** Whether nothing is planned for the clock; without a clock watch, by the skew with which a daemon doubts its own. */
function isDoubted(clock: ReadinessInput['clock'], destinations: Lateness['destinations']): boolean {
  if (clock) return clock.kind === 'doubted'
  return destinations.some(({ skewMs = 0 }) => Math.abs(skewMs) > clockAgreeMs)
}
