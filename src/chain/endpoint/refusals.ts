import type { Time } from '../../edge/time.ts'
import type { EndpointFailure } from './endpoint-failure.ts'
import { chainIdCall } from './heavy-calls.ts'
import { rateFailure } from './http-answer.ts'
import { isLogRateError, isRateError, meaningOf } from './rpc-errors.ts'
import { type RpcAnswer, type RpcOutcome, type WrittenCall, writtenCall } from './wire.ts'

/** Dependencies of `Refusals`. */
export interface RefusalsDeps {
  readonly host: string
  /** URL of the endpoint; a secret. */
  readonly url: string
  readonly time: Time
}

/**
 * Place of the first of the last answers that are one error: the node may not have got to these calls, or may
 * refuse calls that are sent together. Pure.
 *
 * @returns `undefined` where the last is the chain's answer to its call or about the rate, or there are
 * only two calls
 */
export function doubtedFrom(answers: readonly RpcAnswer[]): number | undefined {
  const last = answers.at(-1)
  if (last?.kind !== 'error' || isRateError(last.error) || meaningOf(last.error).kind === 'reverted') return undefined
  const { code, message } = last.error
  const isOther = (answer: RpcAnswer) =>
    answer.kind === 'result' || !Object.is(answer.error.code, code) || answer.error.message !== message
  const first = answers.findLastIndex(isOther) + 1
  return answers.length - first > 1 || answers.length > 2 ? first : undefined
}

/**
 * Decides which calls of a request were refused for the rate.
 *
 * Some nodes answer "limit exceeded" for methods they do not serve. So a method that is refused again and again, while
 * other methods of the same request are answered, is not refused for the rate: that is its answer. Asking more slowly
 * would not help, and would slow everything else.
 */
export class Refusals {
  readonly #deps: RefusalsDeps
  /** Methods refused and not answered since, and those of them refused while others were answered. */
  readonly #refused = new Set<string>()
  readonly #refusedAlone = new Set<string>()

  constructor(deps: RefusalsDeps) {
    this.#deps = deps
  }

  /** The calls, plus a cheap one if all of them are of such methods: whether that one is answered tells. */
  accompanied(calls: readonly WrittenCall[]): readonly WrittenCall[] {
    if (this.#refused.size === 0 || !calls.every(({ call }) => this.#refused.has(call.method))) return calls
    return [...calls, writtenCall(chainIdCall)]
  }

  /** Outcomes of a request: calls refused for the rate are failures in their places, the others keep their answers. */
  judge(calls: readonly WrittenCall[], answers: readonly RpcAnswer[]): readonly RpcOutcome[] {
    const refusals = answers.map((answer, index) => this.#refusalOf(answer, calls[index]))
    const [refusal] = refusals.filter(one => one !== undefined)
    const isOfRate = this.#learn(calls, refusals)
    return refusal && isOfRate ? answers.map((answer, index) => refusals[index] ?? answer) : answers
  }

  #refusalOf(answer: RpcAnswer, of: WrittenCall | undefined): EndpointFailure | undefined {
    const { host, url, time } = this.#deps
    if (answer.kind === 'result') return undefined
    const isOfRate = of?.call.method === 'eth_getLogs' ? isLogRateError(answer.error) : isRateError(answer.error)
    return isOfRate ? rateFailure(answer.error, { host, url, nowMs: time.nowMs() }) : undefined
  }

  /** @returns whether the refusals may be about the rate */
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
