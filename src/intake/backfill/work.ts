import type { CollectorConfig } from '../../config/config.ts'
import { type Hour, hoursFrom } from '../../model/hour.ts'
import type { CollectorDescription } from '../../runner/runner.ts'
import { canCollect } from '../can-collect.ts'

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
  readonly what: 'missing' | 'overwrite'
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
  { current, what, daemon }: Pick<BackfillRequest, 'current' | 'what' | 'daemon'>,
  state: 'due' | 'collected' | 'gap' | undefined,
): HourFate {
  if (state === 'collected' && what === 'missing') return 'alreadyCollected'
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
