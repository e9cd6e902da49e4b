import { unlessAborted } from '../unless-aborted.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { parseAnswer, type RpcAnswer, requestText, type Wire, type WrittenCall } from './wire.ts'

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
export function socketWire(host: string, dial: Dial): Wire {
  const waiting = new Map<number, PendingAnswer>()
  let pipe: Promise<Pipe> | undefined
  let ending = new AbortController()
  let lastId = 0

  function closed(reason: string): void {
    pipe = undefined
    const failed = [...waiting.values()]
    waiting.clear()
    for (const { reject } of failed) reject(new EndpointFailure(host, reason))
  }

  function text(message: string): void {
    const parsed = parseAnswer(parsedJson(message))
    // Ignores messages of subscriptions and late answers.
    if (typeof parsed?.id !== 'number') return
    waiting.get(parsed.id)?.resolve(parsed.answer)
    waiting.delete(parsed.id)
  }

  function open(): Promise<Pipe> {
    ending = new AbortController()
    const { signal } = ending
    const closedItself = (reason: string) => {
      // Events of a pipe that was given up do not concern its successor.
      if (!signal.aborted) closed(reason)
    }
    const opening = unlessAborted(dial({ text, closed: closedItself }, signal), signal)
    opening.catch(() => {
      if (pipe === opening) pipe = undefined
    })
    return opening
  }

  async function ask(to: Pipe, call: WrittenCall, signal: AbortSignal): Promise<RpcAnswer> {
    const id = ++lastId
    const { promise, resolve, reject } = Promise.withResolvers<RpcAnswer>()
    waiting.set(id, { resolve, reject })
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      to.send(requestText(call, id))
      return await promise
    } finally {
      waiting.delete(id)
      signal.removeEventListener('abort', abort)
    }
  }

  return {
    async send(calls, signal) {
      signal.throwIfAborted()
      pipe ??= open()
      const to = await unlessAborted(pipe, signal)
      return Promise.all(calls.map(call => ask(to, call, signal)))
    },
    close() {
      closed('was closed')
      ending.abort(new EndpointFailure(host, 'was closed'))
    },
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
