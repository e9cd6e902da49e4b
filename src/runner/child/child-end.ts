import { Socket } from 'node:net'
import { LogList } from '../../chain/log-list.ts'
import type { RawReads } from '../../chain/reads.ts'
import { afterQuietTick, BatchScheduler } from '../../edge/batch-scheduler.ts'
import { systemTime } from '../../edge/time.ts'
import type { Hex } from '../../model/block.ts'
import { Fault, faultFromRecord, faultRecord } from '../../model/fault.ts'
import {
  type Ask,
  type ChainAsk,
  type ChainQuestion,
  childMessageCharsMax,
  childMessageEntriesMax,
  type FromChild,
  frameReader,
  type HttpRead,
  type HttpReply,
  lineDescriptor,
  type Priced,
  questionMistake,
  type Reply,
  type RequestEnd,
  type RunQuestion,
  type ShownRequests,
  type SlotEnd,
  type ToChild,
} from '../messages.ts'
import type { Scope } from './scope.ts'

/** Length at which a child splits its messages, in characters. */
const childMessageCharsAimed = 1_048_576

/** A child's end of the connection to the daemon. Its process ends when the daemon closes it. */
export class ChildEnd {
  readonly socket = new Socket({ fd: lineDescriptor, readable: true, writable: true })

  constructor(receive: (message: ToChild) => void) {
    // Every message here was written by the daemon's own `frameOf`.
    this.socket.on(
      'data',
      frameReader(value => receive(value as ToChild)),
    )
    this.socket.on('error', () => process.exit()).on('close', () => process.exit())
  }

  post(message: FromChild): void {
    this.socket.write(`${JSON.stringify(message)}\n`)
  }

  /**
   * Sends many items in one message, or in several when it would be too long.
   *
   * @param onRefused called with an item that is too long alone, or cannot be written
   */
  postAll<T>(kind: string, name: string, items: readonly T[], onRefused: (one: T, why: string) => void): void {
    let parts: string[] = []
    let chars = 0
    const leave = () => {
      if (parts.length > 0) this.socket.write(`{"kind":"${kind}","${name}":[${parts.join(',')}]}\n`)
      parts = []
      chars = 0
    }
    for (const one of items) {
      const line = writtenOf(one)
      if (!line.ok) onRefused(one, line.why)
      else {
        if (chars + line.text.length > childMessageCharsAimed || parts.length >= childMessageEntriesMax) leave()
        parts.push(line.text)
        chars += line.text.length
      }
    }
    leave()
  }
}

type Written = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string }

function writtenOf(value: unknown): Written {
  try {
    const text = JSON.stringify(value)
    const room = childMessageCharsMax - 100
    return text.length > room ? { ok: false, why: `it is longer than ${room} characters` } : { ok: true, text }
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : 'it cannot be written as JSON' }
  }
}

/** The first questions of the runs of one message come within a tick or two; the bound is for runs that never pause. */
const untilComplete = afterQuietTick(50)

/** Questions of a child to the daemon: those of all runs are sent together once no new one comes. */
export class Asks {
  readonly #waiting = new Map<number, (reply: Reply['reply']) => void>()
  readonly #scheduler: BatchScheduler<Ask, Reply['reply']>
  readonly #endSlot: (end: SlotEnd) => void
  #lastAsk = 0

  /** @param post sends questions to the daemon @param endSlot tells it that a request has ended */
  constructor(post: (asks: readonly Ask[]) => void, endSlot: (end: SlotEnd) => void) {
    this.#endSlot = endSlot
    this.#scheduler = new BatchScheduler<Ask, Reply['reply']>(
      jobs => {
        for (const { request, resolve } of jobs) this.#waiting.set(request.ask, resolve)
        post(jobs.map(({ request }) => request))
      },
      { untilComplete },
    )
  }

  /**
   * The chain as one run sees it, as of its hour or an earlier one. Rejects with the signal's reason when aborted before
   * the reply.
   *
   * @param hours hours up to that one whose logs are read. Default: 1
   */
  reader(
    run: string,
    chain: string,
    hoursBefore: number,
    scope: Pick<Scope, 'waitsFor'>,
    hours?: number | undefined,
  ): RawReads {
    const chainHour = hoursBefore > 0 ? { chain, hoursBefore } : { chain }
    const ask = (question: ChainQuestion, signal: AbortSignal) =>
      scope.waitsFor(`chain ${chain}`, this.#askChain(run, { ...chainHour, question }, signal))
    return {
      async block(_hour, signal) {
        const reply = await ask({ kind: 'block' }, signal)
        return reply.kind === 'block' ? reply.at : mismatch(`a read of ${chain}`)
      },
      async read(_hour, requests, signal) {
        const reply = await ask({ kind: 'read', requests }, signal)
        return reply.kind === 'read' ? reply.value : mismatch(`a read of ${chain}`)
      },
      async logs(_hour, filter, signal, since) {
        const ofHours = { kind: 'logs', filter, ...(hours !== undefined && { hours }) } as const
        const reply = await ask(since === undefined ? ofHours : { kind: 'logs-since', since, filter }, signal)
        return reply.kind === 'logs' ? new LogList(reply.value) : mismatch(`a read of ${chain}`)
      },
    }
  }

  /** A price as of the run's hour. Rejects with the signal's reason when aborted before the reply. */
  async price(run: string, name: string, scope: Pick<Scope, 'waitsFor'>, signal: AbortSignal): Promise<Priced> {
    const reply = await scope.waitsFor(`price ${name}`, this.#ask(run, { price: name }, signal))
    return reply.kind === 'price' ? reply.price : mismatch(`price ${name}`)
  }

  /** A list as of the run's hour, or as it was when it was last read. Rejects as `price` does. */
  async list(
    run: string,
    name: string,
    isRecent: boolean,
    scope: Pick<Scope, 'waitsFor'>,
    signal: AbortSignal,
  ): Promise<readonly Hex[]> {
    const question = isRecent ? { list: name, recent: isRecent } : { list: name }
    const reply = await scope.waitsFor(`list ${name}`, this.#ask(run, question, signal))
    return reply.kind === 'list' ? reply.items : mismatch(`list ${name}`)
  }

  /** Shows an off-chain request to the daemon. @returns the answer. Rejects with its Fault, or the signal's reason */
  async http(run: string, request: HttpRead, signal: AbortSignal): Promise<string> {
    const reply = await this.#ask(run, { http: request }, signal)
    return reply.kind === 'http' ? reply.text : mismatch('a request')
  }

  /** The slots of a run: the daemon gives them, so that a host's limit holds for the collectors of all processes. */
  slotsOf(run: string): HostSlots {
    return {
      take: async (host, signal) => {
        const ask = this.#nextAsk()
        const reply = await this.#ask(run, { host }, signal, ask)
        const nowMs = systemTime.nowMs()
        if (reply.kind === 'refused') return { kind: 'refused', untilMs: nowMs + reply.waitMs }
        if (reply.kind !== 'granted') return mismatch(`a request to ${host}`)
        const end = (how: RequestEnd) => this.#endSlot({ ask, how })
        return { kind: 'granted', deadlineAtMs: nowMs + reply.leftMs, end }
      },
    }
  }

  /** Resolves the question that the daemon has replied to. A slot that no run waits for any more is ended at once. */
  replied(ask: number, reply: Reply['reply']): void {
    const resolve = this.#waiting.get(ask)
    if (resolve) resolve(reply)
    else if (reply.kind === 'granted') this.#endSlot({ ask, how: { kind: 'failed' } })
  }

  #nextAsk(): number {
    this.#lastAsk += 1
    return this.#lastAsk
  }

  async #ask(run: string, question: RunQuestion, signal: AbortSignal, ask = this.#nextAsk()): Promise<Reply['reply']> {
    signal.throwIfAborted()
    try {
      const reply = await this.#scheduler.schedule({ ask, run, ...question }, signal)
      if (reply.kind === 'faulted') throw faultFromRecord(reply.fault)
      return reply
    } finally {
      this.#waiting.delete(ask)
    }
  }

  async #askChain(run: string, chainAsk: ChainAsk, signal: AbortSignal): Promise<Reply['reply']> {
    const wrong = questionMistake(chainAsk.question)
    if (wrong !== undefined) throw new Fault('collector-output', `a read of ${chainAsk.chain}: ${wrong}`)
    return this.#ask(run, chainAsk, signal)
  }
}

function mismatch(asked: string): never {
  throw new Fault('chain-unreachable', `${asked} was answered with something else`)
}

/** The off-chain requests of one run, where the daemon records or answers them. */
export class ShownHttp {
  readonly #requests: ShownRequests
  readonly #show: (request: HttpRead) => Promise<string>
  #places = 0

  /** @param show shows a request to the daemon. @returns the answer */
  constructor(requests: ShownRequests, show: (request: HttpRead) => Promise<string>) {
    this.#requests = requests
    this.#show = show
  }

  /** The answer to a request. @throws the Fault of the source. @param send sends it and follows redirects */
  async answerTo(
    { method, address, headers, body }: Pick<HttpRead, 'method' | 'headers' | 'body'> & { readonly address: URL },
    format: HttpRead['as'],
    send: () => Promise<string>,
  ) {
    const place = this.#places
    this.#places += 1
    const request = { as: format, method, url: address.href, headers, place, ...(body !== undefined && { body }) }
    return this.#show(this.#requests === 'unsent' ? request : { ...request, answer: await answerOf(send) })
  }
}

async function answerOf(send: () => Promise<string>): Promise<HttpReply> {
  try {
    return { kind: 'http', text: await send() }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { kind: 'faulted', fault: faultRecord(error) }
  }
}

/** A slot to send one request, or the instant until which the host must be left alone. */
type HostSlot =
  | {
      readonly kind: 'granted'
      /** The run's deadline by now: time that it waited for slots does not count. */
      readonly deadlineAtMs: number
      readonly end: (how: RequestEnd) => void
    }
  | { readonly kind: 'refused'; readonly untilMs: number }

/** Slots to send requests, which the requests of all collectors to a host share. */
export interface HostSlots {
  /** Waits for a slot. Rejects with the signal's reason. @param host name and port */
  take(host: string, signal: AbortSignal): Promise<HostSlot>
}
