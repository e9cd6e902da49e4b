import type { Time } from '../../time.ts'
import { answerMsMax, patienceMsMax, rateTriesMax } from '../limits.ts'
import type { BatchLimit } from './batch-limit.ts'
import type { CallMeter } from './call-meter.ts'
import { BatchRefused, EndpointFailure, TimedOut } from './endpoint-failure.ts'
import { rateFailure } from './http-answer.ts'
import type { RateLimit } from './rate-limit.ts'
import { batchRefusalOf, isLogRateError, isRateError } from './rpc-errors.ts'
import type { Turn } from './sent-calls.ts'
import { Slots } from './slots.ts'
import {
  type RpcAnswer,
  type RpcCall,
  type RpcError,
  type RpcOutcome,
  type Wire,
  type WrittenCall,
  writtenCall,
} from './wire.ts'

/** What calls are sent with. */
export interface SenderParts {
  readonly host: string
  /** A secret. */
  readonly url: string
  readonly wire: Wire
  /** Requests under way at a time. */
  readonly requestsMax: number
  readonly batch: BatchLimit
  readonly rate: RateLimit
  readonly time: Time
  /** Whether a short wait that the node asks for is waited out: there is no other to ask. */
  readonly isOnlyOne: boolean
  readonly meter?: CallMeter | undefined
}

/**
 * Sends any number of calls in as few requests as the node takes, as fast as it takes them; what it refuses for being too
 * much goes again in halves.
 */
export class CallSender {
  readonly #parts: SenderParts
  readonly #slots: Slots

  constructor(parts: SenderParts) {
    this.#parts = parts
    this.#slots = new Slots(parts.requestsMax)
  }

  /**
   * What each call came to, in their order: once the node fails, what is not answered yet fails with it. Rejects with the
   * signal's reason, or with the Fault of the meter.
   *
   * @param way `apart`: what is refused for being too much is not taken apart, and says nothing of the calls of others
   */
  async send(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    way: 'together' | 'apart' = 'together',
  ): Promise<readonly RpcOutcome[]> {
    const { batch, rate, requestsMax } = this.#parts
    const outcomes: RpcOutcome[] = []
    const waiting = calls.map((call, index) => ({ ...writtenCall(call), index }))
    let failure: EndpointFailure | undefined
    batch.forgetTried()

    const sendNext = async () => {
      const part = waiting.splice(0, Math.min(batch.fitting(waiting), rate.callsAtOnceMax))
      try {
        if (part.length === 0 || failure) return
        const answers = await (way === 'apart' ? this.#sendWhole(part, signal) : this.#sendPart(part, signal))
        part.forEach(({ index }, at) => {
          const answer = answers[at]
          if (answer) outcomes[index] = answer
        })
      } catch (error) {
        if (!(error instanceof EndpointFailure)) {
          waiting.length = 0
          throw error
        }
        if (error.kind === 'rate' && this.#isWorthWaiting()) waiting.unshift(...part)
        else failure ??= error
      }
    }
    const work = async () => {
      while (waiting.length > 0 && !failure) await this.#slots.with(signal, sendNext)
    }
    await Promise.all(Array.from({ length: requestsMax }, work))
    const { host } = this.#parts
    return calls.map((_, index) => outcomes[index] ?? failure ?? new EndpointFailure(host, 'was not asked'))
  }

  #isWorthWaiting(): boolean {
    const { isOnlyOne, rate, time } = this.#parts
    return isOnlyOne && rate.refusalsInRow < rateTriesMax && rate.notBeforeMs - time.nowMs() <= patienceMsMax
  }

  async #sendWhole(calls: readonly WrittenCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]> {
    try {
      return await this.#sendOnce(calls, signal)
    } catch (error) {
      if (!(error instanceof BatchRefused)) throw error
      return calls.map(() => error)
    }
  }

  async #sendPart(calls: readonly WrittenCall[], signal: AbortSignal): Promise<readonly RpcOutcome[]> {
    const { batch } = this.#parts
    const count = batch.fitting(calls)
    if (count < calls.length) return this.#sendBoth(calls, count, signal)
    try {
      const answers = await this.#sendOnce(calls, signal)
      if (answers.some(({ kind }) => kind === 'result')) batch.answered(calls)
      return answers
    } catch (error) {
      if (!(error instanceof BatchRefused)) throw error
      // Of one call alone it is the failure of that call, not of the others.
      if (calls.length === 1) return [error]
      if (error.because !== 'answer') batch.refused(calls, error.because)
      return this.#sendBoth(calls, Math.ceil(calls.length / 2), signal)
    }
  }

  async #sendBoth(calls: readonly WrittenCall[], count: number, signal: AbortSignal): Promise<readonly RpcOutcome[]> {
    const first = await this.#sendPart(calls.slice(0, count), signal)
    return [...first, ...(await this.#sendPart(calls.slice(count), signal))]
  }

  async #sendOnce(calls: readonly WrittenCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    const { rate, meter } = this.#parts
    const turn = await this.#admitted(calls.length, signal)
    try {
      meter?.request(calls.map(({ call }) => call.method))
      const answers = await this.#inTime(calls, signal)
      this.#refuse(calls, answers)
      rate.answered(turn)
      return answers
    } catch (error) {
      if (error instanceof EndpointFailure && error.kind === 'rate') rate.refused(turn, error.retryAtMs)
      throw error
    } finally {
      rate.ended(turn)
    }
  }

  /** Waits for the calls' turn. What another request's refusal overtakes meanwhile is cut anew. */
  async #admitted(count: number, signal: AbortSignal): Promise<Turn> {
    const { host, rate, time } = this.#parts
    const isGiven = rate.notBeforeMs <= time.nowMs() || this.#isWorthWaiting()
    const turn = isGiven ? await rate.admitted(count, signal) : undefined
    if (turn) return turn
    const seconds = Math.max(1, Math.ceil((rate.notBeforeMs - time.nowMs()) / 1000))
    const text = `limits how often it is asked: not again for ${seconds} s`
    throw new EndpointFailure(host, text, 'rate', rate.notBeforeMs)
  }

  async #inTime(calls: readonly WrittenCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    const { host, wire, time } = this.#parts
    const timeout = time.timeout(answerMsMax)
    try {
      return await wire.send(calls, AbortSignal.any([signal, timeout]))
    } catch (error) {
      signal.throwIfAborted()
      if (timeout.aborted) throw new TimedOut(host, `did not answer within ${answerMsMax / 1000} s`)
      // Anything else would be a mistake of ours; its text is not shown, as it might hold the URL.
      throw error instanceof EndpointFailure ? error : new EndpointFailure(host, 'could not be asked')
    }
  }

  /** Throws for answers that refuse the calls because of their number or their rate. */
  #refuse(calls: readonly WrittenCall[], answers: readonly RpcAnswer[]): void {
    const { host, url, time } = this.#parts
    for (const [index, answer] of answers.entries()) {
      if (answer.kind === 'result') continue
      const isOfLogs = calls[index]?.call.method === 'eth_getLogs'
      if (isOfLogs ? isLogRateError(answer.error) : isRateError(answer.error))
        throw rateFailure(answer.error, { host, url, nowMs: time.nowMs() })
      const because = answers.length > 1 ? batchRefusalOf(answer.error) : undefined
      if (because) throw new BatchRefused(host, batchText(answer.error), because)
    }
  }
}

const batchText = ({ code }: RpcError) => `refuses the calls of a batch (${code})`
