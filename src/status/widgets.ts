import type { Config } from '../config/config.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { ReadMetric } from '../model/wire.ts'

/** What the service showed of a protocol at an instant. */
export interface WidgetRead {
  readonly atMs: number
  readonly metrics: readonly ReadMetric[]
}

/** A widget is read from the service again when somebody looks and the last read is older. */
const freshMs = 5_000

/** Longest wait for the service when somebody looks; a late answer is there at the next look. */
const patienceMs = 2_000

/** The widgets as the service shows them, read when somebody looks. Never rejects: what cannot be read is absent. */
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
