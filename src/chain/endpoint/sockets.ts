import { connect } from 'node:net'
import { egressConnector } from '../../edge/egress.ts'
import { networkFix, networkReason, networkWords } from '../../edge/network-reason.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import { hostOf } from '../../model/host.ts'
import { exceededBound, parsedJson } from '../../model/json.ts'
import { EndpointFailure } from './failures.ts'
import { type OwnHeaders, ownHeaders, withoutValues } from './http.ts'
import {
  answerBoundsMax,
  chainAnswerBytesMax,
  parseAnswer,
  type RpcAnswer,
  requestText,
  type Wire,
  type WrittenCall,
} from './rpc.ts'

/**
 * Splits a stream of JSON objects and arrays, with or without line breaks between them, into whole texts. Braces inside
 * strings do not count. Each character is read once, however long a text is.
 */
export function jsonTexts(): { push(chunk: string): string[] } {
  let parts: string[] = []
  let depth = 0
  let inString = false
  let isEscaped = false

  /** A function that tells whether a text ends with this character. */
  function ends(character: string): boolean {
    if (isEscaped) {
      isEscaped = false
      return false
    }
    if (inString) {
      if (character === '\\') isEscaped = true
      else if (character === '"') inString = false
      return false
    }
    if (character === '"') inString = true
    if (character === '{' || character === '[') depth += 1
    if (character !== '}' && character !== ']') return false
    depth = Math.max(0, depth - 1)
    return depth === 0
  }

  return {
    push(chunk) {
      const texts: string[] = []
      let from = 0
      for (let position = 0; position < chunk.length; position += 1) {
        if (!ends(chunk.charAt(position))) continue
        texts.push([...parts, chunk.slice(from, position + 1)].join(''))
        parts = []
        from = position + 1
      }
      if (from < chunk.length) parts.push(chunk.slice(from))
      return texts
    },
  }
}

/** An open connection that carries whole JSON texts. */
interface Pipe {
  send(text: string): void
}

/** Events of a pipe. */
export interface PipeEvents {
  /** One JSON-RPC message, as text. */
  text(text: string): void
  /** Called once, whichever side closed. `reason` holds no URL. */
  onClosed(reason: string): void
}

/** Longest wait for a WebSocket. */
const connectMsMax = 10_000

/** Opens a connection; rejects with an EndpointFailure. @param end closes it at once, also while it is being opened */
type Dial = (events: PipeEvents, end: AbortSignal) => Promise<Pipe>

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
  readonly hasBatches = false
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
    const onClosed = (reason: string) => {
      // Events of a pipe that was given up do not concern its successor.
      if (!signal.aborted) this.#closed(reason)
    }
    const opening = unlessAborted(this.#dial({ text: message => this.#heard(message), onClosed }, signal), signal)
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
    const reply = parseAnswer(parsedJson(message, answerBoundsMax))
    // Ignores messages of subscriptions and late answers.
    if (typeof reply?.id !== 'number') return
    this.#waiting.get(reply.id)?.resolve(reply.answer)
    this.#waiting.delete(reply.id)
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

const webSocketFix =
  'check that the node runs, its port and its path, and write wss:// if it speaks TLS; a second endpoint under rpc: takes over'

/**
 * Connects to a `ws://` or `wss://` URL. The events of a failed WebSocket carry no reason; its connection's error does. Closing
 * ends the TCP socket: a closing handshake would wait for the node, and a frozen one never answers.
 */
export function webSocketDial(url: string, configuredHeaders: OwnHeaders = () => ({})): Dial {
  const host = hostOf(url)
  return async ({ text, onClosed }, end) => {
    const { Agent, buildConnector, WebSocket } = await import('undici')
    end.throwIfAborted()
    return new Promise((resolve, reject) => {
      const headers = ownHeaders(host, configuredHeaders)
      const failure = (words: string, fix = webSocketFix) =>
        new EndpointFailure(host, words, 'unreachable', undefined, fix)
      let dialFailure = failure('does not answer as a WebSocket')
      const connect = egressConnector(buildConnector, { timeout: connectMsMax, signal: end })
      const dispatcher = new Agent({
        connect: (target, callback) =>
          connect(target, (...[error, socket]) => {
            if (!error) return callback(null, socket)
            dialFailure = failure(`does not answer: ${networkReason(error)}`, networkFix(error))
            callback(error, null)
          }),
        webSocket: { maxPayloadSize: chainAnswerBytesMax },
      })
      const socket = new WebSocket(url, { dispatcher, headers })
      socket.addEventListener('open', () => resolve({ send: message => socket.send(message) }))
      socket.addEventListener('message', ({ data }) => text(withoutValues(String(data), headers)))
      socket.addEventListener('error', () => {})
      socket.addEventListener('close', ({ code }) => {
        void dispatcher.destroy().catch(() => {})
        reject(dialFailure)
        onClosed(`closed the connection (${code})`)
      })
    })
  }
}

/** Connects to a node's IPC socket by its path. */
export function ipcDial(path: string): Dial {
  const name = hostOf(path)
  return ({ text, onClosed }, end) =>
    new Promise((resolve, reject) => {
      const socket = connect({ path, signal: end })
      const framing = jsonTexts()
      let reason = 'closed the connection'
      socket.setEncoding('utf8')
      socket.on('connect', () => {
        resolve({ send: message => socket.write(`${message}\n`) })
      })
      let pendingChars = 0
      socket.on('data', chunk => {
        const messages = framing.push(String(chunk))
        pendingChars = messages.length > 0 ? 0 : pendingChars + String(chunk).length
        for (const message of messages) text(message)
        if (pendingChars <= chainAnswerBytesMax) return
        reason = 'answered too much'
        socket.destroy()
      })
      socket.on('error', (error: NodeJS.ErrnoException) => {
        reason = `does not answer: ${error.code === undefined ? 'no reason given' : networkWords(error.code)}`
      })
      socket.on('close', () => {
        reject(new EndpointFailure(name, reason))
        onClosed(reason)
      })
    })
}
