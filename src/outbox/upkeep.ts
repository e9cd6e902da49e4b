import type { Time } from '../edge/time.ts'
import { hourAt } from '../model/hour.ts'
import { pruneRestMs, roomLookMs, upkeepMs } from '../model/limits.ts'
import { isBusy } from '../sqlite/damage.ts'
import type { Role } from './file/lock.ts'
import { logToldBytes, logTrimBytes } from './limits.ts'
import type { Outbox } from './outbox.ts'

/** What upkeep has found; each is told when it begins, not for as long as it lasts. */
export type UpkeepNews =
  | { readonly kind: 'disk-full'; readonly sentence: string }
  | { readonly kind: 'room-again' }
  /** Somebody took away the lock's file; the role is held on the one that is there now. */
  | { readonly kind: 'role-renewed' }
  /** Somebody took away the lock's file, and another process has the role. */
  | { readonly kind: 'role-lost' }
  /** Another process keeps the write lock. */
  | { readonly kind: 'locked'; readonly sentence: string }
  | { readonly kind: 'unlocked' }
  /** Something, like a reader that was forgotten, keeps the log from being cut off. */
  | { readonly kind: 'log-large'; readonly bytes: number }
  | { readonly kind: 'log-trimmed' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** What upkeep works with. */
export interface UpkeepOptions {
  readonly outbox: Outbox
  readonly role: Role
  /** How long settled hours are kept. */
  readonly keepMs: number
  readonly time: Time
  /** Whether the time is sure enough to delete what is old by it. Default: it is. */
  readonly mayPrune?: () => boolean
  readonly told: (news: UpkeepNews) => void
}

/**
 * Looks after the outbox beside the two loops: keeps the ballast, cuts off a log that has grown, says when the disk is full and when it is not any more,
 * deletes old history a part at a time, and sees to it that the delivery role is still held.
 */
export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  #wasFull = false
  #wasLost = false
  #wasLocked = false
  #wasLarge = false

  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  /** Complete when it returns. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
  }

  async #run(): Promise<void> {
    const { outbox, told } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#turn()
      } catch (error) {
        if (outbox.disk.recover(error) === 'other') told({ kind: 'failed', error: outbox.disk.explain(error) })
      }
      await this.#rest()
    }
  }

  /** Until the next turn; less when the disk or the role is not what it was. */
  async #rest(): Promise<void> {
    const { time, outbox, role } = this.#options
    const { signal } = this.#stopping
    for (let restedMs = 0; restedMs < upkeepMs && !signal.aborted; restedMs += roomLookMs) {
      await time.sleep(roomLookMs, signal).catch(() => {})
      this.#lookAtLock()
      if (
        this.#wasFull ||
        outbox.disk.isFull ||
        !role.isInPlace ||
        !outbox.disk.isInPlace ||
        !outbox.disk.seemsWritable
      )
        return
    }
  }

  async #turn(): Promise<void> {
    // Before a lock's file is made in a folder that is another one.
    this.#options.outbox.disk.requireInPlace()
    this.#lookAtRole()
    this.#options.outbox.disk.look()
    await this.#lookAtDisk()
    this.#lookAtLog()
    if (!this.#wasFull) await this.#prune()
  }

  async #lookAtDisk(): Promise<void> {
    const { outbox, told } = this.#options
    await outbox.disk.keepBallast()
    const { isFull, fullSentence } = outbox.disk
    if (isFull !== this.#wasFull) told(isFull ? { kind: 'disk-full', sentence: fullSentence } : { kind: 'room-again' })
    this.#wasFull = isFull
  }

  #lookAtLog(): void {
    const { outbox, told } = this.#options
    if (outbox.disk.logBytes > logTrimBytes) outbox.trimLog()
    const bytes = outbox.disk.logBytes
    const isLarge = bytes > logToldBytes
    if (isLarge && !this.#wasLarge) told({ kind: 'log-large', bytes })
    if (this.#wasLarge && bytes <= logTrimBytes) told({ kind: 'log-trimmed' })
    this.#wasLarge = isLarge || (this.#wasLarge && bytes > logTrimBytes)
  }

  async #prune(): Promise<void> {
    const { outbox, keepMs, time, mayPrune } = this.#options
    if (mayPrune && !mayPrune()) return
    const before = hourAt(time.nowMs() - keepMs)
    const { signal } = this.#stopping
    try {
      while (!signal.aborted && outbox.pruneSome(before)) await time.sleep(pruneRestMs, signal).catch(() => {})
    } catch (error) {
      // Old history can wait for another process's lock until the next turn.
      if (!isBusy(error)) throw error
    }
  }

  #lookAtLock(): void {
    const { outbox, time, told } = this.#options
    const sentence = outbox.writer.lockedSentence(time.nowMs())
    if (sentence !== undefined && !this.#wasLocked) told({ kind: 'locked', sentence })
    if (sentence === undefined && this.#wasLocked) told({ kind: 'unlocked' })
    this.#wasLocked = sentence !== undefined
  }

  #lookAtRole(): void {
    const { role, told } = this.#options
    const state = role.renew()
    if (state === 'renewed') told({ kind: 'role-renewed' })
    if (state === 'lost' && !this.#wasLost) told({ kind: 'role-lost' })
    this.#wasLost = state === 'lost'
  }
}
