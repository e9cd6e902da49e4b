import type { Config } from '../config/config.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { ReadMetric } from '../model/wire.ts'

/** The widget of a protocol as the service showed it at an instant. */
export interface WidgetRead {
  /** When it was read, in milliseconds since 1970. */
  readonly atMs: number
  readonly metrics: readonly ReadMetric[]
}

/** Age above which a widget is read from the service again when the page is requested. */
const freshMs = 5_000

/** Longest wait for the service when the page is requested; a late answer is used for the next request. */
const patienceMs = 2_000

/** Cache of the service's widgets, read when the page is requested. Never rejects: an unreadable widget is absent. */
export class Widgets {
  readonly #reads = new Map<string, WidgetRead>()
  readonly #config: Config
  readonly #client: ServiceClient
  readonly #keyOf: (protocolId: string) => string
  readonly #time: Time
  #triedMs = Number.NEGATIVE_INFINITY
  #reading: Promise<unknown> = Promise.resolve()

  constructor(config: Config, client: ServiceClient, keyOf: (protocolId: string) => string, time: Time) {
    this.#config = config
    this.#client = client
    this.#keyOf = keyOf
    this.#time = time
  }

  async read(): Promise<ReadonlyMap<string, WidgetRead>> {
    if (Math.abs(this.#time.nowMs() - this.#triedMs) >= freshMs) {
      this.#triedMs = this.#time.nowMs()
      this.#reading = Promise.all(this.#config.protocols.map(({ id }) => this.#readOne(id)))
    }
    const patience = new AbortController()
    await Promise.race([this.#reading, this.#time.sleep(patienceMs, patience.signal).catch(() => {})])
    patience.abort()
    return this.#reads
  }

  async #readOne(protocolId: string): Promise<void> {
    try {
      const metrics = await this.#client.widget(protocolId, this.#keyOf(protocolId))
      this.#reads.set(protocolId, { atMs: this.#time.nowMs(), metrics })
    } catch {
      // The page then shows the outbox's values, without the service's changes, and why delivery waits.
      this.#reads.delete(protocolId)
    }
  }
}
