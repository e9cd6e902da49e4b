import { Loop } from '../../edge/loop.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { roomLookMs, upkeepMs } from '../../model/limits.ts'
import type { OutboxHealth, UpkeepDeps } from '../contract/outbox.ts'

/** Pause between two commits that delete old values, so that other work can run. */
const pruneRestMs = 20

/** An outbox as its upkeep needs it. */
interface KeptOutbox {
  readonly health: Pick<OutboxHealth, 'isReadOnly' | 'keepReserve' | 'recover' | 'explain' | 'lockedSentence'>
  /** Why nothing new may be stored while there is no room, as a sentence for a person; `undefined` while there is room. */
  readonly noRoomSentence: string | undefined
  /** Whether the next pass is to come soon, although there is room. Default: no. */
  readonly isInTrouble?: boolean
  /** Called before the role is renewed, where the store may have been moved. @throws errors after which nothing is to be done */
  requireInPlace?(): void
  /** Looks at what else this store has to keep in order. */
  look?(report: UpkeepDeps['report']): void
  /** Deletes a part of the delivered and dropped values before an hour. @returns whether there is more */
  pruneSome(before: Hour): Promise<boolean>
}

/**
 * Maintains an outbox: keeps its reserve, reports a full disk or database and its end, deletes old values in parts, and
 * checks that the delivery role is still held.
 */
export class Upkeep {
  readonly #outbox: KeptOutbox
  readonly #deps: UpkeepDeps
  readonly #loop = new Loop(signal => this.#passAndRest(signal))
  #wasFull = false
  #wasLost = false
  #wasLocked = false

  constructor(outbox: KeptOutbox, deps: UpkeepDeps) {
    this.#outbox = outbox
    this.#deps = deps
    this.#loop.start()
  }

  /** Stops the loop; resolves when it has ended. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #passAndRest(signal: AbortSignal): Promise<void> {
    const { health } = this.#outbox
    try {
      await this.#pass(signal)
    } catch (error) {
      if (health.recover(error) === 'other') this.#deps.report({ kind: 'failed', error: health.explain(error) })
    }
    await this.#rest(signal)
  }

  /** Waits for the next pass; shorter while there is no room, the role is lost or the store is in trouble. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { time, role } = this.#deps
    for (let restedMs = 0; restedMs < upkeepMs && !signal.aborted; restedMs += roomLookMs) {
      await time.sleep(roomLookMs, signal).catch(() => {})
      this.#lookAtWriteLock()
      const isFull = this.#wasFull || this.#outbox.noRoomSentence !== undefined
      if (isFull || role?.isInPlace === false || this.#outbox.isInTrouble) return
    }
  }

  async #pass(signal: AbortSignal): Promise<void> {
    // Before a lock file is created in a folder that was replaced.
    this.#outbox.requireInPlace?.()
    this.#lookAtRole()
    // Before what needs room itself, and fails where there is none.
    await this.#lookAtRoom()
    this.#outbox.look?.(this.#deps.report)
    if (!this.#wasFull) await this.#prune(signal)
  }

  async #lookAtRoom(): Promise<void> {
    await this.#outbox.health.keepReserve()
    const sentence = this.#outbox.noRoomSentence
    const isFull = sentence !== undefined
    if (isFull !== this.#wasFull) {
      const kind = this.#outbox.health.isReadOnly ? 'read-only' : 'disk-full'
      this.#deps.report(isFull ? { kind, sentence } : { kind: 'room-again' })
    }
    this.#wasFull = isFull
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { keepMs, time, mayPrune } = this.#deps
    if (mayPrune && !mayPrune()) return
    const before = hourAt(time.nowMs() - keepMs)
    while (!signal.aborted && (await this.#outbox.pruneSome(before)))
      await time.sleep(pruneRestMs, signal).catch(() => {})
  }

  #lookAtWriteLock(): void {
    const { time, report } = this.#deps
    const sentence = this.#outbox.health.lockedSentence(time.nowMs())
    if (sentence !== undefined && !this.#wasLocked) report({ kind: 'locked', sentence })
    if (sentence === undefined && this.#wasLocked) report({ kind: 'unlocked' })
    this.#wasLocked = sentence !== undefined
  }

  #lookAtRole(): void {
    const { role, report } = this.#deps
    const state = role?.renew()
    if (state === 'renewed') report({ kind: 'role-renewed' })
    if (state === 'lost' && !this.#wasLost) report({ kind: 'role-lost' })
    this.#wasLost = state === 'lost'
  }
}
