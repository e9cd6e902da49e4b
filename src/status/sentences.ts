import { type ClockVerdict, clockReportMs, offSentence, witnessWaitMs } from '../model/clock.ts'
import type { FaultRecord } from '../model/fault.ts'
import { type Hour, hourText, instantText } from '../model/hour.ts'
import { recollectCapMs } from '../model/limits.ts'
import { asSentence, capital } from '../model/text.ts'
import { type Reader, unsentWords, waitingSentence } from '../model/waiting.ts'
import type { DestinationState, LastPush } from '../outbox/contract/delivery-store.ts'
import type { CollectionRow, LateCollector } from '../outbox/contract/hours.ts'
import type { DeadAndHeldCounts } from '../outbox/contract/metrics.ts'
import type { Lateness } from '../outbox/contract/status-store.ts'
import type { ConfigurationState, KeptHours } from './snapshot.ts'

// The sentences about troubles on the page, in `status`, `/readyz`, the heartbeat and messages. Each has its subject first,
// then the fact, what happens next and when, and what to do.

/** Why an hour failed, when it is tried again, and the cure, as the end of a sentence. Without a daemon the cure comes first. */
function triedAgain({ message, fix }: Pick<FaultRecord, 'message' | 'fix'>, { isUnattended }: Reader): string {
  const reasonSentence = `${message.replace(/\.$/, '')}.`
  if (!isUnattended) {
    return `${reasonSentence} Next try within ${recollectCapMs / 60_000} min.${fix === undefined ? '' : ` ${capital(fix)}`}`
  }
  const cure = fix === undefined ? '' : ` ${asSentence(fix)}`
  return `${reasonSentence}${cure} No daemon runs, so nothing is tried again: tidegauge run`
}

/** The end of a sentence about an hour that was not tried, as no daemon runs. */
const untriedWords = ', as no daemon runs. Start it: tidegauge run'

/** The fact that overdue hours of a collector are not there. */
export function lateFact({ collector, hours, oldest }: Pick<LateCollector, 'collector' | 'hours' | 'oldest'>): string {
  const which = hours === 1 ? 'the hour' : `${hours} hours, the oldest`
  return `${collector} has not collected ${which} ${hourText(oldest)}`
}

/** Sentences about overdue hours of a collector. */
export function lateSentence(lateCollector: LateCollector, reader: Reader): string {
  const { fault } = lateCollector
  if (fault) return `${lateFact(lateCollector)}: ${triedAgain(fault, reader)}`
  if (reader.isUnattended) return `${lateFact(lateCollector)}${untriedWords}`
  return `${lateFact(lateCollector)}, and has not tried yet. What holds it up? tidegauge doctor`
}

/** Sentences about an hour of a collector that failed and is not overdue yet. */
export function failingSentence(
  collector: string,
  hour: string,
  fault: Pick<FaultRecord, 'message' | 'fix'>,
  reader: Reader,
): string {
  return `${collector} has not collected the hour ${hour} yet: ${triedAgain(fault, reader)}`
}

/** Sentences about an hour that became a gap. */
export function gapSentence({ collector, hour, fault }: CollectionRow): string {
  const why = fault ? `: ${fault.message.replace(/\.$/, '')}` : ''
  const cure = fault?.fix === undefined ? '' : ` ${asSentence(fault.fix)}`
  const fact = `${collector} has no value of ${hourText(hour)}, and it can no longer be collected${why}`
  return `${fact}.${cure} What can be mended? tidegauge gaps`
}

/** Collectors that a sentence names; further ones are counted. */
const namesMax = 3

/** Sentences about an hour that has no row yet but should: one where the reason is the same for all. */
export function missingSentences(ids: readonly string[], hour: Hour, reader: Reader): string[] {
  const words = `not asked for the hour ${hourText(hour)}`
  if (!reader.isUnattended)
    return ids.map(id => `${id} was ${words}, which is not even planned. What holds it up? tidegauge doctor`)
  if (ids.length === 0) return []
  const more = ids.length - namesMax
  const all = [...ids.slice(0, namesMax), ...(more > 0 ? [`${more} more`] : [])]
  const names = all.length === 1 ? `${all[0]} was` : `${all.slice(0, -1).join(', ')} and ${all.at(-1)} were`
  return [`${names} ${words}${untriedWords}`]
}

/** The fact that metrics are late. */
export function undeliveredFact({ metrics, oldest }: NonNullable<Lateness['due']>, host: string): string {
  const which = metrics === 1 ? '1 metric is' : `${metrics} metrics are`
  return `${which} not delivered to ${host}, the oldest of ${hourText(oldest)}`
}

/** Sentences about late metrics; after a start only when deliveries wait. */
export function undeliveredSentences(
  { due: lateMetrics, destinations }: Pick<Lateness, 'due' | 'destinations'>,
  host: string,
  isCatchingUp: boolean,
  reader: Reader,
): string[] {
  const waitSentences = waitingSentences(destinations, reader)
  if (!lateMetrics || (isCatchingUp && waitSentences.length === 0)) return []
  const goesOn = reader.isUnattended ? unsentWords : 'delivery goes on'
  const why =
    waitSentences.length > 0 ? waitSentences.join(' ') : `Nothing is lost${reader.isUnattended ? ',' : ';'} ${goesOn}.`
  return [`${undeliveredFact(lateMetrics, host)}. ${why}`]
}

/** Why pushes to the destinations wait, what happens next and when, and what to do; empty when none waits. */
export function waitingSentences(destinations: readonly DestinationState[], reader: Reader): string[] {
  return destinations.flatMap(state => waitingSentence(state, reader) ?? [])
}

/** Verdicts of a push in words of a reader; others are words already. */
const pushWords: Readonly<Record<string, string>> = {
  transient: 'not accepted',
  systemic: 'every metric was rejected',
  'key-refused': 'the key was refused',
  'protocol-refused': 'the protocol was refused',
  'partly-refused': 'not all accepted',
  misdirected: 'not answered like by the service',
}

/** The result of the last push, with the status that ended it. */
export function pushText({ verdict, status }: Pick<LastPush, 'verdict' | 'status'>): string {
  const words = pushWords[verdict] ?? verdict
  return status === undefined ? words : `${words} (${status})`
}

/** Sentences about the dead and held metrics of an hour; older ones are only counted in the balance. */
export function deadAndHeldSentences(counts: DeadAndHeldCounts, hour: Hour, host: string): string[] {
  const countText = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'} of ${hourText(hour)}`
  const looks = counts.held === 1 ? 'looks wrong and was' : 'look wrong and were'
  return [
    ...(counts.dead > 0
      ? [`${host} refused ${countText(counts.dead, 'metric')} for good. Decide: tidegauge dead ls`]
      : []),
    ...(counts.held > 0 ? [`${countText(counts.held, 'value')} ${looks} not sent. Decide: tidegauge held ls`] : []),
  ]
}

/**
 * Sentences about due metrics that will not be delivered, as their protocol was removed from the configuration;
 * `undefined` when there are none.
 */
export function strandedSentence(
  protocols: readonly { readonly id: string }[],
  byProtocol: ReadonlyMap<string, { readonly due: number }>,
): string | undefined {
  const known = new Set(protocols.map(({ id }) => id))
  const strandedProtocols = [...byProtocol]
    .filter(([id, { due }]) => due > 0 && !known.has(id))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const [[first] = []] = strandedProtocols
  if (first === undefined) return undefined
  const counts = strandedProtocols.map(([id, { due }]) => `${due} due of ${id}`).join(', ')
  return `Metrics of protocols that are no longer configured are not delivered: ${counts}. Configure them again, or give them up: tidegauge due drop ${first}`
}

/** Sentence about values that wait on this machine for the database; empty when none do. */
export function keptSentences(kept: KeptHours | undefined): string[] {
  if (!kept || kept.hours === 0) return []
  const { hours, collectors, folder } = kept
  const of = `${hours} ${hours === 1 ? 'hour' : 'hours'}${collectors === 1 ? '' : ` of ${collectors} collectors`}`
  return [`Values of ${of} wait in ${folder} until the database takes them. Nothing is lost.`]
}

/** Sentences about a refused file: red until it is repaired, as the next start would fail with it. */
export function refusedSentences({ file, refused: refusal }: ConfigurationState): string[] {
  if (!refusal) return []
  const since = instantText(refusal.atMs)
  const [state, end] = refusal.isWaiting
    ? ['has waited for its database', 'that can be used']
    : ['has been refused', 'it is mended']
  return [
    `${file} was changed and ${state} since ${since}. The previous configuration stays in force until ${end}: ${refusal.reason}`,
  ]
}

interface ClockSeen {
  readonly clock?: ClockVerdict
  readonly destinations: readonly Pick<DestinationState, 'skewMs'>[]
  readonly nowMs: number
  readonly startedAtMs: number
}

/**
 * Why this machine's clock is unreliable; empty when it is not. Without a clock watch, by the skew of the service's
 * last answers. Right after a start a missing confirmation is not reported.
 */
export function clockSentences({ clock, destinations, nowMs, startedAtMs }: ClockSeen): string[] {
  if (clock?.kind === 'doubted') {
    const upMs = nowMs - startedAtMs
    // The start is in the future if the clock was set back since.
    const isStarting = upMs >= 0 && upMs < witnessWaitMs
    return clock.why === 'unconfirmed' && isStarting ? [] : [asSentence(clock.reason)]
  }
  if (clock) return clock.remark === undefined ? [] : [asSentence(clock.remark)]
  const skewsMs = destinations.flatMap(({ skewMs }) => skewMs ?? [])
  const offMs = skewsMs.find(skewMs => Math.abs(skewMs) > clockReportMs)
  return offMs === undefined ? [] : [asSentence(`${offSentence(offMs)}, when it was asked last: set it right`)]
}
