import { randomFillSync } from 'node:crypto'
import { statfsSync, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileStats } from '../../../edge/file-stats.ts'
import { Fault, faultLine } from '../../../model/fault.ts'
import { walBytesMax } from '../../../model/limits.ts'
import { isDamage, isFull } from '../../../sqlite/damage.ts'
import { requireTables, type Schema, type Sqlite } from '../../../sqlite/database.ts'
import {
  accessTrouble,
  type FileTrouble,
  fileFault,
  hasInodes,
  isTrouble,
  troubleFault,
  troubleOf,
  writingTrouble,
} from '../../../sqlite/trouble.ts'
import type { Breakage, DiskSpace, Recovery } from '../../contract/outbox.ts'

/**
 * Size of the file that is deleted when the disk is full, so that verdicts can still be recorded: the WAL grows
 * between checkpoints, and further while a reader blocks them.
 */
export const ballastBytes = 16 * 1_048_576

if (walBytesMax >= ballastBytes) throw new Error('walBytesMax < ballastBytes: the WAL may grow on a full disk')

/**
 * Identity of the file at a path: a text that differs when the file was replaced; `undefined` when there is no readable
 * file.
 */
export function identityOf(path: string): string | undefined {
  const found = fileStats(path)
  return found && `${found.dev} ${found.ino}`
}

const blockBytes = 1_048_576

/**
 * A file of random bytes that is deleted when the disk is full, so that verdicts can still be recorded. Zeros would
 * take no room on a disk that compresses.
 */
export class Ballast {
  readonly file: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.file = join(folder, 'ballast')
  }

  /** Whether the file exists in its full size. */
  get isThere(): boolean {
    return fileStats(this.file)?.size === ballastBytes
  }

  /** Whether the disk has room for it and as much again to work with. */
  get hasRoom(): boolean {
    const { room } = this
    return !room || room.freeBytes >= 2 * ballastBytes
  }

  /** Room of the disk; `undefined` when the system does not say. A quota is not seen. */
  get room(): DiskSpace | undefined {
    try {
      const { bavail, bsize, blocks } = statfsSync(this.#folder)
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
    } catch {
      return undefined
    }
  }

  /**
   * Deletes the file. Never throws: callers are handling an error already.
   *
   * @returns whether that made room
   */
  release(): boolean {
    try {
      unlinkSync(this.file)
      return true
    } catch {
      return false
    }
  }

  /** Creates the file where there is room. @returns whether it exists now */
  async make(): Promise<boolean> {
    if (this.isThere) return true
    if (!this.hasRoom) return false
    try {
      await this.#write()
    } catch (error) {
      this.release()
      if (!isFull(error)) throw error
    }
    return this.isThere
  }

  async #write(): Promise<void> {
    await using file = await open(this.file, 'w', 0o600)
    for (let written = 0; written < ballastBytes; written += blockBytes) {
      await file.write(randomFillSync(Buffer.alloc(blockBytes)))
    }
    await file.sync()
  }
}

/**
 * Troubles that do not pass without a person: the outbox is closed so that the disk can be repaired, and reopened
 * afterwards.
 */
const lasting: ReadonlySet<FileTrouble['kind']> = new Set([
  'read-only',
  'denied',
  'failing',
  'no-locks',
  'not-a-file',
  'loop',
  'missing',
])

/** State of the disk below the outbox: whether it is full, and whether the open file is in its place and undamaged. */
export class Disk {
  /** Resolves when the file is damaged, was moved or cannot be written. The caller must reopen the outbox. */
  readonly broken: Promise<Breakage>
  readonly #file: string
  readonly #ballast: Ballast
  readonly #break: (breakage: Breakage) => void
  #identity: string | undefined
  #check: Promise<void> | undefined
  /** A write failed for lack of room, and there has been no room for the ballast since. */
  #isOut = false

  /** @param file path of the outbox */
  constructor(file: string) {
    const { promise, resolve } = Promise.withResolvers<Breakage>()
    this.broken = promise
    this.#break = resolve
    this.#file = file
    this.#ballast = new Ballast(dirname(file))
  }

  /** Whether nothing new may be stored: the ballast is used up and there is no room for one, or nothing can be written. */
  get isFull(): boolean {
    return this.#isOut || !(this.#ballast.isThere || this.#ballast.hasRoom) || this.isReadOnly
  }

  /** Whether the file system is read-only, however much room it has. */
  get isReadOnly(): boolean {
    return accessTrouble(dirname(this.#file))?.kind === 'read-only'
  }

  /** Room of the disk; `undefined` when the system does not say. */
  get room(): DiskSpace | undefined {
    return this.#ballast.room
  }

  /** Sentence about the full or read-only disk, for a person. */
  get fullSentence(): string {
    const folder = dirname(this.#file)
    if (this.isReadOnly) {
      const until = 'nothing is collected or delivered until it is writable again'
      return `the file system of ${folder} is read-only: ${until} (mount -o remount,rw; the kernel log says why it is not)`
    }
    const room = hasInodes(folder)
      ? `${(2 * ballastBytes) / 1_048_576} MiB are free in ${folder}`
      : `files are deleted there, as no inode is left (df -i ${folder})`
    return `the disk is full: nothing new is collected until ${room}; due metrics are still delivered`
  }

  /** @throws Fault `disk-full`, `database-read-only` when nothing new may be stored */
  requireRoom(): void {
    if (this.isFull) throw this.fault()
  }

  /** The Fault of a full or read-only disk. */
  fault(cause?: unknown): Fault {
    if (this.isReadOnly) return troubleFault('the outbox', this.#file, { kind: 'read-only', path: this.#file }, cause)
    const parts = cause === undefined ? {} : { cause }
    return new Fault('disk-full', this.fullSentence, { ...parts, fix: 'free some room; collecting then continues' })
  }

  /**
   * Classifies an error of the outbox. Deletes the ballast when the disk is full; resolves `broken` when the file is
   * damaged or cannot be written. Never throws.
   */
  recover(error: unknown): Recovery {
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

  /** Whether writing stays impossible until a person acts; `broken` is resolved then. */
  #isLost(trouble: FileTrouble, error?: unknown): boolean {
    if (!lasting.has(trouble.kind)) return false
    this.#break({ kind: 'unusable', reason: faultLine(troubleFault('the outbox', this.#file, trouble, error)) })
    return true
  }

  /** Checks that the folder can be written; resolves `broken` if not. A few system calls. */
  look(): void {
    const trouble = writingTrouble(dirname(this.#file))
    if (trouble) this.#isLost(trouble)
  }

  /** Whether the folder seems writable: one system call, so that a failed disk is noticed within seconds. */
  get seemsWritable(): boolean {
    return accessTrouble(dirname(this.#file)) === undefined
  }

  /** Turns an error of the file into a Fault; returns any other error unchanged. */
  explain(error: unknown): unknown {
    return isTrouble(error) ? fileFault('the outbox', this.#file, error) : error
  }

  /** Size of the write-ahead log, in bytes. */
  get walBytes(): number {
    return fileStats(`${this.#file}-wal`)?.size ?? 0
  }

  /** Creates the ballast if it is missing and there is room. @returns whether there is one */
  async keepBallast(): Promise<boolean> {
    const isThere = await this.#ballast.make()
    if (isThere) this.#isOut = false
    return isThere
  }

  /** Delays writes until the check of the file ends. @param check rejects when the file is damaged */
  delayUntil(check: Promise<void>): void {
    this.#check = check
    // Callers await `check`; without one the rejection would be unhandled.
    check.then(
      () => {
        this.#check = undefined
      },
      () => {},
    )
  }

  /** The check of the file that delays writes, until it ends; `undefined` while there is none. */
  get check(): Promise<void> | undefined {
    return this.#check
  }

  /** Records the identity of the opened file. */
  opened(): void {
    this.#identity = identityOf(this.#file)
  }

  /** Whether the open file is still the one at its path. */
  get isInPlace(): boolean {
    return identityOf(this.#file) === this.#identity
  }

  /**
   * Checks that the file was not moved or deleted: writes to it would succeed and be lost.
   *
   * @throws Fault `outbox-moved`
   */
  requireInPlace(): void {
    if (this.isInPlace) return
    const reason = 'the outbox was moved or replaced while it was open'
    this.#break({ kind: 'moved', reason })
    throw new Fault('outbox-moved', reason, { facts: { file: this.#file }, fix: 'nothing was stored: run it again' })
  }

  /**
   * For each transaction that writes: rows of this version must not come into tables of another.
   *
   * @throws Fault `outbox-unusable`
   */
  requireTables(database: Sqlite, schema: Schema): void {
    try {
      requireTables(database, this.#file, schema)
    } catch (error) {
      const fault = fileFault('the outbox', this.#file, error)
      this.#break({ kind: 'unusable', reason: faultLine(fault) })
      throw fault
    }
  }
}
