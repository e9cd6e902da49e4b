import { Sequence } from '../../edge/sequence.ts'
import type { DeliveryStore } from '../../outbox/contract/delivery-store.ts'
import type { DestinationState } from '../../outbox/contract/destination.ts'

/** The state of a destination, in memory and in the outbox. */
export class StoredState {
  readonly #outbox: Pick<DeliveryStore, 'destination' | 'saveDestination'>
  readonly #name: string
  /** Absent before the first `read`. */
  #current: DestinationState | undefined
  /** Whether another process would find an open breaker, or failures that it counts on from. */
  #hasFailures = false
  /** Of two changes at a time the first might be stored last. */
  readonly #saves = new Sequence()

  /** @param name of the destination */
  constructor(outbox: Pick<DeliveryStore, 'destination' | 'saveDestination'>, name: string) {
    this.#outbox = outbox
    this.#name = name
  }

  /** The state in memory. Only the stored one of the first `read` is taken over. */
  get current(): DestinationState {
    return this.#current ?? { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
  }

  /** @returns whether a person has asked for a flush since the state was last saved */
  async read(): Promise<boolean> {
    const { isAsked = false, ...stored } = await this.#outbox.destination(this.#name)
    this.#current ??= stored
    this.#hasFailures = stored.failures > 0
    return isAsked
  }

  /** Whether another process would find failures. */
  get hasFailures(): boolean {
    return this.#hasFailures
  }

  /** Changes the state once the new one is stored. */
  async save(state: DestinationState): Promise<void> {
    await this.#store(state)
    this.#current = state
  }

  /** Changes the state at once; rejects when the new one cannot be stored. */
  async saveAtOnce(state: DestinationState): Promise<void> {
    this.#current = state
    await this.#store(state)
  }

  #store(state: DestinationState): Promise<void> {
    this.#hasFailures = state.failures > 0
    return this.#saves.run(() => this.#outbox.saveDestination(this.#name, state))
  }
}
