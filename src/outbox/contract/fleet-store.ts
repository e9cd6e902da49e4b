import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { IntakeStore } from './intake-store.ts'
import type { CollectionOutcome, Recorded } from './outcome.ts'

/** A transaction of the database under way. */
export interface SharedTransaction {
  /** Runs one statement. @param values of `$1`, `$2`, … */
  query<R extends object = Readonly<Record<string, unknown>>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

/** Work in the commit of others. It may run more than once. Its error rolls the commit back, and rejects the caller. */
export type CommitStep = (transaction: SharedTransaction) => Promise<void>

/** Intake, with steps of the caller's in its commits. */
export interface SharedIntakeStore extends IntakeStore {
  /** As `IntakeStore.record`. @param step runs after the outcome is written, in the commit that ends its hour */
  record(outcome: CollectionOutcome, nowMs: number, step?: CommitStep): Promise<Recorded>
  /** As `IntakeStore.recordGap`. @param step runs in the commit, after the gap is written */
  recordGap(collector: string, hour: Hour, fault: Fault, step?: CommitStep): Promise<void>
}

/** The lane that a collector's hours are collected on. */
export interface CollectorLane {
  /** Id of the collector. */
  readonly collector: string
  readonly lane: string
  /** Whether a lane that is stored already stays: it is the machine that ran it first. */
  readonly isFirst: boolean
}

/** A lane's hour with due collectors. */
export interface DueLaneHour {
  readonly lane: string
  readonly hour: Hour
}

/** A lane with due hours. */
export interface DueLane {
  readonly lane: string
  /** Number of the hours, at least 1. */
  readonly hours: number
  readonly oldest: Hour
}

/** A daemon as it announces itself. */
export interface DaemonEntry {
  /** Unique in the fleet. */
  readonly name: string
  readonly version: string
  /** Digest of its collectors and their options, 32 bytes. */
  readonly digest: Buffer
  /** The lanes that it works. */
  readonly lanes: readonly string[]
  /** The roles that it has of the whole fleet, such as `deliver/DESTINATION`. */
  readonly roles: readonly string[]
  /** Its process id on its host. */
  readonly pid: number
  /** Name of its host. */
  readonly host: string
  /** Path of its configuration file on its host. */
  readonly configFile: string
}

/** A daemon as others see it. Instants are of the database's clock, in milliseconds since 1970. */
export interface SeenDaemon extends DaemonEntry {
  readonly startedAtMs: number
  readonly seenAtMs: number
}

/** The outbox for daemons that share it. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface FleetStore {
  /** The database's clock, in milliseconds since 1970. */
  nowMs(): Promise<number>
  /** Runs a transaction; it may run more than once. A power cut may undo it. */
  transaction<T>(act: (transaction: SharedTransaction) => Promise<T>): Promise<T>
  /** Stores the lanes of collectors that have a schedule. @returns those that are stored now, by collector */
  assignLanes(lanes: readonly CollectorLane[]): Promise<ReadonlyMap<string, string>>
  /** Lanes and hours with due hours of some collectors whose next attempt has come; the newest hours first. */
  dueLaneHours(collectors: readonly string[], nowMs: number, limit: number): Promise<readonly DueLaneHour[]>
  /** Lanes with due hours of some collectors, up to an hour, whether or not their next attempt has come; by name. */
  dueLanes(collectors: readonly string[], upTo: Hour): Promise<readonly DueLane[]>
  /**
   * Whether an hour of any of some collectors is due, with a next attempt before an instant.
   *
   * @param transaction to see what it has written
   */
  isDue(collectors: readonly string[], hour: Hour, beforeMs: number, transaction?: SharedTransaction): Promise<boolean>
  /**
   * Takes the next turn of a destination, of all that push to it.
   *
   * @param intervalMs between two turns
   * @returns time until the turn, in milliseconds; at least 0
   */
  takeTurn(destination: string, intervalMs: number, transaction: SharedTransaction): Promise<number>
  /** Notes that a daemon is there. @param isStart whether it has just started */
  announce(daemon: DaemonEntry, isStart: boolean): Promise<void>
  /** Removes a daemon that has stopped. */
  leave(name: string): Promise<void>
  /** All daemons, by name. */
  daemons(): Promise<readonly SeenDaemon[]>
}
