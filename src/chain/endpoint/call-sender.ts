import { type RateLimit, rateTriesMax } from '../../edge/rate/rate-limit.ts'
import type { AdmittedRequest } from '../../edge/rate/sent-calls.ts'
import { Semaphore } from '../../edge/semaphore.ts'
import type { Time } from '../../edge/time.ts'
import type { CallMeter, CallOutcomes } from './call-meter.ts'
import { adviceOf, BatchRefused, EndpointFailure, StateMissing, TimedOut } from './failures.ts'
import { errorText, rateFailure } from './http.ts'
import type { BatchLimit, ObservedBlocks, StateAvailability } from './learnt.ts'
import {
  type BlockPart,
  headCall,
  isLogRateError,
  isRateError,
  isServed,
  isUnexplained,
  meaningOf,
  partCall,
  type RpcAnswer,
  type RpcCall,
  type RpcOutcome,
  type Wire,
  type WrittenCall,
  writtenCall,
} from './rpc.ts'

/** Longest wait for one answer of an endpoint, body included; the next endpoint is asked then. */
export const answerMsMax = 15_000

/** Longest retry-after of a chain's only endpoint that is waited for. */
const patienceMsMax = 5_000

/** The cheapest call to a node. */
export const chainIdCall: RpcCall = { method: 'eth_chainId', params: [] }

/** The method for all receipts of a block, which not every node or plan has. */
export const receiptsMethod = 'eth_getBlockReceipts'

const heavyMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_getLogs', 'eth_getBalance', 'eth_getCode'])

/**
 * Whether a call makes a node compute or search. Its cost depends on the call, and it may fail all calls sent with it.
 */
function isHeavy({ call }: WrittenCall): boolean {
  return heavyMethods.has(call.method)
}

/** Merges outcomes of calls that were partly sent apart, in the order of the calls. */
function inOrder(
  calls: readonly WrittenCall[],
  firstCalls: readonly WrittenCall[],
  ofSome: readonly RpcOutcome[],
  secondCalls: readonly WrittenCall[],
  ofOthers: readonly RpcOutcome[],
): RpcOutcome[] {
  const places = new Map([...firstCalls, ...secondCalls].map((call, index) => [call, index]))
  const all = [...ofSome.slice(0, firstCalls.length), ...ofOthers]
  return calls.flatMap(call => all[places.get(call) ?? -1] ?? [])
}

/**
 * Place of the first of the last answers that are one error: the node may not have got to these calls, or may
 * refuse calls that are sent together. Pure.
 *
 * @returns `undefined` where the last is the chain's answer to its call or about the rate, or there are
 * only two calls
 */
function doubtedFrom(answers: readonly RpcAnswer[]): number | undefined {
  const last = answers.at(-1)
  if (last?.kind !== 'error' || isRateError(last.error) || meaningOf(last.error).kind === 'reverted') return undefined
  const { code, message } = last.error
  const isOther = (answer: RpcAnswer) =>
    answer.kind === 'result' || !Object.is(answer.error.code, code) || answer.error.message !== message
  const first = answers.findLastIndex(isOther) + 1
  return answers.length - first > 1 || answers.length > 2 ? first : undefined
}

/** Whether a call is one that every node answers, whatever the chain holds. */
function isHarmless({ call: { method, params } }: WrittenCall): boolean {
  return method === chainIdCall.method || params[0] === 'latest'
}

/** Whether an answer is a value or a revert, which only a node that works gives. */
function isOfChain(answer: RpcOutcome): boolean {
  if (answer instanceof EndpointFailure) return false
  return answer.kind === 'result' || meaningOf(answer.error).kind === 'reverted'
}

/** Requests in a row that were answered with errors alone, after which the node is left alone for a while. */
const requestsInVainMax = 40
const inVainPauseMs = 30_000

/**
 * Decides which calls of a request were refused for the rate.
 *
 * Some nodes answer "limit exceeded" for methods they do not serve. So a method that is refused again and again, while
 * other methods of the same request are answered, is not refused for the rate: that is its answer. Asking more slowly
 * would not help, and would slow everything else.
 */
class Refusals {
  readonly #deps: Pick<CallSenderDeps, 'host' | 'url' | 'time'>
  /** Methods refused and not answered since, and those of them refused while others were answered. */
  readonly #refused = new Set<string>()
  readonly #refusedAlone = new Set<string>()

  constructor(deps: Pick<CallSenderDeps, 'host' | 'url' | 'time'>) {
    this.#deps = deps
  }

  /** The calls, plus a cheap one if all of them are of such methods: whether that one is answered tells. */
  accompanied(calls: readonly WrittenCall[]): readonly WrittenCall[] {
    if (this.#refused.size === 0 || !calls.every(({ call }) => this.#refused.has(call.method))) return calls
    return [...calls, writtenCall(chainIdCall)]
  }

  /** Whether a method is refused whatever the rate. It is believed until the method is answered. */
  refuses(method: string): boolean {
    return this.#refusedAlone.has(method)
  }

  /** Records that a method is refused whatever the rate. */
  addMethod(method: string): void {
    this.#refused.add(method)
    this.#refusedAlone.add(method)
  }

  /** Outcomes of a request: calls refused for the rate are failures in their places, the others keep their answers. */
  judge(calls: readonly WrittenCall[], answers: readonly RpcAnswer[]): readonly RpcOutcome[] {
    const refusals = answers.map((answer, index) => this.#refusalOf(answer, calls[index]))
    const [refusal] = refusals.filter(one => one !== undefined)
    const isOfRate = this.#learn(calls, refusals)
    return refusal && isOfRate ? answers.map((answer, index) => refusals[index] ?? answer) : answers
  }

  #refusalOf(answer: RpcAnswer, sentCall: WrittenCall | undefined): EndpointFailure | undefined {
    const { host, url, time } = this.#deps
    if (answer.kind === 'result') return undefined
    const isOfRate = sentCall?.call.method === 'eth_getLogs' ? isLogRateError(answer.error) : isRateError(answer.error)
    return isOfRate ? rateFailure(answer.error, { host, url, nowMs: time.nowMs() }) : undefined
  }

  /** @returns whether the refusals may be about the rate */
  #learn(calls: readonly WrittenCall[], refusals: readonly (EndpointFailure | undefined)[]): boolean {
    const methods = calls.map(({ call }) => call.method)
    const refusedMethods = new Set(methods.filter((_, index) => refusals[index]))
    const answeredMethods = new Set(methods.filter((_, index) => !refusals[index]))
    for (const method of refusedMethods) this.#refused.add(method)
    if (answeredMethods.size === 0) return true
    const isKnown = [...refusedMethods].every(method => this.#refusedAlone.has(method) && !answeredMethods.has(method))
    for (const method of refusedMethods) this.#refusedAlone.add(method)
    for (const method of answeredMethods) {
      this.#refused.delete(method)
      this.#refusedAlone.delete(method)
    }
    return !isKnown
  }
}

/** Dependencies of `CallSender`. */
interface CallSenderDeps {
  readonly host: string
  /** URL of the endpoint; a secret. */
  readonly url: string
  readonly wire: Wire
  /** Concurrent requests, at most. */
  readonly requestsMax: number
  readonly batch: BatchLimit
  readonly rate: RateLimit
  /** Blocks that the endpoint has shown, and whose state it has. */
  readonly observed: ObservedBlocks
  readonly depth: StateAvailability
  readonly time: Time
  /** Called when a request got no answer that can be used: another node may answer the next. */
  readonly reportUnreachable: () => void
  /** Whether a short retry-after is waited for, because there is no other endpoint. */
  readonly isOnlyOne: boolean
  /** Counts what is sent. Default: it is not counted. */
  readonly meter?: CallMeter | undefined
  /** Where the outcomes of calls are counted. */
  readonly outcomeCounts: CallOutcomes
}

/** Options of one request. */
interface RequestOptions {
  readonly signal: AbortSignal
  /** Longest wait for the answer, in milliseconds. */
  readonly answerMsMax: number
  /** Whether the node answered a cheap call since a request failed, so it is not dead. */
  readonly isAlive?: boolean
}

/** Longest wait for the answer to a cheap call, which tells a busy node from a dead one. */
const probeMsMax = 5_000

/**
 * Sends calls in as few requests and as fast as the node accepts. Calls refused as too much are sent again in halves.
 * When a request fails because of one call, only that call fails: a cheap call tells such a node from a dead one.
 */
export class CallSender {
  readonly #deps: CallSenderDeps
  readonly #semaphore: Semaphore
  readonly #refusals: Refusals
  /** Requests in a row that were answered with errors alone. */
  #inVain = 0

  constructor(deps: CallSenderDeps) {
    this.#deps = deps
    this.#semaphore = new Semaphore(deps.requestsMax)
    this.#refusals = new Refusals(deps)
  }

  /**
   * Outcomes of the calls, in their order. When the node fails, all unanswered calls fail with it. Rejects with the
   * signal's reason or with the Fault of the meter.
   *
   * @param way `apart`: calls refused as too much are not split, and teach nothing about other calls
   */
  async send(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    way: 'together' | 'apart' = 'together',
    answerMs: number = answerMsMax,
  ): Promise<readonly RpcOutcome[]> {
    const { batch, rate, requestsMax } = this.#deps
    const outcomes: RpcOutcome[] = []
    const queue = calls.map((call, index) => ({ ...writtenCall(call), index }))
    let failure: EndpointFailure | undefined
    batch.forgetTried()

    const sendNext = async () => {
      const part = queue.splice(0, Math.min(batch.fitting(queue), rate.callsAtOnceMax))
      try {
        if (part.length === 0 || failure) return
        const options = { signal, answerMsMax: answerMs }
        const answers = await (way === 'apart' ? this.#sendWhole(part, options) : this.#sendPart(part, options))
        const refusedCalls: typeof part = []
        part.forEach((call, at) => {
          const answer = answers[at]
          if (isRefused(answer) && this.#isWorthWaiting()) refusedCalls.push(call)
          else if (answer) outcomes[call.index] = answer
        })
        queue.unshift(...refusedCalls)
      } catch (error) {
        if (!(error instanceof EndpointFailure)) {
          queue.length = 0
          throw error
        }
        // Smaller requests were refused, too: their size was not the reason.
        if (error.kind === 'rate') batch.forgetTried()
        if (error.kind === 'rate' && this.#isWorthWaiting()) queue.unshift(...part)
        else failure ??= error
      }
    }
    const work = async () => {
      while (queue.length > 0 && !failure) await this.#semaphore.with(signal, sendNext)
    }
    await Promise.all(Array.from({ length: requestsMax }, work))
    const { host } = this.#deps
    return calls.map((_, index) => outcomes[index] ?? failure ?? new EndpointFailure(host, 'was not asked'))
  }

  #isWorthWaiting(): boolean {
    const { isOnlyOne, rate, time } = this.#deps
    return isOnlyOne && rate.refusalsInRow < rateTriesMax && rate.notBeforeMs - time.nowMs() <= patienceMsMax
  }

  async #sendWhole(calls: readonly WrittenCall[], options: RequestOptions): Promise<readonly RpcOutcome[]> {
    try {
      return await this.#sendOnce(calls, options)
    } catch (error) {
      if (!(error instanceof BatchRefused)) throw error
      return calls.map(() => error)
    }
  }

  async #sendPart(calls: readonly WrittenCall[], options: RequestOptions): Promise<readonly RpcOutcome[]> {
    const { batch } = this.#deps
    const count = batch.fitting(calls)
    if (count < calls.length) return this.#sendBoth(calls, count, options)
    try {
      const answers = await this.#sendOnce(calls, options)
      if (answers.some(answer => 'kind' in answer && answer.kind === 'result')) batch.answered(calls)
      return answers
    } catch (error) {
      if (!(error instanceof EndpointFailure)) throw error
      if (!(error instanceof BatchRefused)) return this.#sendAround(calls, error, options)
      // With a single call it is the failure of that call, not of others.
      if (calls.length === 1) return [error]
      if (error.because !== 'answer') batch.refused(calls, error.because)
      return this.#sendBoth(calls, Math.ceil(calls.length / 2), options)
    }
  }

  async #sendBoth(
    calls: readonly WrittenCall[],
    count: number,
    options: RequestOptions,
  ): Promise<readonly RpcOutcome[]> {
    const first = await this.#sendPart(calls.slice(0, count), options)
    return [...first, ...(await this.#sendPart(calls.slice(count), options))]
  }

  /**
   * Handles a request that failed as a whole, perhaps because of one call, or because it has several. One cheap call
   * alone tells whether the node is dead. Calls it was too slow for fail: the caller knows how to ask for less.
   *
   * @throws EndpointFailure when the node is dead, or fails at everything
   */
  async #sendAround(
    calls: readonly WrittenCall[],
    failure: EndpointFailure,
    options: RequestOptions,
  ): Promise<readonly RpcOutcome[]> {
    const { host, wire } = this.#deps
    const isSlow = failure instanceof TimedOut
    const [heavyCalls, lightCalls] = [calls.filter(isHeavy), calls.filter(call => !isHeavy(call))]
    const isCheap = heavyCalls.length === 0 && (calls.length === 1 || isSlow || !wire.hasBatches)
    if (failure.kind !== 'unreachable' || isCheap) throw failure
    const probe = { ...options, answerMsMax: probeMsMax }
    if (!options.isAlive && !(await this.#answerAlone(writtenCall(chainIdCall), probe))) throw failure
    const aliveOptions = { ...options, isAlive: true }
    // Once more, as a connection may break off by chance: only what fails again is about the number of calls.
    if (!options.isAlive && heavyCalls.length === 0) return this.#sendPart(calls, aliveOptions)
    if (heavyCalls.length === 0) return this.#sendHalves(calls, aliveOptions)
    const answers = lightCalls.length > 0 ? await this.#sendPart(lightCalls, { ...probe, isAlive: true }) : []
    const outcomes =
      isSlow || calls.length === 1
        ? heavyCalls.map(() => new EndpointFailure(host, failure.reason, isSlow ? 'slow' : 'refused'))
        : lightCalls.length > 0
          ? await this.#sendPart(heavyCalls, aliveOptions)
          : await this.#sendHalves(heavyCalls, aliveOptions)
    return inOrder(calls, lightCalls, answers, heavyCalls, outcomes)
  }

  /** Sends two halves of calls that failed together. If each is answered then, their number was the reason. */
  async #sendHalves(calls: readonly WrittenCall[], options: RequestOptions): Promise<readonly RpcOutcome[]> {
    const { batch } = this.#deps
    const outcomes = await this.#sendBoth(calls, Math.ceil(calls.length / 2), options)
    if (outcomes.some(outcome => outcome instanceof EndpointFailure)) return outcomes
    batch.refused(calls, 'calls')
    batch.answered(calls.slice(0, 1))
    return outcomes
  }

  async #sendOnce(calls: readonly WrittenCall[], options: RequestOptions): Promise<readonly RpcOutcome[]> {
    const { rate, batch } = this.#deps
    // A cheap call sent with those refused for the rate tells whether the rate is the reason.
    const fullBatch = batch.callsMax > 1 ? this.#refusals.accompanied(calls) : calls
    const admission = await this.#admitted(fullBatch.length, options.signal)
    try {
      const outcomes = await this.#withoutState(fullBatch, await this.#answers(fullBatch, options), options)
      const refusals = outcomes.filter(isRefused)
      const [refusal] = refusals
      if (!refusal) this.#answered(admission, outcomes)
      else if (refusals.length < fullBatch.length) rate.refused(admission, refusal.retryAtMs)
      else {
        if (await this.#isOfBatch(fullBatch, refusal, options))
          throw new BatchRefused(refusal.host, refusal.reason, 'calls')
        if (await this.#isOfReceipts(fullBatch, options))
          throw new EndpointFailure(refusal.host, refusal.reason, 'refused')
        rate.refused(admission, refusal.retryAtMs)
        throw refusal
      }
      return outcomes.slice(0, calls.length)
    } finally {
      rate.ended(admission)
    }
  }

  /** Records an answered request: errors alone say nothing about the rate. */
  #answered(sent: AdmittedRequest, outcomes: readonly RpcOutcome[]): void {
    if (outcomes.some(isOfChain)) this.#deps.rate.answered(sent)
  }

  /**
   * The refusal of a node that is busy, in words of no known meaning: all calls are refused, and so is one that no
   * contract can fail. Whether it is of that number of calls is found by a pause, as for a rate.
   */
  async #loadIn(
    calls: readonly WrittenCall[],
    answers: readonly RpcAnswer[],
    options: RequestOptions,
  ): Promise<EndpointFailure | undefined> {
    const { host, url, time } = this.#deps
    const [first] = answers
    if (first?.kind !== 'error' || !answers.every(isUnexplained)) return undefined
    const isInVain = this.#inVain >= requestsInVainMax
    if (!isInVain && !calls.some(isHarmless)) {
      const alone = await this.#answerAlone(writtenCall(chainIdCall), options)
      if (!alone || !isUnexplained(alone)) return undefined
    }
    const retryAtMs = isInVain ? time.nowMs() + inVainPauseMs : undefined
    const refused = new EndpointFailure(host, errorText(first.error, url), 'refused')
    return new EndpointFailure(host, refused.reason, 'rate', retryAtMs, adviceOf(refused))
  }

  /** Outcomes of one request: a refusal for the rate is that of each of its calls. @throws EndpointFailure */
  async #answers(calls: readonly WrittenCall[], options: RequestOptions): Promise<readonly RpcOutcome[]> {
    const { outcomeCounts } = this.#deps
    try {
      const answers = await this.#exchanged(calls, options)
      const load = await this.#loadIn(calls, answers, options)
      if (!load) await this.#requireAll(calls, answers, options)
      const outcomes = load ? calls.map(() => load) : this.#refusals.judge(calls, answers)
      outcomeCounts.answered(outcomes)
      return outcomes
    } catch (error) {
      outcomeCounts.failed(calls.length, error)
      if (error instanceof EndpointFailure && isRefused(error)) return calls.map(() => error)
      throw error
    }
  }

  /**
   * The outcomes, in which calls at old blocks that are refused in words of a rate lack state where asking shows it:
   * waiting does not help them, and other calls are not asked more slowly for them.
   */
  async #withoutState(
    calls: readonly WrittenCall[],
    outcomes: readonly RpcOutcome[],
    options: RequestOptions,
  ): Promise<readonly RpcOutcome[]> {
    const { host, observed } = this.#deps
    const refusals = calls.flatMap((written, place) => {
      const [outcome, old] = [outcomes[place], observed.oldPartOf(written.call)]
      return isRefused(outcome) && outcome.retryAtMs === undefined && old ? [{ ...old, place, outcome }] : []
    })
    const finalOutcomes = [...outcomes]
    for (const [part, ofPart] of Map.groupBy(refusals, one => one.part)) {
      const lackingBlock = await this.#lackingTo(
        part,
        ofPart.map(({ number }) => number),
        options,
      )
      for (const { number, place, outcome } of ofPart) {
        if (lackingBlock === undefined || number > lackingBlock) continue
        const text = `has no ${part} of block ${number}, though of its last block: it ${outcome.reason}`
        finalOutcomes[place] = new StateMissing(host, text)
      }
    }
    const isWhole = refusals.length > 0 && outcomes.every(outcome => outcome === outcomes[0])
    const refusedCalls = calls.filter((_, place) => isRefused(finalOutcomes[place]))
    // The request was refused as a whole, because of its old blocks.
    if (!isWhole || refusedCalls.length === 0 || refusedCalls.length === calls.length) return finalOutcomes
    const again = (await this.#answers(refusedCalls, options)).values()
    return finalOutcomes.map(outcome => (isRefused(outcome) ? (again.next().value ?? outcome) : outcome))
  }

  /** The highest of some old blocks of which the node has a part missing that it has of its last block. */
  async #lackingTo(part: BlockPart, numbers: readonly bigint[], options: RequestOptions): Promise<bigint | undefined> {
    const { depth } = this.#deps
    const sorted = numbers.toSorted((a, b) => (a > b ? -1 : 1))
    for (const number of new Set([...sorted.slice(0, 1), ...sorted.slice(-1)])) {
      if (part === 'state' && depth.lacks(number)) return number
      if (!(await this.#isLacking(part, number, options))) continue
      if (part === 'state') depth.missed(number)
      return number
    }
    return undefined
  }

  /**
   * Whether a harmless call is refused at a block and answered at the last one, time after time. No limit on a rate
   * refuses two calls in a row and lets two in a row pass, whichever pause it asks for.
   */
  async #isLacking(part: BlockPart, number: bigint, options: RequestOptions): Promise<boolean> {
    const [old, last] = [partCall(part, `0x${number.toString(16)}`), partCall(part, 'latest')].map(writtenCall)
    for (const call of [old, last, last, old, old, last, last]) {
      if (!call) return false
      const answer = await this.#answerAlone(call, options)
      if (isServed(answer) !== (call === last)) return false
    }
    return true
  }

  /**
   * Whether calls that seem to be refused for the rate are refused for being sent together: one of them alone is
   * answered at once. It is asked of a node that never answered several, or refuses them again and again.
   */
  async #isOfBatch(
    calls: readonly WrittenCall[],
    { retryAtMs }: EndpointFailure,
    options: RequestOptions,
  ): Promise<boolean> {
    const { batch, rate } = this.#deps
    const isProven = batch.isProven && rate.refusalsInRow < rateTriesMax
    const one = calls.find(call => !isHeavy(call)) ?? calls[0]
    if (!one || calls.length === 1 || isProven || retryAtMs !== undefined) return false
    return (await this.#answerAlone(one, options))?.kind === 'result'
  }

  /**
   * Whether a request for receipts is refused for its method, in whatever words: time after time, while the last block is
   * answered. Other calls do not wait for that, as receipts are only evidence.
   */
  async #isOfReceipts(calls: readonly WrittenCall[], options: RequestOptions): Promise<boolean> {
    const [receipts, ...others] = calls.filter(call => !isHarmless(call))
    if (receipts?.call.method !== receiptsMethod || others.length > 0) return false
    if (this.#refusals.refuses(receiptsMethod)) return true
    const head = writtenCall(headCall)
    for (const call of [head, head, receipts, receipts, head, head]) {
      const answer = await this.#answerAlone(call, options)
      if ((answer?.kind === 'result') !== (call === head)) return false
    }
    this.#refusals.addMethod(receiptsMethod)
    return true
  }

  /**
   * Checks that errors at the end of a batch are the answers to their calls: alone, the first of them is answered in
   * the same way.
   *
   * @throws BatchRefused when it is answered otherwise
   */
  async #requireAll(
    calls: readonly WrittenCall[],
    answers: readonly RpcAnswer[],
    options: RequestOptions,
  ): Promise<void> {
    const first = doubtedFrom(answers)
    const [call, answer] = first === undefined ? [] : [calls[first], answers[first]]
    if (!call || answer?.kind !== 'error') return
    const alone = await this.#answerAlone(call, options)
    const isSame = !alone || (alone.kind === 'error' && Object.is(alone.error.code, answer.error.code))
    if (isSame) return
    const { host, url } = this.#deps
    const reason = `${errorText(answer.error, url)}, but only to several calls at once`
    throw new BatchRefused(host, reason, first === 0 ? 'calls' : 'answer')
  }

  /** The answer to a call that is sent alone; undefined when there is none. */
  async #answerAlone(call: WrittenCall, options: RequestOptions): Promise<RpcAnswer | undefined> {
    try {
      await this.#admitted(1, options.signal)
      const [answer] = await this.#exchanged([call], options)
      if (answer) this.#deps.outcomeCounts.answered([answer])
      return answer
    } catch (error) {
      if (!(error instanceof EndpointFailure)) throw error
      return undefined
    }
  }

  async #exchanged(calls: readonly WrittenCall[], options: RequestOptions): Promise<readonly RpcAnswer[]> {
    this.#deps.meter?.request(calls.map(({ call }) => call.method))
    const answers = await this.#inTime(calls, options)
    this.#inVain = answers.some(isOfChain) ? 0 : this.#inVain + 1
    return answers
  }

  /** Waits until the calls may be sent. A batch is cut again when the limits changed meanwhile. */
  async #admitted(count: number, signal: AbortSignal): Promise<AdmittedRequest> {
    const { host, rate, time } = this.#deps
    const isGiven = rate.notBeforeMs <= time.nowMs() || this.#isWorthWaiting()
    const sent = isGiven ? await rate.admitted(count, signal) : undefined
    if (sent) return sent
    const seconds = Math.max(1, Math.ceil((rate.notBeforeMs - time.nowMs()) / 1000))
    const text = `limits how often it is asked: not again for ${seconds} s`
    throw new EndpointFailure(host, text, 'rate', rate.notBeforeMs)
  }

  async #inTime(calls: readonly WrittenCall[], { signal, answerMsMax }: RequestOptions): Promise<readonly RpcAnswer[]> {
    const { host, wire, time, reportUnreachable } = this.#deps
    const timeout = time.timeout(answerMsMax)
    try {
      return await wire.send(calls, AbortSignal.any([signal, timeout]))
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof EndpointFailure) || error.kind === 'unreachable') reportUnreachable()
      if (timeout.aborted) throw new TimedOut(host, `did not answer within ${answerMsMax / 1000} s`)
      // Any other error is a defect of ours; its message is not shown, as it might hold the URL.
      throw error instanceof EndpointFailure ? error : new EndpointFailure(host, 'could not be asked')
    }
  }
}

/** Whether a call was refused for the rate. */
function isRefused(outcome: RpcOutcome | undefined): outcome is EndpointFailure {
  return outcome instanceof EndpointFailure && outcome.kind === 'rate'
}
