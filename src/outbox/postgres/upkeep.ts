import { Loop } from '../../edge/loop.ts'
import { hourAt } from '../../model/hour.ts'
import { roomLookMs, upkeepMs } from '../../model/limits.ts'
import type { UpkeepDeps } from '../contract/upkeep.ts'
import type { PostgresDatabase } from './connection/database.ts'
import type { PostgresHealth } from './connection/health.ts'
import { OldValues } from './writing/pruning.ts'

/** Pause between two commits that delete old values, so that other work can run. */
const pruneRestMs = 20

/** The parts of an outbox that upkeep works on. */
interface KeptOutbox {
  readonly database: PostgresDatabase
  readonly health: PostgresHealth
}

/**
 * Maintains the outbox: reports a database that is full and its end, deletes old values, and checks that the delivery role is
 * still held.
 */
export class PostgresUpkeep {
  readonly #kept: KeptOutbox
  readonly #deps: UpkeepDeps
  readonly #old: OldValues
  readonly #loop = new Loop(signal => this.#turnAndRest(signal))
  #wasFull = false
  #wasLost = false

  constructor(kept: KeptOutbox, deps: UpkeepDeps) {
    this.#kept = kept
    this.#deps = deps
    this.#old = new OldValues(kept.database)
    this.#loop.start()
  }

  /** Stops the loop; resolves when it has ended. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #turnAndRest(signal: AbortSignal): Promise<void> {
    const { health } = this.#kept
    try {
      this.#lookAtRole()
      await this.#lookAtRoom()
      if (!this.#wasFull) await this.#prune(signal)
    } catch (error) {
      if (health.recover(error) === 'other') this.#deps.report({ kind: 'failed', error: health.explain(error) })
    }
    await this.#rest(signal)
  }

  /** Waits for the next turn; shorter while the database is full or the role is lost. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { time, role } = this.#deps
    for (let restedMs = 0; restedMs < upkeepMs && !signal.aborted; restedMs += roomLookMs) {
      await time.sleep(roomLookMs, signal).catch(() => {})
      if (this.#wasFull || this.#kept.health.fullSentence !== undefined || !role.isInPlace) return
    }
  }

  async #lookAtRoom(): Promise<void> {
    const { health } = this.#kept
    await health.keepReserve()
    const sentence = health.fullSentence
    const isFull = sentence !== undefined
    if (isFull !== this.#wasFull) {
      this.#deps.report(isFull ? { kind: 'disk-full', sentence } : { kind: 'room-again' })
    }
    this.#wasFull = isFull
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { keepMs, time, mayPrune } = this.#deps
    if (mayPrune && !mayPrune()) return
    const before = hourAt(time.nowMs() - keepMs)
    while (!signal.aborted && (await this.#old.pruneSome(before))) await time.sleep(pruneRestMs, signal).catch(() => {})
  }

  #lookAtRole(): void {
    const { role, report } = this.#deps
    const state = role.renew()
    if (state === 'renewed') report({ kind: 'role-renewed' })
    if (state === 'lost' && !this.#wasLost) report({ kind: 'role-lost' })
    this.#wasLost = state === 'lost'
  }
}
