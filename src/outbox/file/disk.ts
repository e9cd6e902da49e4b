import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault, faultLine } from '../../model/fault.ts'
import { ballastBytes } from '../../model/limits.ts'
import { isDamage } from '../../sqlite/damage.ts'
import { fileFault, troubleFault } from '../../sqlite/file-fault.ts'
import { accessTrouble, type FileTrouble, isTrouble, troubleOf, writingTrouble } from '../../sqlite/trouble.ts'
import { Ballast } from './ballast.ts'
import { identityOf } from './identity.ts'

/** Why the outbox's file cannot be gone on with as it is. */
export interface Breakage {
  /** `unusable`: it cannot be written any more, as on a file system that has turned read-only. */
  readonly kind: 'damaged' | 'moved' | 'unusable'
  readonly reason: string
}

/** What an error of the outbox means for whoever met it. */
export type DiskRecovery =
  /** There is room now that there was not: the same may be tried again. */
  | 'room-made'
  /** The disk is full. What was to be written is not; it is told once, not each time. */
  | 'full'
  /** The file is no good: `broken` tells. */
  | 'broken'
  | 'other'

/** What does not pass by itself: the outbox is closed, so that the disk can be mended, and opened again when it is. */
const lasting: ReadonlySet<FileTrouble['kind']> = new Set([
  'read-only',
  'denied',
  'failing',
  'no-locks',
  'not-a-file',
  'loop',
  'missing',
])

/** The disk below the outbox: whether it is full, and whether the file is still the one that was opened, and sound. */
export class Disk {
  /** Resolves once the file cannot be gone on with: it is to be opened anew. */
  readonly broken: Promise<Breakage>
  readonly #file: string
  readonly #ballast: Ballast
  readonly #break: (breakage: Breakage) => void
  #identity: string | undefined
  #held: Promise<void> | undefined
  /** Something could not be written, and there has not been room for the ballast since. */
  #isOut = false

  /** @param file the outbox's */
  constructor(file: string) {
    const { promise, resolve } = Promise.withResolvers<Breakage>()
    this.broken = promise
    this.#break = resolve
    this.#file = file
    this.#ballast = new Ballast(dirname(file))
  }

  /** Whether nothing new should be put on the disk: there is no ballast on it, and no room for one. */
  get isFull(): boolean {
    return this.#isOut || !(this.#ballast.isThere || this.#ballast.hasRoom)
  }

  /** For people. */
  get fullSentence(): string {
    const room = `${(2 * ballastBytes) / 1_048_576} MiB are free in ${dirname(this.#file)}`
    return `the disk is full: nothing new is collected until ${room}; what is due is still delivered`
  }

  /** @throws Fault `disk-full` when nothing new should be put on the disk */
  requireRoom(): void {
    if (this.isFull) throw this.fault()
  }

  /** That the disk is full, as a fault. */
  fault(cause?: unknown): Fault {
    const parts = cause === undefined ? {} : { cause }
    return new Fault('disk-full', this.fullSentence, { ...parts, fix: 'free some room; collecting goes on by itself' })
  }

  /**
   * Sorts an error, makes room when that is what it takes, and tells `broken` when the file is damaged or cannot be
   * written. Never throws.
   */
  recover(error: unknown): DiskRecovery {
    if (isDamage(error)) {
      this.#break({ kind: 'damaged', reason: error instanceof Error ? error.message : String(error) })
      return 'broken'
    }
    if (error instanceof Fault && error.code === 'outbox-moved') return 'broken'
    if (!isTrouble(error)) return error instanceof Fault && error.code === 'disk-full' ? 'full' : 'other'
    const trouble = troubleOf(this.#file, error)
    if (trouble.kind !== 'no-room') return this.#isLost(trouble, error) ? 'broken' : 'other'
    this.#isOut = true
    return this.#ballast.release() ? 'room-made' : 'full'
  }

  /** Whether nothing can be written until a person has done something; `broken` is told then. */
  #isLost(trouble: FileTrouble, error?: unknown): boolean {
    if (!lasting.has(trouble.kind)) return false
    this.#break({ kind: 'unusable', reason: faultLine(troubleFault('the outbox', this.#file, trouble, error)) })
    return true
  }

  /** Looks whether the folder can be written; where it cannot, `broken` is told. A few system calls. */
  look(): void {
    const trouble = writingTrouble(dirname(this.#file))
    if (trouble) this.#isLost(trouble)
  }

  /** Whether the folder seems to be writable: a system call, so that a disk that has failed is seen within seconds. */
  get seemsWritable(): boolean {
    return accessTrouble(dirname(this.#file)) === undefined
  }

  /** An error of the outbox in words for a person; what the file is not to blame for stays as it is. */
  explain(error: unknown): unknown {
    return isTrouble(error) ? fileFault('the outbox', this.#file, error) : error
  }

  /** Bytes of the log beside the file. */
  get logBytes(): number {
    try {
      return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0
    } catch {
      return 0
    }
  }

  /** Makes the ballast where it is missing and there is room. @returns whether there is one */
  async keepBallast(): Promise<boolean> {
    const isThere = await this.#ballast.make()
    if (isThere) this.#isOut = false
    return isThere
  }

  /** Lets nothing be written until it is known whether the file is sound; a rejection says that it is not. */
  holdUntil(looked: Promise<void>): void {
    this.#held = looked
    // Whoever waits for it is told; nobody may.
    looked.then(
      () => {
        this.#held = undefined
      },
      () => {},
    )
  }

  /** Resolves when something may be written; `undefined` when it may be. */
  get held(): Promise<void> | undefined {
    return this.#held
  }

  /** Remembers which file was opened. */
  opened(): void {
    this.#identity = identityOf(this.#file)
  }

  /** Whether the file that is open is the one that lies in its place. */
  get isInPlace(): boolean {
    return identityOf(this.#file) === this.#identity
  }

  /**
   * A file that was moved aside, or deleted, can still be written to, and what is written is lost.
   *
   * @throws Fault `outbox-moved`
   */
  requireInPlace(): void {
    if (this.isInPlace) return
    const reason = 'the outbox was moved or replaced while it was open'
    this.#break({ kind: 'moved', reason })
    throw new Fault('outbox-moved', reason, { facts: { file: this.#file }, fix: 'nothing was stored: run it again' })
  }
}
