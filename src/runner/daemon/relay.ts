import type { LogLine } from '../messages.ts'

/** Takes what a process says. */
export interface ProcessListener {
  readonly log: (line: LogLine) => void
  /** Called with each line of the process, not yet parsed. */
  readonly hear: (line: string) => void
  /** Called when a line exceeds the limit. */
  readonly tooLong: () => void
}

/** Messages and lines kept at most: that the process is ready, and a few lines. */
const keptMax = 100

/** Passes on the output of a process, or keeps it until there is a listener. */
export class Relay {
  readonly #overflow: () => void
  #listener: ProcessListener | undefined
  #kept: ((listener: ProcessListener) => void)[] = []

  /** @param overflow called when the process has written too much without a listener */
  constructor(overflow: () => void) {
    this.#overflow = overflow
  }

  to(listener: ProcessListener | undefined): void {
    this.#listener = listener
    if (!listener) return
    for (const say of this.#kept.splice(0)) say(listener)
  }

  pass(say: (listener: ProcessListener) => void): void {
    if (this.#listener) say(this.#listener)
    else if (this.#kept.push(say) > keptMax) this.#overflow()
  }
}
