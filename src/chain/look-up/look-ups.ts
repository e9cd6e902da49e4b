import { setImmediate } from 'node:timers/promises'
import { BatchScheduler } from '../../edge/batch-scheduler.ts'
import type { Time } from '../../edge/time.ts'
import type { FinalBlocks } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import { beforeFirstBlock, secondsText } from '../endpoint/chain-faults.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointPool, Served } from '../endpoint/endpoint-pool.ts'
import { headCall } from '../endpoint/harmless-calls.ts'
import type { BlockHeader } from '../shapes.ts'
import type { AsOfAnswer } from './as-of.ts'
import { type AsOfSearchResult, type CandidateBlock, findAsOf } from './as-of-search.ts'
import type { HourLookUp, Hours } from './hours.ts'
import { plain } from './known-headers.ts'
import { headAgeMsMax } from './limits.ts'
import type { Pace } from './pace.ts'

/** Questions for the last block that are sent at once to an endpoint whose first answer ends before an hour. */
const headsAskedAtOnce = 3

/** Dependencies of `LookUps`. */
export interface LookUpDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  readonly pool: EndpointPool
  readonly hours: Hours
  readonly finalBlocks: FinalBlocks
  readonly pace: Pace
  /** Delay after an hour until its block counts as final, in milliseconds. */
  readonly settleMs: number
  readonly time: Time
  /** Called with a candidate for the as-of block, in the turn in which it is asked for. */
  readonly onCandidate: (state: HourLookUp, block: CandidateBlock, endpoint: Endpoint) => void
}

/** An hour to look up. */
export interface HourToLookUp {
  readonly state: HourLookUp
  /** Number of its earlier as-of block, to ask for first; absent when unknown. */
  readonly hint?: bigint
}

/** Result for an hour: a Fault when it cannot be answered. */
type LookUpOutcome = Extract<AsOfAnswer, { kind: 'found' }> | Extract<AsOfAnswer, { kind: 'past-head' }> | Fault

/** Looks up as-of blocks. Hours of one event-loop turn are searched together, in the same requests. */
export class LookUps {
  readonly #deps: LookUpDeps
  readonly #scheduler: BatchScheduler<HourToLookUp, LookUpOutcome>
  /** Endpoints whose last block was asked for several times at once. */
  readonly #headsAsked = new WeakSet<Endpoint>()
  #kept: Promise<unknown> = Promise.resolve()
  #nextSearch = Promise.withResolvers<void>()

  constructor(deps: LookUpDeps) {
    this.#deps = deps
    this.#scheduler = new BatchScheduler(
      async (jobs, { signal }) => {
        const outcomes = await this.#search(
          jobs.map(({ request }) => request),
          signal,
        )
        for (const { request, resolve } of jobs) resolve(outcomeOf(outcomes, request))
      },
      { untilComplete: () => this.#announceSearch() },
    )
  }

  /** Resolves once the final blocks that were found so far are kept. */
  get kept(): Promise<unknown> {
    return this.#kept
  }

  /** Resolves in the turn in which the next hours are looked up, so that other requests can be sent with them. */
  get nextSearch(): Promise<void> {
    return this.#nextSearch.promise
  }

  /**
   * The as-of block, or the chain's last block when it is not past the hour yet.
   *
   * @throws Fault when no endpoint can answer, or the chain began later
   */
  async find(wanted: HourToLookUp, signal: AbortSignal): Promise<Exclude<LookUpOutcome, Fault>> {
    const outcome = await this.#scheduler.schedule(wanted, signal)
    if (outcome instanceof Fault) throw outcome
    return outcome
  }

  /** One turn for those who wait for `nextSearch`. */
  async #announceSearch(): Promise<void> {
    await setImmediate()
    this.#nextSearch.resolve()
    this.#nextSearch = Promise.withResolvers<void>()
    await setImmediate()
  }

  async #search(wanted: readonly HourToLookUp[], signal: AbortSignal): Promise<ReadonlyMap<Hour, LookUpOutcome>> {
    // Hours without an endpoint join the others.
    const own = wanted.find(({ state }) => state.endpoint)?.state.endpoint
    const groups = Map.groupBy(wanted, ({ state }) => state.endpoint ?? own)
    const outcomes = await Promise.all(
      [...groups].map(([endpoint, group]) => this.#searchGroup(endpoint, group, signal)),
    )
    return new Map(outcomes.flatMap(found => [...found]))
  }

  /** Searches hours on one endpoint. Hours past the head of a lagging endpoint are searched on another. */
  async #searchGroup(
    preferred: Endpoint | undefined,
    group: readonly HourToLookUp[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Hour, LookUpOutcome>> {
    const { pool, name } = this.#deps
    const served: Served = { part: 'header', ...(preferred && { endpoint: preferred }) }
    const outcomes = new Map<Hour, LookUpOutcome>()
    try {
      await pool.serve(served, signal, async endpoint => {
        const left = group.filter(({ state }) => !outcomes.has(state.hour))
        for (const { state } of left) state.endpoint = endpoint
        const { answers, absent } = await this.#searchPastHead(endpoint, left, signal)
        for (const { state } of left) {
          const answer = answers.get(state.hour)
          if (!answer || answer.kind === 'missing') continue
          if (answer.kind === 'past-head' && this.#isOld(answer.head)) continue
          outcomes.set(
            state.hour,
            answer.kind === 'before-first' ? beforeFirstBlock(name, state.hour, answer.first) : answer,
          )
        }
        const unanswered = left.find(({ state }) => !outcomes.has(state.hour))
        if (!unanswered) return
        const answer = answers.get(unanswered.state.hour)
        if (answer?.kind === 'missing') served.blockNumber = answer.number
        throw incomplete(endpoint, answer, absent)
      })
    } catch (error) {
      // Results of one endpoint stand, even if none can answer the rest.
      if (!(error instanceof Fault)) throw error
      for (const { state } of group) if (!outcomes.has(state.hour)) outcomes.set(state.hour, error)
    }
    return outcomes
  }

  /**
   * Searches; where the endpoint's first answers end before an hour, asks for its last block several times at once and
   * searches again. Behind a balancer the first answer may be that of a lagging node.
   */
  async #searchPastHead(
    endpoint: Endpoint,
    wanted: readonly HourToLookUp[],
    signal: AbortSignal,
  ): Promise<AsOfSearchResult> {
    const isCold = !this.#deps.pace.isKnown && !this.#headsAsked.has(endpoint)
    const found = await this.#searchOn(endpoint, wanted, signal)
    const past = [...found.answers.values()].find(answer => answer.kind === 'past-head')
    if (!past || !isCold) return found
    this.#headsAsked.add(endpoint)
    await Promise.all(Array.from({ length: headsAskedAtOnce }, () => endpoint.callApart([headCall], signal)))
    const last = endpoint.head?.number ?? past.head.number
    return last > past.head.number ? this.#searchOn(endpoint, wanted, signal) : found
  }

  async #searchOn(endpoint: Endpoint, wanted: readonly HourToLookUp[], signal: AbortSignal): Promise<AsOfSearchResult> {
    const { time, pace, onCandidate } = this.#deps
    const states = new Map(wanted.map(({ state }) => [state.hour, state]))
    const hints = new Map(
      wanted.flatMap(({ state, hint }) => (hint === undefined ? [] : [[state.hour, hint] as const])),
    )
    const hours = [...states.keys()].sort((a, b) => a - b)
    const tell = (hour: Hour, block: CandidateBlock) => {
      const state = states.get(hour)
      if (state) onCandidate(state, block, endpoint)
    }
    const known = await this.#seeds(hours)
    // In one turn with the search's first request, so that they are sent together.
    for (const state of states.values()) if (state.head) onCandidate(state, state.head, endpoint)
    const heads = [...states.values()].flatMap(({ head }) => head ?? [])
    const seeds = [...known, ...heads]
    const search = { hours, hints, seeds, nowSeconds: time.nowMs() / 1000, onCandidate: tell }
    const found = await findAsOf(endpoint, search, signal)
    const newest = hours.at(-1)
    if (newest !== undefined) pace.learn(found.known, newest)
    this.#keep(found.answers)
    return found
  }

  /** Known headers around the hours, and as far beyond as the hours are apart: enough to derive the chain's pace. */
  async #seeds(hours: readonly Hour[]): Promise<BlockHeader[]> {
    const { finalBlocks, hours: remembered } = this.#deps
    const [first, last] = [hours[0], hours.at(-1)]
    if (first === undefined || last === undefined) return []
    const count = Math.max(1, (last - first) / hourMs)
    const places = [...new Set([first, last, hourAfter(first, -count), hourAfter(last, count)])]
    const final = await Promise.all(places.map(hour => finalBlocks.around(hour)))
    const seeds = places.flatMap((hour, place): BlockHeader[] => [...(final[place] ?? []), ...remembered.around(hour)])
    return [...new Map(seeds.map(seed => [seed.number, seed])).values()]
  }

  #keep(answers: ReadonlyMap<Hour, AsOfAnswer>): void {
    const { finalBlocks, settleMs, time } = this.#deps
    const isFinal = (hour: Hour) => hour + settleMs <= time.nowMs()
    const found = [...answers].flatMap(([hour, answer]) =>
      answer.kind === 'found' && isFinal(hour) ? [{ hour, block: plain(answer.block) }] : [],
    )
    // A block that is not kept is looked up again: the search does not wait for it.
    if (found.length > 0) this.#kept = Promise.all([this.#kept, finalBlocks.keep(found)]).catch(() => {})
  }

  #isOld({ timestampSeconds }: BlockHeader): boolean {
    return this.#deps.time.nowMs() - timestampSeconds * 1000 > headAgeMsMax
  }
}

function outcomeOf(outcomes: ReadonlyMap<Hour, LookUpOutcome>, { state }: HourToLookUp): LookUpOutcome {
  const outcome = outcomes.get(state.hour)
  if (!outcome) throw new Error('an hour was looked up and has no answer')
  return outcome
}

/** The failure when an endpoint could not answer for an hour. */
function incomplete(
  endpoint: Endpoint,
  answer: AsOfAnswer | undefined,
  absent: ReadonlyMap<bigint, EndpointFailure>,
): EndpointFailure {
  if (answer?.kind === 'missing') {
    const missing = new EndpointFailure(endpoint.host, `does not have block ${answer.number}`)
    return absent.get(answer.number) ?? missing
  }
  const head = answer?.kind === 'past-head' ? answer.head : undefined
  const words = head ? `its last block ${head.number} is of ${secondsText(head.timestampSeconds)}` : 'it says nothing'
  return new EndpointFailure(endpoint.host, `has no block past the hour: ${words}`, 'behind')
}
