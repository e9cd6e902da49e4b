import type { ConfigurationState } from './snapshot.ts'

/** What became of the configuration of one process: which is in force, and whether a newer one was refused. */
export class Reloads {
  /** When the process started, whatever was reloaded since: milliseconds since 1970. */
  readonly startedAtMs: number
  #state: ConfigurationState

  constructor(file: string, nowMs: number) {
    this.startedAtMs = nowMs
    this.#state = { file, inForceSinceMs: nowMs }
  }

  get state(): ConfigurationState {
    return this.#state
  }

  /** Another configuration is in force: nothing refused before matters any more. */
  taken(file: string, nowMs: number): void {
    this.#state = { file, inForceSinceMs: nowMs }
  }

  /** The file was changed and cannot be used; the one before stays in force until the file is mended. */
  refused(reason: string, nowMs: number): void {
    this.#state = { ...this.#state, refused: { atMs: nowMs, reason } }
  }
}

/** What the file says now is not what runs: red until it is mended, as the next start would end with it. */
export function refusedSentences({ file, refused }: ConfigurationState): string[] {
  if (!refused) return []
  const since = new Date(refused.atMs).toISOString().slice(0, 19)
  return [
    `${file} was changed and is refused since ${since}Z; the configuration before stays in force: ${refused.reason}`,
  ]
}
