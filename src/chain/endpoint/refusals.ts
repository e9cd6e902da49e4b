import type { Time } from '../../edge/time.ts'
import { BatchRefused, type EndpointFailure } from './endpoint-failure.ts'
import { chainIdCall } from './heavy-calls.ts'
import { rateFailure } from './http-answer.ts'
import { batchRefusalOf, isLogRateError, isRateError } from './rpc-errors.ts'
import { type RpcAnswer, type RpcError, type RpcOutcome, type WrittenCall, writtenCall } from './wire.ts'

/** Whose refusals, and when. */
export interface RefusalsDeps {
  readonly host: string
  /** A secret. */
  readonly url: string
  readonly time: Time
}

/** What the calls of one request came to. */
export interface Judged {
  readonly outcomes: readonly RpcOutcome[]
  /** The failure of those that were refused for the rate. */
  readonly refusal?: EndpointFailure
}

/**
 * What of an answer refuses calls for the rate, or for coming together.
 *
 * Some nodes say "limit exceeded" of what they do not serve at all. So a method that is refused beside calls of others
 * that are answered, again and again and without any answer between, is not refused for the rate: that is its answer. To
 * ask for it more slowly does not help, and slows everything else.
 */
export class Refusals {
  readonly #parts: RefusalsDeps
  /** Methods that were refused and not answered since, and those of them that were refused beside others. */
  readonly #refused = new Set<string>()
  readonly #refusedAlone = new Set<string>()

  constructor(parts: RefusalsDeps) {
    this.#parts = parts
  }

  /** The calls, and a cheap one where all of them are of such methods: whether that is answered tells. */
  accompanied(calls: readonly WrittenCall[]): readonly WrittenCall[] {
    if (this.#refused.size === 0 || !calls.every(({ call }) => this.#refused.has(call.method))) return calls
    return [...calls, writtenCall(chainIdCall)]
  }

  /**
   * Calls that were refused for the rate are failures in their places; those beside them keep their answers.
   *
   * @throws EndpointFailure where all were refused; a BatchRefused where they were for coming together
   */
  judge(calls: readonly WrittenCall[], answers: readonly RpcAnswer[]): Judged {
    const refusals = answers.map((answer, index) => this.#refusalOf(answer, calls[index]))
    const [refusal] = refusals.filter(one => one !== undefined)
    if (answers.length > 1) this.#refuseBatch(answers.filter((_, index) => !refusals[index]))
    const isOfRate = this.#learn(calls, refusals)
    if (!refusal || !isOfRate) return { outcomes: answers }
    if (refusals.every(one => one !== undefined)) throw refusal
    return { outcomes: answers.map((answer, index) => refusals[index] ?? answer), refusal }
  }

  #refusalOf(answer: RpcAnswer, of: WrittenCall | undefined): EndpointFailure | undefined {
    const { host, url, time } = this.#parts
    if (answer.kind === 'result') return undefined
    const isOfRate = of?.call.method === 'eth_getLogs' ? isLogRateError(answer.error) : isRateError(answer.error)
    return isOfRate ? rateFailure(answer.error, { host, url, nowMs: time.nowMs() }) : undefined
  }

  #refuseBatch(answers: readonly RpcAnswer[]): void {
    for (const answer of answers) {
      if (answer.kind === 'result') continue
      const because = batchRefusalOf(answer.error)
      if (because) throw new BatchRefused(this.#parts.host, batchText(answer.error), because)
    }
  }

  /** @returns whether what was refused may have been refused for the rate */
  #learn(calls: readonly WrittenCall[], refusals: readonly (EndpointFailure | undefined)[]): boolean {
    const methods = calls.map(({ call }) => call.method)
    const refused = new Set(methods.filter((_, index) => refusals[index]))
    const answered = new Set(methods.filter((_, index) => !refusals[index]))
    for (const method of refused) this.#refused.add(method)
    if (answered.size === 0) return true
    const isKnown = [...refused].every(method => this.#refusedAlone.has(method) && !answered.has(method))
    for (const method of refused) this.#refusedAlone.add(method)
    for (const method of answered) {
      this.#refused.delete(method)
      this.#refusedAlone.delete(method)
    }
    return !isKnown
  }
}

const batchText = ({ code }: RpcError) => `refuses the calls of a batch (${code})`
