import type { Hour } from '../../../src/model/hour.ts'

/** Something that belongs to a lane's hour, as one life of a daemon does it. A daemon that starts again has another name. */
interface OfLaneHour {
  readonly daemon: string
  readonly lane: string
  readonly hour: Hour
}

/** A value of a metric for an hour. */
export interface HourValue {
  /** Id of the metric. */
  readonly metric: string
  readonly hour: Hour
  readonly value: number
}

/** Trouble that somebody makes for a daemon. `cut`: its connections are ended. */
export type TroubleKind = 'killed' | 'paused' | 'stopped' | 'cut'

/** A line of the history of a fleet. */
export type HistoryEvent = { readonly atMs: number } & (
  | ({ readonly kind: 'took'; readonly isAgain: boolean } & OfLaneHour)
  | ({ readonly kind: 'asked' } & OfLaneHour)
  | ({ readonly kind: 'read'; readonly collector: string } & OfLaneHour)
  | ({ readonly kind: 'failed'; readonly collector: string } & OfLaneHour)
  | ({ readonly kind: 'committed'; readonly collector: string; readonly begunAtMs: number } & OfLaneHour)
  | ({ readonly kind: 'refused'; readonly collector: string } & OfLaneHour)
  | {
      readonly kind: 'pushed'
      readonly daemon: string
      readonly key: string
      readonly values: readonly HourValue[]
      /** Its sender does not learn that the service has the values, or the service does not take them. */
      readonly isIll?: boolean
    }
  | ({ readonly kind: 'corrected' } & HourValue)
  | { readonly kind: 'trouble'; readonly what: TroubleKind; readonly daemon: string }
  | { readonly kind: 'dropped' }
)

/** A line without what its writer leaves out. */
export type Bare<K extends string, E = HistoryEvent> = E extends HistoryEvent ? Omit<E, K> : never

/** Lines of one kind. */
export type EventOf<K extends HistoryEvent['kind']> = Extract<HistoryEvent, { readonly kind: K }>

/** The history of a fleet's run, and what it has left. */
export interface Run {
  /** In the order in which it happened. */
  readonly events: readonly HistoryEvent[]
  /** Each value that one daemon alone would have read. */
  readonly expected: readonly HourValue[]
  /** Values of the rows in the end. */
  readonly stored: readonly HourValue[]
  /** Values of the service in the end. */
  readonly served: readonly HourValue[]
  /** Pushes with a key in any second, at most. */
  readonly pacePerSecond: number
}

/** A value without its number, as a key of a map. */
export function placeOf({ metric, hour }: Pick<HourValue, 'metric' | 'hour'>): string {
  return `${metric} of ${new Date(hour).toISOString().slice(0, 13)}`
}

/** The lines of one kind. */
export function eventsOf<K extends HistoryEvent['kind']>(events: readonly HistoryEvent[], kind: K): EventOf<K>[] {
  return events.filter((event): event is EventOf<K> => event.kind === kind)
}
