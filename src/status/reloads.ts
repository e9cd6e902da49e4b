import type { ConfigurationState } from './snapshot.ts'

/** Reload state of one process: the configuration in force, and a refused newer one. */
export class Reloads {
  /** When the process started, in milliseconds since 1970. */
  readonly startedAtMs: number
  #state: ConfigurationState

  /** @param named as `ConfigurationState.named` */
  constructor(file: string, nowMs: number, named?: string) {
    this.startedAtMs = nowMs
    this.#state = { file, ...(named !== undefined && { named }), inForceSinceMs: nowMs }
  }

  get state(): ConfigurationState {
    return this.#state
  }

  /** Records that another configuration is in force: an earlier refusal no longer matters. */
  taken(file: string, nowMs: number): void {
    const { refused: _, ...state } = this.#state
    this.#state = { ...state, file, inForceSinceMs: nowMs }
  }

  /**
   * Records that the changed file cannot be used; the previous configuration stays in force until the file is repaired.
   */
  refused(reason: string, nowMs: number): void {
    this.#state = { ...this.#state, refused: { atMs: nowMs, reason } }
  }
}
