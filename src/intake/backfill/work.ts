import type { CollectorConfig } from '../../config/config.ts'
import { type Hour, hoursFrom } from '../../model/hour.ts'
import type { CollectorDescription } from '../../runner/runner.ts'

/** What the outbox knows of an hour of a collector; absent for one that it never heard of. */
export type StatesByHour = ReadonlyMap<Hour, 'due' | 'collected' | 'gap'>

/** What a backfill was asked for. */
export interface BackfillRequest {
  /** First and last hour, both included. */
  readonly from: Hour
  readonly to: Hour
  /** The current hour: what reads only "now" can be asked for it alone. */
  readonly current: Hour
  /** `missing`: what is collected stays. `overwrite`: it is read again, and corrected where it differs. */
  readonly what: 'missing' | 'overwrite'
  /** Whether a daemon runs on the same outbox: it collects the hours that are due by itself. */
  readonly daemon: 'runs' | 'none'
}

/** The hours of one collector, sorted by what is to become of them. */
export interface Work {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  /** To be read, ascending. */
  readonly hours: readonly Hour[]
  /** Collected already. */
  readonly there: number
  /** Due: the running daemon collects them. */
  readonly daemons: number
  /** Past, and the collector reads only "now". */
  readonly impossible: number
}

/** Sorts the hours of one collector. Pure. */
export function workOf(
  collector: CollectorConfig,
  description: CollectorDescription,
  asked: BackfillRequest,
  states: StatesByHour,
): Work {
  const of = (hour: Hour) => fateOf(hour, description, asked, states.get(hour))
  const sorted = Map.groupBy(hoursFrom(asked.from, asked.to), of)
  const count = (fate: HourFate) => sorted.get(fate)?.length ?? 0
  return {
    collector,
    description,
    hours: sorted.get('to-do') ?? [],
    there: count('there'),
    daemons: count('daemons'),
    impossible: count('impossible'),
  }
}

/** What is to become of an hour of a collector. */
export type HourFate = 'to-do' | 'there' | 'daemons' | 'impossible'

/** What is to become of one hour. A gap is tried again. Pure. */
export function fateOf(
  hour: Hour,
  { history }: Pick<CollectorDescription, 'history'>,
  { current, what, daemon }: Pick<BackfillRequest, 'current' | 'what' | 'daemon'>,
  state: 'due' | 'collected' | 'gap' | undefined,
): HourFate {
  if (state === 'collected' && what === 'missing') return 'there'
  if (!history && hour < current) return 'impossible'
  if (state === 'due' && daemon === 'runs') return 'daemons'
  return 'to-do'
}

/** Hours of one collector that are read together with those of the others. */
export interface CollectorHours {
  readonly work: Work
  readonly hours: readonly Hour[]
}

/** In which order hours are done. */
export type HourOrder = 'oldest-first' | 'newest-first'

/**
 * Parts the work: each part holds the next hours, at most `size`, of all collectors. Within a part hours ascend.
 */
export function windowsOf(works: readonly Work[], size: number, order: HourOrder): CollectorHours[][] {
  const hours = hoursInOrder(works, order)
  const count = Math.ceil(hours.length / size)
  return Array.from({ length: count }, (_, index) => sharesOf(works, hours.slice(index * size, (index + 1) * size)))
}

/** The different hours of some works. */
export function hoursInOrder(works: readonly Work[], order: HourOrder): Hour[] {
  const ascending = [...new Set(works.flatMap(({ hours }) => hours))].sort((a, b) => a - b)
  return order === 'oldest-first' ? ascending : ascending.reverse()
}

/** What lies between the first and the last of some hours, both included. */
export function sharesOf(works: readonly Work[], hours: readonly Hour[]): CollectorHours[] {
  const [one, other] = [hours[0] ?? 0, hours.at(-1) ?? 0]
  const [first, last] = [Math.min(one, other), Math.max(one, other)]
  return works.flatMap(work => {
    const own = work.hours.filter(hour => hour >= first && hour <= last)
    return own.length === 0 ? [] : [{ work, hours: own }]
  })
}

/** Work made of single runs, one for each collector. */
export function worksOf(runs: readonly { readonly work: Work; readonly hour: Hour }[]): Work[] {
  const byCollector = Map.groupBy(runs, ({ work }) => work.collector.id)
  return [...byCollector.values()].flatMap(own => {
    const hours = own.map(({ hour }) => hour).sort((a, b) => a - b)
    return own[0] ? [{ ...own[0].work, hours }] : []
  })
}

/** Runs in some shares: one for each collector and hour. */
export function runsOf(shares: readonly Pick<CollectorHours, 'hours'>[]): number {
  return shares.reduce((sum, { hours }) => sum + hours.length, 0)
}

/** Different hours in some shares. */
export function hoursOf(shares: readonly Pick<CollectorHours, 'hours'>[]): number {
  return new Set(shares.flatMap(({ hours }) => hours)).size
}
