import type { Time } from '../../src/edge/time.ts'

/** An end of the demo, in words for a person; its details may be a log's last lines. */
export class DemoError extends Error {
  override readonly name = 'DemoError'
  readonly details: readonly string[]

  constructor(message: string, details: readonly string[] = []) {
    super(message)
    this.details = details
  }
}

/** A person asked for the end. */
class Asked extends Error {
  /** Ctrl-C reaches every process of the terminal's group: the children know already. */
  readonly reachesChildren: boolean

  constructor(signal: NodeJS.Signals | 'EPIPE') {
    super(signal)
    this.reachesChildren = signal === 'SIGINT'
  }
}

// A child that ends because the terminal's Ctrl-C reached it may be noticed before our own signal is.
const signalLeadMs = 300

/** One end for everything that waits: a person asked for it, or a part died. The first counts. */
export class Ending {
  readonly #controller = new AbortController()
  readonly #time: Time

  constructor(time: Time) {
    this.#time = time
  }

  /** Its reason is thrown by whatever waits. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isAsked(): boolean {
    return this.signal.reason instanceof Asked
  }

  get reachesChildren(): boolean {
    return this.signal.reason instanceof Asked && this.signal.reason.reachesChildren
  }

  /** Takes the process's signals; a reader of its output that has gone away is one too. */
  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.ask(signal))
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => this.ask('EPIPE'))
  }

  ask(signal: NodeJS.Signals | 'EPIPE'): void {
    this.#controller.abort(new Asked(signal))
  }

  /** Ends with this error, unless a signal is on its way. */
  async die(error: DemoError): Promise<void> {
    await this.#time.sleep(signalLeadMs, this.signal).catch(() => {})
    this.#controller.abort(error)
  }

  /** Ends with this error once a part has ended, unless the watch is disposed of before: then its end is meant. */
  watch<T>(ended: Promise<T>, error: (how: T) => DemoError): Disposable {
    let isMeant = false
    ended.then(how => (isMeant ? undefined : this.die(error(how))))
    return {
      [Symbol.dispose]() {
        isMeant = true
      },
    }
  }

  /** Why it ended, for an error that was thrown meanwhile: what came first says more than what it broke. */
  causeOf(error: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : error
  }
}
