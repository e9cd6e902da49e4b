import type { Time } from '../../edge/time.ts'
import type { ListKeeper } from '../../model/list-memory.ts'
import type { PostgresAddress } from '../../model/postgres-address.ts'
import type { DeliveryStore } from './delivery-store.ts'
import type { SharedOutbox } from './fleet-store.ts'
import type { IntakeStore } from './intake-store.ts'
import type { OperatorStore } from './operator-store.ts'
import type { Role } from './role.ts'
import type { StatusStore } from './status-store.ts'

/** Where an outbox is. */
export type OutboxPlace =
  /** In a file of the data folder. */
  | { readonly kind: 'folder'; readonly folder: string }
  /** In a PostgreSQL database; its address holds a secret. */
  | { readonly kind: 'postgres'; readonly address: PostgresAddress }

/**
 * The store between the loops, as each of its users needs it: intake enqueues metrics, delivery records verdicts,
 * operators decide, status looks. An enqueued metric survives a power cut once the promise resolves. Every store passes
 * the suite in `test/outbox/contract/outbox-contract.ts`.
 */
export interface Outbox {
  readonly intake: IntakeStore
  readonly delivery: DeliveryStore
  readonly operators: OperatorStore
  readonly status: StatusStore
  readonly reports: ReportStore
  /** Memory of lists. */
  readonly lists: ListKeeper
  readonly health: OutboxHealth
  /** Absent where the outbox belongs to one daemon. */
  readonly sharedOutbox?: SharedOutbox
  /** Starts to keep the outbox in order: room, old history, the role of delivery. @returns what stops it */
  startUpkeep(deps: UpkeepDeps): { stop(): Promise<void> }
  /** From now on a write that another process delays is given up after a while: a stop must end. */
  limitWaits(): void
  /** Closes it. A write that has not begun is refused. */
  close(): Promise<void>
}

/** The outbox as intake and backfill need it. */
export type IntakeOutbox = Pick<Outbox, 'intake' | 'health'>

/** The outbox as a backfill needs it. */
export interface BackfillOutbox {
  readonly intake: Pick<
    IntakeStore,
    'hourStates' | 'pasts' | 'inputs' | 'setInputs' | 'record' | 'recordGap' | 'forgetPins' | 'backlog'
  >
  readonly health: OutboxHealth
}

/** Why the outbox cannot be used any more. */
export interface Breakage {
  /** `unusable`: it cannot be written any more, as when the file system turned read-only. */
  readonly kind: 'damaged' | 'moved' | 'unusable'
  /** The reason as a sentence, for a person. */
  readonly reason: string
}

/** Meaning of an outbox error for its caller. */
export type Recovery =
  /** Room was made: retry the write. */
  | 'room-made'
  /** There is no room and the write failed. Reported once, not for each write. */
  | 'full'
  /** The outbox is unusable: `broken` has resolved. */
  | 'broken'
  | 'other'

/** Room of a disk, in bytes. */
export interface DiskSpace {
  /** Free for this user. */
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** Whether the outbox can be used and written. Known without a request, so that it can be asked at any time. */
export interface OutboxHealth {
  /** Resolves when the outbox is damaged, was moved or cannot be written. The caller must reopen it. */
  readonly broken: Promise<Breakage>
  /** Why nothing new may be stored, as a sentence for a person; `undefined` while there is room. */
  readonly fullSentence: string | undefined
  /** Whether that is because it can only be read: its database is a standby, or its file system is read-only. */
  readonly isReadOnly: boolean
  /** Room of the disk below the outbox; `undefined` where the store has none of its own, or it cannot be read. */
  readonly room: DiskSpace | undefined
  /** Whether a large outbox is being checked for damage, before it is written to. */
  readonly isBeingChecked: boolean
  /** Rows in memory that wait to be written. */
  readonly waitingRows: number
  /** Sentence about another process that has kept this one from writing for long; `undefined` when there is none. */
  lockedSentence(nowMs: number): string | undefined
  /** @throws Fault `disk-full`, `database-read-only` when nothing new may be stored */
  requireRoom(): void
  /** Makes the reserve that lets verdicts be recorded when there is no room. */
  keepReserve(): Promise<void>
  /** Classifies an error of the outbox, and makes room where that helps. Never throws. */
  recover(error: unknown): Recovery
  /** Turns an error of the outbox into a Fault; returns any other error unchanged. */
  explain(error: unknown): unknown
}

/** Events of upkeep; each is reported when it begins, not while it lasts. */
export type UpkeepNews =
  | { readonly kind: 'disk-full' | 'read-only'; readonly sentence: string }
  | { readonly kind: 'room-again' }
  /** The lock's file was removed; the role was taken again with a new one. */
  | { readonly kind: 'role-renewed' }
  /** The lock's file was removed, and another process has the role. */
  | { readonly kind: 'role-lost' }
  /** Another process keeps the write lock. */
  | { readonly kind: 'locked'; readonly sentence: string }
  | { readonly kind: 'unlocked' }
  /** The write-ahead log cannot be truncated, for example because of a forgotten reader. */
  | { readonly kind: 'wal-large'; readonly bytes: number }
  | { readonly kind: 'wal-trimmed' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Options of the upkeep. */
export interface UpkeepDeps {
  /** The role of delivery, which is looked at; absent where several daemons share the outbox. */
  readonly role?: Role
  /** Time for which delivered hours are kept, in milliseconds. */
  readonly keepMs: number
  readonly time: Time
  /** Whether the clock is trusted enough to delete by age. Default: it is. */
  readonly mayPrune?: () => boolean
  /** Called once when something begins, and once when it is over. */
  readonly report: (news: UpkeepNews) => void
}

/** Reporters to people: the heartbeat, and notifications of troubles. */
export type Reporter = 'heartbeat' | 'notify'

/** Memory of what was reported to people, so that a restart repeats nothing. Methods reject with errors that `OutboxHealth` classifies and explains. */
export interface ReportStore {
  /** The state that a reporter saved last, as JSON; `undefined` before the first. */
  read(reporter: Reporter): Promise<string | undefined>
  /** Replaces the state of a reporter. It resolves when a power cut cannot undo it. @param state JSON */
  save(reporter: Reporter, state: string): Promise<void>
}
