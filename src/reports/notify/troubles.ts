import { type Hour, hourAt, hourText } from '../../model/hour.ts'
import { overdueMs } from '../../model/limits.ts'
import { asSentence } from '../../model/text.ts'
import { stepFor } from '../../model/waiting.ts'
import type { DestinationState } from '../../outbox/contract/delivery-store.ts'
import type { LateCollector } from '../../outbox/contract/hours.ts'
import type { Lateness, UnresolvedCount } from '../../outbox/contract/status-store.ts'
import type { FleetDifference, FleetState } from '../../status/fleet.ts'
import { isStrict, lateHours, type ReadinessInput } from '../../status/readiness.ts'
import {
  clockSentences,
  lateFact,
  missingSentences,
  undeliveredFact,
  undeliveredSentences,
} from '../../status/sentences.ts'
import { joinedWords, type SeenTrouble, type TroubleWords } from './incidents.ts'

/** State of a daemon, as far as troubles show in it. */
export interface TroubleInput extends ReadinessInput {
  /** The newest hour that should be delivered. */
  readonly hour: Hour
  /** Lateness of that hour. */
  readonly lateness: Lateness
  readonly unresolvedCounts: readonly UnresolvedCount[]
  /** Absent where the outbox belongs to one daemon. */
  readonly fleet?: Pick<FleetState, 'differing'> | undefined
}

/** All troubles of now. Pure. */
export function troublesOf(input: TroubleInput): SeenTrouble[] {
  const { destinations, lateness, unresolvedCounts } = input
  return [
    ...notDelivered(input),
    ...lateness.destinations.flatMap((state, index) => keyTrouble(destinations[index] ?? '', state, input)),
    ...unresolvedCounts.map(count => unresolvedTrouble(count, input.host)),
    ...notReady(input),
    ...standingBack(input),
  ]
}

/**
 * Hours and metrics that are late, as readiness sees them: for a quarter of an hour after a start it waits for what is
 * being caught up. A reported trouble is not over until that is delivered.
 */
function notDelivered(input: TroubleInput): SeenTrouble[] {
  const { nowMs, startedAtMs, hour, lateness } = input
  const isCatchingUp = nowMs - startedAtMs < overdueMs
  const certain = lateWords(input, isCatchingUp, isKeyRefused(lateness))
  const isWeak = certain.length === 0
  const words = isWeak ? lateWords(input, false) : certain
  if (words.length === 0) return []
  const hours = [lateness.due?.oldest ?? hour, ...overdueOf(input, false).map(({ oldest }) => oldest)]
  const oldestHour = hours.reduce((least, one) => (one < least ? one : least))
  return [
    {
      kind: 'not-delivered',
      subject: '',
      hour: oldestHour,
      ...joinedWords(words),
      items: words,
      ...(isWeak && { isWeak }),
    },
  ]
}

/** Whether refused keys are why metrics wait, which is a trouble of its own: one message says it. */
function isKeyRefused({ destinations }: Lateness): boolean {
  const failing = destinations.filter(({ failures }) => failures > 0)
  return failing.length > 0 && failing.every(({ lastPush }) => lastPush?.verdict === 'key-refused')
}

/** Overdue hours of collectors that turn readiness red. */
function overdueOf(input: TroubleInput, isCatchingUp: boolean): readonly LateCollector[] {
  const { uncollected, incomplete } = lateHours(input, input.lateness, isCatchingUp)
  return isStrict(input) ? [...uncollected, ...incomplete] : uncollected
}

function lateWords(input: TroubleInput, isCatchingUp: boolean, isReported = false): TroubleWords[] {
  const { lateness, host, hour } = input
  const { due: lateMetrics } = lateness
  const isUndelivered = undeliveredSentences(lateness, host, isCatchingUp, input).length > 0
  const { unplannedCollectors } = lateHours(input, lateness, isCatchingUp)
  return [
    ...(lateMetrics && isUndelivered && !isReported
      ? [undeliveredWords(lateMetrics, lateness.destinations, host)]
      : []),
    ...overdueOf(input, isCatchingUp).map(uncollectedWords),
    ...missingSentences(unplannedCollectors, hour, input).map(missingWords),
  ]
}

function undeliveredWords(
  lateMetrics: NonNullable<Lateness['due']>,
  destinations: readonly DestinationState[],
  host: string,
): TroubleWords {
  // Without the next try, which is over when a person reads it.
  const reasons = destinations.flatMap(({ waiting }) => (waiting === undefined ? [] : [asSentence(waiting)]))
  const cures = new Set(destinations.flatMap(({ cure }) => cure ?? []))
  return {
    what: undeliveredFact(lateMetrics, host),
    why: reasons.join('\n') || 'pushes are slower than what is collected',
    do: `nothing is lost, and delivery goes on automatically; ${stepFor(cures.size === 1 ? [...cures][0] : undefined)}`,
  }
}

function uncollectedWords({ fault, ...late }: LateCollector): TroubleWords {
  return {
    what: lateFact(late),
    why: fault?.message ?? 'it was not tried yet',
    do: fault?.fix ?? `it is tried again automatically; ${sourceWords(fault)}`,
  }
}

function sourceWords(fault: LateCollector['fault']): string {
  const host = fault?.code === 'http-unreachable' ? fault.facts['host'] : undefined
  if (host === undefined) return 'tidegauge doctor says whether a node is at fault'
  return `if that goes on, check the address, and ask who runs ${host}`
}

function missingWords(what: string): TroubleWords {
  return {
    what,
    why: 'its hours are not written',
    do: 'look at the log of the daemon, and at its disk',
  }
}

/** A refused key. While its destination fails otherwise it is not known to be accepted again. */
function keyTrouble(name: string, state: DestinationState, { host, nowMs }: TroubleInput): SeenTrouble[] {
  if (state.failures === 0) return []
  const key = name === 'service' ? 'its key' : `the key of ${name}`
  return [
    {
      kind: 'key-refused',
      subject: name,
      hour: hourAt(nowMs),
      what: `${host} refuses ${key}`,
      why: state.waiting ?? 'it answered 401',
      do: 'put a valid key in its place: it is read again at once, and delivery goes on automatically',
      ...(state.lastPush?.verdict !== 'key-refused' && { isWeak: true }),
    },
  ]
}

function unresolvedTrouble({ kind, collector, count, hour, reason }: UnresolvedCount, host: string): SeenTrouble {
  const trouble = { kind, subject: collector, hour, why: reason }
  const metrics = `${count} ${count === 1 ? 'metric' : 'metrics'} of ${collector}`
  const newestText = `the newest of ${hourText(hour)}`
  switch (kind) {
    case 'gap': {
      const hours = `${count} ${count === 1 ? 'hour' : 'hours'} in all`
      const sentence = `${collector} has lost hours, which can no longer be collected: ${hours}, ${newestText}`
      return {
        ...trouble,
        what: sentence,
        do: 'tidegauge gaps lists them, and what may still be read',
        lost: count,
      }
    }
    case 'dead':
      return {
        ...trouble,
        what: `${host} refused ${metrics} for good, ${newestText}`,
        do: 'tidegauge dead ls; then dead retry or dead drop',
      }
    case 'held':
      return {
        ...trouble,
        what: `${metrics} ${count === 1 ? 'is' : 'are'} held, ${newestText}`,
        do: 'tidegauge held ls; held show says what to do',
      }
  }
}

/** Why the daemon cannot go on as configured. */
function notReady(input: TroubleInput): SeenTrouble[] {
  const { nowMs, lateness, configuration, outbox } = input
  const fullSentence = outbox.health.fullSentence
  const lockSentence = outbox.health.lockedSentence(nowMs)
  const part = (subject: string, what: string, why: string, instruction: string): SeenTrouble => {
    return { kind: 'not-ready', subject, hour: hourAt(nowMs), what, why, do: instruction }
  }
  const observation = { ...input, destinations: lateness.destinations }
  const clock = clockSentences(observation).map(why =>
    part('clock', 'the clock of this machine is wrong', why, 'set the clock right'),
  )
  // Right after a start a missing confirmation is no trouble yet, but does not end one.
  const clockWarnings = clockSentences({ ...observation, startedAtMs: 0 }).map(why => {
    return { ...part('clock', 'the clock of this machine is wrong', why, 'set the clock right'), isWeak: true }
  })
  const { refused: refusal, file } = configuration
  return [
    ...(refusal
      ? [
          part(
            'configuration',
            `${file} was changed and ${refusal.isWaiting ? 'waits for its database' : 'is refused'}; the previous configuration stays in force`,
            refusal.reason,
            'mend the file: it is read again at once',
          ),
        ]
      : []),
    ...(clock.length > 0 ? clock : clockWarnings),
    ...(fullSentence === undefined
      ? []
      : [
          outbox.health.isReadOnly
            ? part(
                'read-only',
                'the outbox can only be read: nothing new is collected',
                fullSentence,
                'let it be written: collecting goes on automatically',
              )
            : part(
                'disk',
                'the disk is full: nothing new is collected',
                fullSentence,
                'make room on the disk of the data folder: collecting goes on automatically',
              ),
        ]),
    ...(lockSentence === undefined
      ? []
      : [
          part(
            'lock',
            'the outbox cannot be written',
            lockSentence,
            'end the other process: nothing is lost meanwhile',
          ),
        ]),
  ]
}

/** Time in which an upgrade, or a change, of one daemon after the other is over. */
const upgradeMs = 15 * 60_000

/** Differences for which a daemon leaves work to others. For the first it is red at once. */
const standsBackFor: readonly FleetDifference['kind'][] = ['service', 'definition', 'name']

/** Daemons of a fleet that do not do all of their work, because they differ. */
function standingBack({ fleet, nowMs }: TroubleInput): SeenTrouble[] {
  const { differing = [] } = fleet ?? {}
  return differing.flatMap(({ kind, daemon, reason, fix }) => {
    if (daemon === undefined || !standsBackFor.includes(kind)) return []
    const trouble = {
      ...{ kind: 'fleet-differs' as const, subject: `${kind} ${daemon}`, hour: hourAt(nowMs) },
      ...{ what: `${daemon} differs from its fleet, and does only part of the work`, why: reason, do: fix },
    }
    return [{ ...trouble, ...(kind !== 'service' && { beginsAfterMs: upgradeMs }) }]
  })
}
