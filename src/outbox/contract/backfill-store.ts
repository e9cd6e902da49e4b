import type { Hour } from '../../model/hour.ts'
import type { SharedTransaction } from './fleet-store.ts'

/** Past hours of some collectors of a lane that are read together. */
export interface BackfillWindow {
  /** Ids of the collectors. */
  readonly collectors: readonly string[]
  readonly from: Hour
  /** Last hour, included. */
  readonly to: Hour
  /** As of the backfill. */
  readonly what: 'missing' | 'overwrite'
  readonly order: 'oldest-first' | 'newest-first'
}

/** A window that a fleet was asked for, and that is not done. */
export interface AskedWindow {
  /** Id of its job. */
  readonly id: string
  readonly lane: string
  readonly window: BackfillWindow
}

/** The backfills that a fleet was asked for. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface BackfillStore {
  /** Stores windows, except those that are asked for already. */
  ask(windows: readonly AskedWindow[]): Promise<void>
  /** Windows that are not done, of which all collectors are among some. */
  open(collectors: readonly string[], limit: number): Promise<readonly AskedWindow[]>
  /** Deletes a window that is done. No effect when there is none. */
  finish(id: string, transaction: SharedTransaction): Promise<void>
}
