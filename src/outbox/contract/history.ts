import type { PinnedBlock } from '../../model/block.ts'
import type { Provenance } from '../../model/metric.ts'
import type { CollectionRow } from './hours.ts'
import type { StoredMetric } from './metrics.ts'

/** A value that a metric had before it was corrected. */
export interface EarlierValue {
  /** In the metric's unit. */
  readonly value: number
  /** When it was replaced, in milliseconds since 1970. */
  readonly untilMs: number
}

/** An hour of a metric's history: its value, and what happened to it. */
export interface HistoryEntry extends StoredMetric {
  /** When its first value was stored, in milliseconds since 1970. */
  readonly collectedMs: number
  /** When the service accepted it, in milliseconds since 1970; absent unless it is delivered. */
  readonly deliveredMs?: number
  /** Its values before the present one, the oldest first. */
  readonly earlier: readonly EarlierValue[]
}

/** A block that values of an hour were read at. */
export interface OriginBlock extends Pick<PinnedBlock, 'chainId' | 'block'> {
  /** Whether it cannot be replaced any more. */
  readonly isFinal: boolean
}

/** An attempt at collecting an hour that failed. */
export interface FailedAttempt {
  /** When it ended, in milliseconds since 1970. */
  readonly atMs: number
  readonly reason: string
}

/** A collector's expected hour, and how its latest values came about. */
export interface HourOrigin extends CollectionRow {
  /** The newest failed attempts, the oldest of them first; older ones are only counted. */
  readonly failed: readonly FailedAttempt[]
  /** Absent where no value was stored, or where it was lost in a damaged outbox. */
  readonly provenance?: Provenance
  /** One for each chain that it has read and whose block is still known. */
  readonly blocks: readonly OriginBlock[]
}

/** Flushes of a destination, one after the other, that left metrics over for the same reason. */
export interface UnsuccessfulFlushes {
  /** End of the first, in milliseconds since 1970. */
  readonly firstMs: number
  /** End of the last, in milliseconds since 1970. */
  readonly lastMs: number
  /** Their number. At least 1. */
  readonly flushes: number
  /** Why, as a sentence, in the words of the latest. */
  readonly reason: string
}
