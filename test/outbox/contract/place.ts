import { onTestFinished } from 'vitest'
import type { Time } from '../../../src/edge/time.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'

/** A stored state that a store opens as often as asked: after a close, and while it is open, as another process does. */
export interface OutboxPlace {
  open(): Promise<Outbox>
  /** Runs a statement behind the back of the handles, which are closed: what damage does. */
  damage(statement: string): Promise<void>
  /** Clock of the store. It stands at `anHour` or shortly after. */
  readonly time: Time
}

/** Makes a place where nothing is stored yet. */
export type NewPlace = () => Promise<OutboxPlace>

/** The handles of a place that a test has open. They are closed when it ends. */
export class Handles {
  readonly time: Time
  readonly #place: OutboxPlace
  readonly #open = new Set<Outbox>()

  constructor(place: OutboxPlace) {
    this.#place = place
    this.time = place.time
    onTestFinished(() => this.closeAll())
  }

  /** One more handle, as another process has it. */
  async another(): Promise<Outbox> {
    const outbox = await this.#place.open()
    this.#open.add(outbox)
    return outbox
  }

  /** Closes a handle and opens another in its place, as after a restart of one of two processes. */
  async replaced(outbox: Outbox): Promise<Outbox> {
    this.#open.delete(outbox)
    await outbox.close()
    return this.another()
  }

  async closeAll(): Promise<void> {
    const all = [...this.#open]
    this.#open.clear()
    for (const outbox of all) await outbox.close()
  }

  /** Closes all handles, runs a statement as damage does, and opens one. */
  async damaged(statement: string): Promise<Outbox> {
    await this.closeAll()
    await this.#place.damage(statement)
    return this.another()
  }

  /** Closes all handles and opens one, as after a restart. */
  async reopened(): Promise<Outbox> {
    await this.closeAll()
    return this.another()
  }
}

/** An empty place with one handle. */
export async function emptyAt(newPlace: NewPlace): Promise<{ readonly outbox: Outbox; readonly handles: Handles }> {
  const handles = new Handles(await newPlace())
  return { handles, outbox: await handles.another() }
}
