import { Loop } from '../../edge/loop.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { logBytesMax, roomLookMs, upkeepMs } from '../../model/limits.ts'
import { isBusy } from '../../sqlite/damage.ts'
import type { UpkeepDeps } from '../contract/outbox.ts'
import type { Disk } from './file/disk.ts'
import type { Writer } from './file/writer.ts'

/** Size of the write-ahead log above which it is truncated. */
const logTrimBytes = 16 * 1_048_576

/** Size of the write-ahead log above which a reader that blocks truncation is reported. */
export const logReportBytes = 64 * 1_048_576

/** Pause between two steps of deleting old history, so that other work can run. */
const pruneRestMs = 20

if (logBytesMax >= logTrimBytes) throw new Error('logBytesMax < logTrimBytes: the log of a busy daemon is reused')

/** The parts of an outbox that upkeep works on. */
interface KeptFile {
  readonly disk: Disk
  readonly writer: Writer
  /** Deletes a part of the values before an hour. @returns whether there is more */
  pruneSome(before: Hour): Promise<boolean>
  /** Truncates the log, if no process reads or writes now. */
  trimLog(): void
}

/**
 * Maintains the outbox: keeps the ballast, truncates a large log, reports a full disk and its end, deletes old history
 * in parts, and checks that the delivery role is still held.
 */
export class Upkeep {
  readonly #deps: UpkeepDeps & { readonly outbox: KeptFile }
  readonly #loop = new Loop(signal => this.#passAndRest(signal))
  #wasFull = false
  #wasLost = false
  #wasLocked = false
  #wasLarge = false

  constructor(outbox: KeptFile, deps: UpkeepDeps) {
    this.#deps = { ...deps, outbox }
    this.#loop.start()
  }

  /** Stops the loop; resolves when it has ended. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #passAndRest(signal: AbortSignal): Promise<void> {
    const { outbox, report } = this.#deps
    try {
      await this.#pass(signal)
    } catch (error) {
      if (outbox.disk.recover(error) === 'other') report({ kind: 'failed', error: outbox.disk.explain(error) })
    }
    await this.#rest(signal)
  }

  /** Waits for the next pass; shorter while the disk is full or the role is lost. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { time, outbox, role } = this.#deps
    for (let restedMs = 0; restedMs < upkeepMs && !signal.aborted; restedMs += roomLookMs) {
      await time.sleep(roomLookMs, signal).catch(() => {})
      this.#lookAtWriteLock()
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

  async #pass(signal: AbortSignal): Promise<void> {
    // Before a lock file is created in a folder that was replaced.
    this.#deps.outbox.disk.requireInPlace()
    this.#lookAtRole()
    this.#deps.outbox.disk.look()
    await this.#lookAtDisk()
    this.#lookAtLog()
    if (!this.#wasFull) await this.#prune(signal)
  }

  async #lookAtDisk(): Promise<void> {
    const { outbox, report } = this.#deps
    await outbox.disk.keepBallast()
    const { fullSentence, isReadOnly } = outbox.disk
    // A disk that cannot be written has broken the outbox.
    const isFull = outbox.disk.isFull && !isReadOnly
    if (isFull !== this.#wasFull)
      report(isFull ? { kind: 'disk-full', sentence: fullSentence } : { kind: 'room-again' })
    this.#wasFull = isFull
  }

  #lookAtLog(): void {
    const { outbox, report } = this.#deps
    if (outbox.disk.logBytes > logTrimBytes) outbox.trimLog()
    const bytes = outbox.disk.logBytes
    const isLarge = bytes > logReportBytes
    if (isLarge && !this.#wasLarge) report({ kind: 'log-large', bytes })
    if (this.#wasLarge && bytes <= logTrimBytes) report({ kind: 'log-trimmed' })
    this.#wasLarge = isLarge || (this.#wasLarge && bytes > logTrimBytes)
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { outbox, keepMs, time, mayPrune } = this.#deps
    if (mayPrune && !mayPrune()) return
    const before = hourAt(time.nowMs() - keepMs)
    try {
      while (!signal.aborted && (await outbox.pruneSome(before))) await time.sleep(pruneRestMs, signal).catch(() => {})
    } catch (error) {
      // Deleting old history can wait until the next pass.
      if (!isBusy(error)) throw error
    }
  }

  #lookAtWriteLock(): void {
    const { outbox, time, report } = this.#deps
    const sentence = outbox.writer.lockedSentence(time.nowMs())
    if (sentence !== undefined && !this.#wasLocked) report({ kind: 'locked', sentence })
    if (sentence === undefined && this.#wasLocked) report({ kind: 'unlocked' })
    this.#wasLocked = sentence !== undefined
  }

  #lookAtRole(): void {
    const { role, report } = this.#deps
    const state = role.renew()
    if (state === 'renewed') report({ kind: 'role-renewed' })
    if (state === 'lost' && !this.#wasLost) report({ kind: 'role-lost' })
    this.#wasLost = state === 'lost'
  }
}
