import { unlessAborted } from '../../edge/unless-aborted.ts'
import { exceededBound, parsedJson } from '../../model/json.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { answerBoundsMax, parseAnswer, type RpcAnswer, requestText, type Wire, type WrittenCall } from './wire.ts'

/** An open connection that carries whole JSON texts. */
export interface Pipe {
  send(text: string): void
}

/** Events of a pipe. */
export interface PipeEvents {
  /** One JSON-RPC message, as text. */
  text(text: string): void
  /** Called once, whichever side closed. `reason` holds no URL. */
  closed(reason: string): void
}

/** Opens a connection; rejects with an EndpointFailure. @param end closes it at once, also while it is being opened */
export type Dial = (events: PipeEvents, end: AbortSignal) => Promise<Pipe>

interface PendingAnswer {
  resolve(answer: RpcAnswer): void
  reject(failure: EndpointFailure): void
}

/**
 * JSON-RPC over a persistent connection: opened by the first call, and again by the next one after it closed. When it
 * closes, every pending call fails at once.
 *
 * viem's socket clients are not used: after a closed IPC socket their calls wait for the time-out, a message that is
 * not JSON throws where only the process can catch it, a brace in a revert reason breaks their framing, and a failed
 * reconnection prints the URL.
 */
export class SocketWire implements Wire {
  readonly #host: string
  readonly #dial: Dial
  readonly #waiting = new Map<number, PendingAnswer>()
  #pipe: Promise<Pipe> | undefined
  #ending = new AbortController()
  #lastId = 0

  constructor(host: string, dial: Dial) {
    this.#host = host
    this.#dial = dial
  }

  async send(calls: readonly WrittenCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    signal.throwIfAborted()
    this.#pipe ??= this.#open()
    const pipe = await unlessAborted(this.#pipe, signal)
    return Promise.all(calls.map(call => this.#ask(pipe, call, signal)))
  }

  close(): void {
    this.#fail('was closed')
  }

  /** Closes the connection; every pending call fails. */
  #fail(reason: string): void {
    this.#closed(reason)
    this.#ending.abort(new EndpointFailure(this.#host, reason))
  }

  #open(): Promise<Pipe> {
    this.#ending = new AbortController()
    const { signal } = this.#ending
    const closed = (reason: string) => {
      // Events of a pipe that was given up do not concern its successor.
      if (!signal.aborted) this.#closed(reason)
    }
    const opening = unlessAborted(this.#dial({ text: message => this.#heard(message), closed }, signal), signal)
    opening.catch(() => {
      if (this.#pipe === opening) this.#pipe = undefined
    })
    return opening
  }

  #closed(reason: string): void {
    this.#pipe = undefined
    const failed = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of failed) reject(new EndpointFailure(this.#host, reason))
  }

  #heard(message: string): void {
    // Its call is not known before it is parsed.
    if (exceededBound(message, answerBoundsMax)) this.#fail('answered too much')
    const parsed = parseAnswer(parsedJson(message, answerBoundsMax))
    // Ignores messages of subscriptions and late answers.
    if (typeof parsed?.id !== 'number') return
    this.#waiting.get(parsed.id)?.resolve(parsed.answer)
    this.#waiting.delete(parsed.id)
  }

  async #ask(pipe: Pipe, call: WrittenCall, signal: AbortSignal): Promise<RpcAnswer> {
    this.#lastId += 1
    const id = this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<RpcAnswer>()
    this.#waiting.set(id, { resolve, reject })
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      pipe.send(requestText(call, id))
      return await promise
    } finally {
      this.#waiting.delete(id)
      signal.removeEventListener('abort', abort)
    }
  }
}
