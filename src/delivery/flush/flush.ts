import type { Stop } from '../gate/stop.ts'
import type { FlushEvent } from '../isolate/events.ts'
import { attemptsMax } from '../isolate/limits.ts'
import { fresh, type Part } from '../isolate/parts.ts'
import { reduce } from '../isolate/reduce.ts'
import { areAttemptsUsed, type FlushState, initialState } from '../isolate/state.ts'
import type { FlushDeps } from './deps.ts'
import { Effects } from './effects.ts'

/**
 * One flush of one destination: pushes all due metrics, with a bounded number of concurrent lanes. `reduce` decides
 * what an answer means for the rest; the lane that was answered executes it. Pushes under way are known in memory only:
 * the outbox stores verdicts.
 */
export class Flush {
  readonly #deps: FlushDeps
  readonly #effects: Effects
  #state: FlushState
  /** Pushes under way of parts that go after everything else. */
  #lastUnderWay = 0
  #failure: { readonly error: unknown } | undefined

  constructor(deps: FlushDeps) {
    this.#deps = deps
    this.#effects = new Effects(deps, event => this.#happened(event))
    const registrable = deps.protocols.filter(({ register }) => register).map(({ id }) => id)
    this.#state = initialState({ registrable, attemptsMax: deps.probe ? 1 : attemptsMax })
  }

  /**
   * Runs the flush. Rejects with errors of the outbox or a stop, once no push is under way.
   *
   * @returns why it stopped; `undefined` when nothing was left to send
   */
  async run(): Promise<Stop | undefined> {
    const { probe, toProbe } = this.#deps
    if (probe) this.#effects.worklist.putFirst([fresh(probe, 1)])
    // Pushes go one by one until one is accepted: that tests whether the service is up and accepts metrics at all.
    // After a failure others are sent concurrently, as the service may fail, slowly, on this one alone.
    while (!this.#state.knownGood && this.#state.attempts.used === 0) {
      const part = this.#next()
      if (!part) break
      await this.#send(part)
    }
    await this.#drain()
    while (!this.#state.stop) {
      const metric = toProbe()
      if (!metric) break
      await this.#send({ ...fresh([metric], 1), isProbe: true })
      await this.#drain()
    }
    if (!this.#state.stop) await this.#tell({ kind: 'concluding' })
    await this.#tell({ kind: 'ending' })
    if (this.#failure) throw this.#failure.error
    return this.#state.stop
  }

  /** Sends everything, then the parts that had to wait. */
  async #drain(): Promise<void> {
    for (let isOver = false; !isOver; ) {
      while (!this.#isOver && this.#effects.worklist.hasMore()) await this.#sendAll()
      isOver = this.#state.stop !== undefined || this.#state.undecided.length === 0
      if (!isOver) await this.#tell({ kind: 'drained' })
    }
  }

  /** Sends with all lanes: a lane that is done takes the next part, or one of those its part was split into. */
  async #sendAll(): Promise<void> {
    const underWay = new Set<Promise<void>>()
    const start = () => {
      while (underWay.size < this.#deps.inFlight) {
        const part = this.#next()
        if (!part) return
        const push = this.#send(part).finally(() => {
          underWay.delete(push)
          start()
        })
        underWay.add(push)
      }
    }
    start()
    while (underWay.size > 0) await Promise.race(underWay)
  }

  get #isOver(): boolean {
    return this.#state.stop !== undefined || areAttemptsUsed(this.#state)
  }

  #next(): Part | undefined {
    if (this.#isOver) return undefined
    // One lane is reserved for fresh metrics.
    return this.#effects.worklist.next(this.#lastUnderWay < Math.max(1, this.#deps.inFlight - 1))
  }

  async #send(part: Part): Promise<void> {
    this.#lastUnderWay += part.isLast ? 1 : 0
    await this.#tell({ kind: 'taken', part })
    this.#lastUnderWay -= part.isLast ? 1 : 0
  }

  /**
   * Reports an event. An error ends the flush once the other lanes have ended: nothing may be under way when it
   * rejects.
   */
  async #tell(event: FlushEvent): Promise<void> {
    try {
      await this.#happened(event)
    } catch (error) {
      this.#failure ??= { error }
      await this.#happened({ kind: 'broken', stop: { kind: 'stopped', reason: 'the flush failed' } })
    }
  }

  /** Resolves when all consequences of an event are done, one after the other. */
  async #happened(event: FlushEvent): Promise<void> {
    const { state, actions } = reduce(this.#state, event)
    this.#state = state
    for (const action of actions) await this.#effects.run(action)
  }
}
