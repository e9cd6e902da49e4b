import type { CollectorConfig } from '../../config/config.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import { isExpected } from '../../model/rhythm.ts'
import type { Recorded } from '../../outbox/contract/hours.ts'
import type { CollectorDescription } from '../../runner/runner.ts'
import { canCollect } from '../hour-clock.ts'

/** Results of the hours of one collector, as counts. */
export interface CollectorCounts {
  readonly collector: string
  /** Hours read and stored. */
  readonly done: number
  /** Hours collected before. */
  readonly alreadyCollected: number
  /** Due hours left to the running daemon. */
  readonly leftToDaemon: number
  /** Hours that failed. */
  readonly failed: number
  /** Past hours of a collector that reads only the present, and hours before a chain's first block. */
  readonly impossible: number
  /** Number of new metrics. */
  readonly added: number
  /** Metrics whose value changed. */
  readonly corrected: number
}

/** Counts results of hours, by collector. */
export class Counts {
  readonly #counts: Map<string, CollectorCounts>

  constructor(works: readonly Work[]) {
    const zero = { done: 0, failed: 0, added: 0, corrected: 0 }
    this.#counts = new Map(
      works.map(({ collector: { id }, alreadyCollected, leftToDaemon, impossible }) => [
        id,
        { collector: id, alreadyCollected, leftToDaemon, impossible, ...zero },
      ]),
    )
  }

  /** Counts one hour. */
  add(collector: string, fate: 'done' | 'alreadyCollected' | 'leftToDaemon' | 'failed' | 'impossible'): void {
    this.#change(collector, counts => ({ ...counts, [fate]: counts[fate] + 1 }))
  }

  stored(collector: string, { added: addedCount, corrected: correctedCount }: Recorded): void {
    this.#change(collector, counts => ({
      ...counts,
      added: counts.added + addedCount,
      corrected: counts.corrected + correctedCount,
    }))
  }

  get all(): readonly CollectorCounts[] {
    return [...this.#counts.values()]
  }

  #change(collector: string, change: (counts: CollectorCounts) => CollectorCounts): void {
    const counts = this.#counts.get(collector)
    if (counts) this.#counts.set(collector, change(counts))
  }
}

/** Runs that failed for the same reason. */
export interface Reason {
  readonly fault: Fault
  /** Number of failed runs. */
  readonly count: number
  /** Their hours and collectors, in the order they failed; at most `spansMax`. */
  readonly spans: readonly FailedSpan[]
  /** The first hour at which there is none of these failures; absent where that is not known. */
  readonly firstHour?: Hour | undefined
}

/** Consecutive hours of one collector, both ends included. */
interface FailedSpan {
  readonly collector: string
  /** First failed hour. */
  readonly from: Hour
  /** Last failed hour, included. */
  readonly to: Hour
}

/** Spans kept of one reason: if failures are scattered over a year, the first ones are enough. */
const spansMax = 100

/** Distinct reasons; further ones are counted together. */
const reasonsMax = 20

/** Counts failures by reason, in bounded memory. */
export class FailureReasons {
  readonly #reasons = new Map<string, Reason>()

  add(collector: string, hour: Hour, fault: Fault): void {
    const own = keyOf(fault)
    const key = this.#reasons.has(own) || this.#reasons.size < reasonsMax ? own : ''
    const reason = this.#reasons.get(key)
    const spans = withHour(reason?.spans ?? [], collector, hour)
    this.#reasons.set(key, {
      fault: reason?.fault ?? (key === '' ? others : fault),
      count: (reason?.count ?? 0) + 1,
      spans,
      firstHour: laterHour(reason?.firstHour, firstHour(fault, hour)),
    })
  }

  /** Reasons, most frequent first. */
  get reasons(): readonly Reason[] {
    return [...this.#reasons.values()].sort((a, b) => b.count - a.count)
  }
}

/** Reasons that were counted apart, together; most frequent first. Pure. */
export function joinedReasons(all: readonly Reason[]): readonly Reason[] {
  const groups = [...Map.groupBy(all, ({ fault }) => keyOf(fault)).values()]
  return groups
    .map(group => ({
      fault: group[0]?.fault ?? others,
      count: group.reduce((sum, { count }) => sum + count, 0),
      spans: group.flatMap(({ spans }) => spans).slice(0, spansMax),
      firstHour: group.map(reason => reason.firstHour).reduce(laterHour),
    }))
    .sort((a, b) => b.count - a.count)
    .slice(0, reasonsMax)
}

function laterHour(first: Hour | undefined, second: Hour | undefined): Hour | undefined {
  return first === undefined || (second !== undefined && second > first) ? second : first
}

/** Adds an hour to the spans. Hours ascend or descend; those of several collectors alternate. */
function withHour(spans: readonly FailedSpan[], collector: string, hour: Hour): readonly FailedSpan[] {
  const place = spans.findLastIndex(
    span => span.collector === collector && span.from <= hourAfter(hour, 1) && span.to >= hourAfter(hour, -1),
  )
  const span = spans[place]
  if (!span) return spans.length < spansMax ? [...spans, { collector, from: hour, to: hour }] : spans
  const grown = { collector, from: hour < span.from ? hour : span.from, to: hour > span.to ? hour : span.to }
  return spans.with(place, grown)
}

const others = new Fault('stopped', 'other reasons')

/** Key of a reason: messages that differ only in hours, numbers or hashes have the same. */
function keyOf({ code, message }: Fault): string {
  return `${code} ${message.replace(/0x[0-9a-f]+|\d[\d:TZ.,-]*/gi, '#')}`
}

/**
 * The first hour that a collector can be read for, by its Fault `chain-before-first-block`; `undefined` for another Fault.
 * Where it reads an earlier hour, too, that is later than the first hour at which the chain had a block.
 *
 * @param hour the hour that it was read for
 */
export function firstHour({ code, facts }: Fault, hour: Hour): Hour | undefined {
  if (code !== 'chain-before-first-block') return undefined
  const [firstMs, readMs] = [Date.parse(String(facts['firstBlockAt'])), Date.parse(String(facts['hour']))]
  if (Number.isNaN(firstMs)) return undefined
  return hourAt(firstMs + hourMs - 1 + (Number.isNaN(readMs) ? 0 : hour - readMs))
}

/** Stored states of a collector's hours; hours without a row are absent. */
export type StatesByHour = ReadonlyMap<Hour, 'due' | 'collected' | 'gap'>

/** The request of a backfill. */
export interface BackfillRequest {
  /** First and last hour, both included. */
  readonly from: Hour
  /** Last hour, included. */
  readonly to: Hour
  /** The current hour: a collector that reads only the present can be asked for no other. */
  readonly current: Hour
  /** `missing`: collected hours are left alone. `overwrite`: they are read again, and differences are corrected. */
  readonly scope: 'missing' | 'overwrite'
  /** Whether a daemon runs on the same outbox: it collects the due hours. */
  readonly daemon: 'runs' | 'none'
}

/** The hours of one collector, by what is to be done. */
export interface Work {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  /** Hours to read, ascending. */
  readonly hours: readonly Hour[]
  /** Number of hours already collected. */
  readonly alreadyCollected: number
  /** Number of due hours, which the running daemon collects. */
  readonly leftToDaemon: number
  /** Number of past hours, if the collector reads only the present. */
  readonly impossible: number
}

/** Classifies the hours of one collector. Pure. */
export function workOf(
  collector: CollectorConfig,
  description: CollectorDescription,
  request: BackfillRequest,
  states: StatesByHour,
): Work {
  const of = (hour: Hour) => fateOf(hour, description, request, states.get(hour))
  const expected = hoursFrom(request.from, request.to).filter(hour => isExpected(collector, hour))
  const hoursByFate = Map.groupBy(expected, of)
  const count = (fate: HourFate) => hoursByFate.get(fate)?.length ?? 0
  return {
    collector,
    description,
    hours: hoursByFate.get('to-do') ?? [],
    alreadyCollected: count('alreadyCollected'),
    leftToDaemon: count('leftToDaemon'),
    impossible: count('impossible'),
  }
}

/** Decision about an hour of a collector. */
export type HourFate = 'to-do' | 'alreadyCollected' | 'leftToDaemon' | 'impossible'

/** Classifies one hour. A gap is tried again. Pure. */
export function fateOf(
  hour: Hour,
  description: Pick<CollectorDescription, 'history'>,
  { current, scope, daemon }: Pick<BackfillRequest, 'current' | 'scope' | 'daemon'>,
  state: 'due' | 'collected' | 'gap' | undefined,
): HourFate {
  if (state === 'collected' && scope === 'missing') return 'alreadyCollected'
  if (!canCollect(hour, current, description)) return 'impossible'
  if (state === 'due' && daemon === 'runs') return 'leftToDaemon'
  return 'to-do'
}

/** Hours of one collector that are read together with those of others. */
export interface CollectorHours {
  readonly work: Work
  readonly hours: readonly Hour[]
}

/** The order in which hours are read. */
export type HourOrder = 'oldest-first' | 'newest-first'

/**
 * Splits the work into windows: each holds the next hours, at most `size`, of all collectors. Within a window hours
 * ascend.
 */
export function windowsOf(works: readonly Work[], size: number, order: HourOrder): CollectorHours[][] {
  const hours = hoursInOrder(works, order)
  const count = Math.ceil(hours.length / size)
  return Array.from({ length: count }, (_, index) => sharesOf(works, hours.slice(index * size, (index + 1) * size)))
}

/** The distinct hours of some works. */
export function hoursInOrder(works: readonly Work[], order: HourOrder): Hour[] {
  const ascending = [...new Set(works.flatMap(({ hours }) => hours))].sort((a, b) => a - b)
  return order === 'oldest-first' ? ascending : ascending.reverse()
}

/** The part of the work between the first and the last of some hours, both included. */
export function sharesOf(works: readonly Work[], hours: readonly Hour[]): CollectorHours[] {
  const [one, other] = [hours[0] ?? 0, hours.at(-1) ?? 0]
  const [first, last] = [Math.min(one, other), Math.max(one, other)]
  return works.flatMap(work => {
    const own = work.hours.filter(hour => hour >= first && hour <= last)
    return own.length === 0 ? [] : [{ work, hours: own }]
  })
}

/** Builds works from single runs, one work for each collector. */
export function worksOf(runs: readonly { readonly work: Work; readonly hour: Hour }[]): Work[] {
  const byCollector = Map.groupBy(runs, ({ work }) => work.collector.id)
  return [...byCollector.values()].flatMap(own => {
    const hours = own.map(({ hour }) => hour).sort((a, b) => a - b)
    return own[0] ? [{ ...own[0].work, hours }] : []
  })
}

/** Number of runs in some shares: one for each collector and hour. */
export function runsOf(shares: readonly Pick<CollectorHours, 'hours'>[]): number {
  return shares.reduce((sum, { hours }) => sum + hours.length, 0)
}

/** Number of distinct hours in some shares. */
export function hoursOf(shares: readonly Pick<CollectorHours, 'hours'>[]): number {
  return new Set(shares.flatMap(({ hours }) => hours)).size
}
