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
  /** Room of the disk below the outbox; `undefined` where the store has none of its own, or it cannot be read. */
  readonly room: DiskSpace | undefined
  /** Whether a large outbox is being checked for damage, before it is written to. */
  readonly isBeingChecked: boolean
  /** Rows in memory that wait to be written. */
  readonly waitingRows: number
  /** Sentence about another process that has kept this one from writing for long; `undefined` when there is none. */
  lockedSentence(nowMs: number): string | undefined
  /** @throws Fault `disk-full` when nothing new may be stored */
  requireRoom(): void
  /** Makes the reserve that lets verdicts be recorded when there is no room. */
  keepReserve(): Promise<void>
  /** Classifies an error of the outbox, and makes room where that helps. Never throws. */
  recover(error: unknown): Recovery
  /** Turns an error of the outbox into a Fault; returns any other error unchanged. */
  explain(error: unknown): unknown
}
