import { createHash } from 'node:crypto'
import type { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { DeliveryStore } from './delivery-store.ts'
import type { CollectionOutcome, PinnedHour, Recorded } from './hours.ts'
import type { IntakeStore } from './intake-store.ts'

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
  /** As `IntakeStore.confirmPin`. @param step runs in the commit, after the pin is deleted */
  confirmPin(
    chainId: number,
    pinned: Pick<PinnedHour, 'collector' | 'hour' | 'block'>,
    step?: CommitStep,
  ): Promise<void>
  /** As `IntakeStore.forgetPins`. @param step runs in the commit, after the pins are deleted */
  forgetPins(collector: string, hour: Hour, step?: CommitStep): Promise<void>
}

/** Delivery, with a step of the caller's in its commits. */
export interface SharedDeliveryStore {
  /** The same store. @param step runs in each commit of verdicts, and of the state of a destination */
  withStep(step: CommitStep): DeliveryStore
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

/**
 * The collectors whose hours a daemon collects, by their numbers in this database: what is asked each second must not carry the names
 * of all. Those above `upTo` are not known to it yet.
 */
export interface CollectorScope {
  readonly upTo: number
  readonly excludedNumbers: readonly number[]
}

/** Lanes that have something to do now. */
export interface LaneWork {
  /** Lanes with due hours whose next attempt has come. */
  readonly due: readonly string[]
  /** Lanes with windows of backfills that are not done. */
  readonly windows: readonly string[]
}

/** A lane with due hours. */
export interface DueLane {
  readonly lane: string
  /** Number of the hours, at least 1. */
  readonly hours: number
  readonly oldest: Hour
}

/** Parts of a configuration that must be the same in all daemons of a fleet, in the order of their digests. */
export const configurationParts = ['service', 'keys', 'collectors', 'settings'] as const

/** Bytes of the digest of a part. */
export const partBytes = 8

/** Begin of the name of a role of delivering. */
const deliverPrefix = 'deliver/'

/** Name of the role of delivering a protocol: a daemon takes those that its configuration has. */
export function deliverRole(protocolId: string): string {
  return `${deliverPrefix}${protocolId}`
}

/** Ids of the protocols that a daemon delivers, by its roles. */
export function deliveredBy({ roles }: Pick<SeenDaemon, 'roles'>): readonly string[] {
  return roles.flatMap(role => (role.startsWith(deliverPrefix) ? role.slice(deliverPrefix.length) : []))
}

/** A daemon as it announces itself. */
export interface DaemonEntry {
  /** Unique in the fleet. */
  readonly name: string
  readonly version: string
  /** Random: two daemons of one name differ in it. */
  readonly instance: string
  /** Digests of its `configurationParts`, `partBytes` of each, and then those of each protocol's id and of its key. */
  readonly digest: Buffer
  readonly lanes: readonly string[]
  /** Why it does not get through to the service, in words; absent where that is not known. */
  readonly failing?: string | undefined
  /** Its process id on its host. */
  readonly pid: number
  /** Name of its host. */
  readonly host: string
  /** Path of its configuration file on its host. */
  readonly configFile: string
  /** Its machine's clock minus the database's, in milliseconds. */
  readonly clockOffMs: number
}

/** A daemon as others see it. Instants are of the database's clock, in milliseconds since 1970. */
export interface SeenDaemon extends Omit<DaemonEntry, 'instance'> {
  /** The roles that it has of the whole fleet, such as `deliver/PROTOCOL`. */
  readonly roles: readonly string[]
  /** Host and process id of another living daemon with its name; absent when there is none. */
  readonly namesake?: string
  readonly startedAtMs: number
  /** When it renewed its lease last. */
  readonly seenAtMs: number
  /** Ids of the collectors whose definition there is not the one that counts. */
  readonly differing: readonly string[]
  /**
   * Ids of the collectors that it ran until it died, and that no living daemon runs. None while a living daemon has not said
   * what it runs. Of those that no living daemon has in its configuration, none once one of them was started later: they may
   * have been removed.
   */
  readonly leftBehind: readonly string[]
}

/** A daemon's slot to push to a destination. */
export interface PushSlot {
  /** Time until the slot, in milliseconds; at least 0. */
  readonly waitMs: number
  /** Until when the service wants no push, as any daemon has noted it, in milliseconds since 1970; 0 for none. */
  readonly notBeforeMs: number
}

/** Something that must be the same in all daemons of a fleet. */
export interface Identity {
  /** `service`, or `collector/ID`. */
  readonly name: string
  readonly digest: Buffer
}

/** Age up to which an identity is a recent one, in milliseconds. */
export const recentIdentityMs = 60_000

/** Name of the service that all daemons of a fleet deliver to. */
export const serviceIdentity = 'service'

/** The service at an address, as it must be the same in all daemons of a fleet. Pure. */
export function serviceAt(address: string): Identity {
  return { name: serviceIdentity, digest: createHash('sha256').update(address).digest() }
}

/** Why a process with a service delivers nothing, in words; `undefined` where it is the service that counts. Pure. */
export function otherServiceSentence({ digest }: Identity, counting: StoredIdentity | undefined): string | undefined {
  if (!counting || counting.digest.equals(digest)) return undefined
  return `service.url is not the service of this fleet (written by ${counting.by}), so nothing is delivered from here: give it the service of the others, or run tidegauge fleet take service where the right one is configured`
}

/** Name of the definition of a collector. */
export function collectorIdentity(collector: string): string {
  return `collector/${collector}`
}

/** Whether daemons stand for the definition of a collector that counts. */
export interface DefinitionSupport {
  readonly collector: string
  /** Whether another daemon lives that has the definition, or has not said so yet, and works its lane. */
  readonly isSupported: boolean
  /** Whether the daemon that wrote the definition has said since that it has another one. */
  readonly isLeft: boolean
}

/** An identity as it counts for the fleet. */
export interface StoredIdentity extends Identity {
  /** Since when, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Name of the daemon that wrote it, or of the host where a person did. */
  readonly by: string
}

/** The outbox for daemons that share it. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface FleetStore {
  /** Random text of this database, the same for all daemons. */
  salt(): Promise<string>
  /** The database's clock, in milliseconds since 1970. */
  nowMs(): Promise<number>
  /** Runs a transaction; it may run more than once. A power cut may undo it. */
  transaction<T>(act: (transaction: SharedTransaction) => Promise<T>): Promise<T>
  /**
   * Stores the lanes of collectors that have a schedule. A machine that is named first in one counts as seen then.
   *
   * @returns those that are stored now, by collector
   */
  assignLanes(lanes: readonly CollectorLane[]): Promise<ReadonlyMap<string, string>>
  /** Some collectors by their numbers. */
  scopeOf(collectors: readonly string[]): Promise<CollectorScope>
  /** Lanes and hours with due hours of some collectors whose next attempt has come; the newest hours first. */
  dueLaneHours(scope: CollectorScope, nowMs: number, limit: number): Promise<readonly DueLaneHour[]>
  /** The lanes among some that have due hours of some collectors, or windows of any. */
  laneWork(lanes: readonly string[], scope: CollectorScope, nowMs: number): Promise<LaneWork>
  /** Lanes with due hours of some collectors, up to an hour, whether or not their next attempt has come; by name. */
  dueLanes(collectors: readonly string[], upTo: Hour): Promise<readonly DueLane[]>
  /** Whether an hour of any of some collectors is due. */
  isDue(collectors: readonly string[], hour: Hour): Promise<boolean>
  /**
   * Whether a lane's hour of any of some collectors is due, with a next attempt before an instant.
   *
   * @param transaction to see what it has written
   */
  isLaneDue(
    laneHour: DueLaneHour,
    scope: CollectorScope,
    beforeMs: number,
    transaction?: SharedTransaction,
  ): Promise<boolean>
  /**
   * Takes the next slot of a destination, of all that push to it.
   *
   * @param intervalMs between two slots
   */
  takeSlot(destination: string, intervalMs: number, transaction: SharedTransaction): Promise<PushSlot>
  /**
   * Notes until when the service wants no push to a destination, for all that push to it. The latest counts.
   *
   * @param notBeforeMs in milliseconds since 1970; 0 ends it
   */
  noteRetryAfter(destination: string, notBeforeMs: number): Promise<void>
  /** Writes those identities that are not there yet. @param by name of the writer @returns all of these as they count */
  agree(identities: readonly Identity[], by: string): Promise<readonly StoredIdentity[]>
  /** Makes identities count for all daemons from now on. @param by name of the writer */
  take(identities: readonly Identity[], by: string): Promise<void>
  /** The identities of some names that count. @param transaction to see them as it does */
  identities(names: readonly string[], transaction?: SharedTransaction): Promise<readonly StoredIdentity[]>
  /** Notes for which collectors a daemon has the definition that counts, and for which another one. */
  noteDefinitions(
    daemon: string,
    collectors: { readonly agreeing: readonly string[]; readonly differing: readonly string[] },
  ): Promise<void>
  /** Who stands for the definitions of some collectors. @param daemon name of the one that asks */
  supported(collectors: readonly string[], daemon: string): Promise<readonly DefinitionSupport[]>
  /**
   * Deletes daemons that were not seen for a day. Due hours of their machines become gaps, and collectors that ran there first
   * may run elsewhere.
   *
   * @param own name of the daemon that asks, which is there
   * @returns names of the daemons
   */
  forgetDaemons(own: string): Promise<readonly string[]>
  /** All daemons, by name. */
  daemons(): Promise<readonly SeenDaemon[]>
}

/** A daemon with a lease of its own. Others take what it has once that has ended. */
export interface LeaseHolder {
  /** Its name, unique in the fleet. */
  readonly daemon: string
  /** Random: a process that was restarted differs in it. */
  readonly instance: string
  /** Of its own lease: a larger one each time that it gets it. It fences: a commit with an earlier one is refused. */
  readonly term: number
}

/** Answer to a renewal, as of one transaction. */
export interface RenewedLease {
  /** Of the lease that the daemon has now; absent where another process of its name has it. */
  readonly term?: number
  /** End of the lease of that other process, in milliseconds since 1970; absent without one. */
  readonly othersUntilMs?: number
  /** Number of the names that it has. */
  readonly held: number
  /** A number that is larger each time that names have become free. */
  readonly freed: number
  /** Whether the lease of another daemon has ended, and what it had is not free yet. */
  readonly isAnyOver: boolean
  /** Whether another daemon lives. */
  readonly hasOthers: boolean
  /** The service that counts for the fleet, and the identities that were written a short while ago. */
  readonly identities: readonly StoredIdentity[]
}

/**
 * Leases: who of a fleet has what. A name such as `deliver/PROTOCOL` belongs to a daemon as long as the daemon's own lease lasts,
 * which is renewed: one row for each daemon, however many names it has. All is done in transactions that fail on tables of
 * another version. Methods reject with errors that `OutboxHealth` classifies and explains.
 */
export interface LeaseStore {
  /**
   * Takes or renews the daemon's own lease, and reads what has changed.
   *
   * @param holder `term` 0 for a new one
   * @param entry what the daemon says of itself, where that has changed
   */
  renew(holder: LeaseHolder, entry?: DaemonEntry): Promise<RenewedLease>
  /**
   * Frees what daemons had whose leases have ended, and takes those of some names that are free.
   *
   * @param service of the holder: names of delivering are taken only where it is that of the fleet
   * @returns the names that it has taken
   */
  claim(holder: LeaseHolder, names: readonly string[], service: Identity): Promise<readonly string[]>
  /** Frees names that it has. */
  release(holder: LeaseHolder, names: readonly string[]): Promise<void>
  /** Ends the daemon's own lease with all that it has, and forgets the daemon. No effect for another process of its name. */
  leave(holder: LeaseHolder): Promise<void>
  /** Notes, until a lease ends, that a process lives whose daemon's lease another one of its name has. @param place its host and process id */
  noteNamesake(daemon: string, place: string): Promise<void>
  /** Whether the daemon has its own lease still; if so, no other can get what it has before the transaction has ended. */
  isHeld(holder: LeaseHolder, transaction: SharedTransaction): Promise<boolean>
}

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
  /** Unfinished windows whose collectors are all in `collectors`. */
  open(collectors: readonly string[], limit: number): Promise<readonly AskedWindow[]>
  /** Deletes a window that is done. No effect when there is none. */
  finish(id: string, transaction: SharedTransaction): Promise<void>
}

/** Connections on which statements run, each in a transaction of its own. */
export interface StatementRunner {
  /** @param values of `$1`, `$2`, …; without them `text` may be several statements, whose results are a list then */
  executeSql(text: string, values?: readonly unknown[]): Promise<{ readonly rows: unknown[] }>
}

/** The parts of an outbox that several daemons share. */
export interface SharedOutbox {
  readonly store: FleetStore
  readonly leases: LeaseStore
  readonly backfills: BackfillStore
  readonly intake: SharedIntakeStore
  readonly delivery: SharedDeliveryStore
  /** For the job engine; they end with the outbox. */
  readonly jobs: StatementRunner
  /** The Fault of a database that has not answered a request for a while. */
  lateFault(): unknown
}
