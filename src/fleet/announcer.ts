import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { Announced, DaemonEntry, FleetStore } from '../outbox/contract/fleet-store.ts'
import { seenMs } from './limits.ts'

/** Dependencies of `Announcer`. */
export interface AnnouncerDeps {
  readonly store: Pick<FleetStore, 'announce' | 'leave'>
  /** This daemon now. */
  readonly entry: () => DaemonEntry
  readonly time: Pick<Time, 'sleep'>
  /** Called each time that it is announced, with what the outbox answered. */
  readonly announced: (found: Announced) => void
  /** Called with errors; it is repeated. */
  readonly failed: (error: unknown) => void
}

/** Shows the other daemons that this one is there, until it stops. */
export class Announcer {
  readonly #deps: AnnouncerDeps
  readonly #loop = new Loop(signal => this.#turn(signal))
  #isAnnounced = false

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    const { store, entry, failed } = this.#deps
    await store.leave(entry()).catch(failed)
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { store, entry, time, announced, failed } = this.#deps
    try {
      const found = await store.announce(entry(), !this.#isAnnounced)
      this.#isAnnounced = true
      announced(found)
    } catch (error) {
      failed(error)
    }
    await time.sleep(seenMs, signal).catch(() => {})
  }
}
