import { nextTurn } from '../../edge/next-turn.ts'
import type { Metric } from '../../model/metric.ts'
import { MetricSet } from '../../model/metric-set.ts'
import type { Stop } from '../gate/stop.ts'
import type { FlushAction } from '../isolate/actions.ts'
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
  /** Metrics sent as probes, and those of the newest hour tried out of quarantine: none is sent twice for that. */
  readonly #probed = new MetricSet()
  #failure: { readonly error: unknown } | undefined

  constructor(deps: FlushDeps) {
    this.#deps = deps
    this.#effects = new Effects(deps, event => this.#happened(event))
    const registrable = deps.protocols.filter(({ register }) => register).map(({ id }) => id)
    this.#state = initialState({
      registrable,
      attemptsMax: deps.probes.length || attemptsMax,
      isTriedApart: deps.probes.length > 0,
    })
  }

  /**
   * Runs the flush. Rejects with errors of the outbox or a stop, once no push is under way.
   *
   * @returns why it stopped; `undefined` when nothing was left to send
   */
  async run(): Promise<Stop | undefined> {
    const { probes, toProbe } = this.#deps
    for (const probe of probes) for (const metric of probe) this.#probed.add(metric)
    await this.#probeNewest()
    for (const probe of probes) {
      if (this.#state.knownGood) break
      this.#effects.worklist.putFirst([fresh(probe, 1)])
      await this.#sendNext()
    }
    // Pushes go one by one until one is accepted: that tests whether the service is up and accepts metrics at all.
    // After a failure others are sent concurrently, as the service may fail, slowly, on this one alone.
    while (!this.#state.knownGood && this.#state.attempts.used === 0) {
      if (!(await this.#sendNext())) break
    }
    await this.#drain()
    while (!this.#state.stop) {
      const metric = await toProbe()
      if (!metric) break
      await this.#send(asProbe(metric))
      await this.#drain()
    }
    if (!this.#state.stop) await this.#tell({ kind: 'concluding' })
    await this.#tell({ kind: 'ending' })
    if (this.#failure) throw this.#failure.error
    return this.#state.stop
  }

  /** Sends one part. Resolves to whether there was one. */
  async #sendNext(): Promise<boolean> {
    const [part] = await this.#take(1)
    if (part) await this.#send(part)
    return part !== undefined
  }

  /** Sends everything, then the parts that had to wait. */
  async #drain(): Promise<void> {
    for (;;) {
      await this.#sendAll()
      if (this.#state.stop || this.#state.undecided.length === 0) return
      await this.#tell({ kind: 'drained' })
    }
  }

  /**
   * Sends with all lanes until nothing is left and nothing is under way. A free lane gets the next part, or one of those
   * that another lane's part was split into.
   */
  async #sendAll(): Promise<void> {
    let [underWay, ended] = [0, 0]
    let oneEnds: (() => void) | undefined
    const lane = async (part: Part) => {
      underWay += 1
      try {
        await this.#send(part)
      } finally {
        underWay -= 1
        ended += 1
        oneEnds?.()
        oneEnds = undefined
      }
    }
    for (;;) {
      const endedBefore = ended
      const parts = underWay < this.#deps.inFlight ? await this.#take(this.#deps.inFlight - underWay) : []
      for (const [place, part] of parts.entries()) {
        if (this.#isOver) {
          this.#effects.worklist.putBack(parts.slice(place))
          break
        }
        void lane(part)
      }
      if (underWay === 0 && ended === endedBefore) return
      // A lane that ended while parts were taken may have put some first.
      if (parts.length > 0 || ended !== endedBefore) continue
      // While all wait for the service: a push that is answered is followed by one that is ready.
      if (underWay === this.#deps.inFlight) {
        await untilWritten()
        if (ended === endedBefore) await this.#readAhead(underWay)
      }
      if (ended !== endedBefore) continue
      await new Promise<void>(resolve => {
        oneEnds = resolve
      })
    }
  }

  get #isOver(): boolean {
    return this.#state.stop !== undefined || areAttemptsUsed(this.#state)
  }

  /** Takes parts, unless nothing more may be sent. */
  async #take(count: number): Promise<readonly Part[]> {
    if (this.#isOver) return []
    // One lane is reserved for fresh metrics.
    const lastMax = Math.max(1, this.#deps.inFlight - 1) - this.#lastUnderWay
    try {
      return await this.#effects.worklist.take(count, Math.max(0, lastMax))
    } catch (error) {
      await this.#fail(error)
      return []
    }
  }

  async #readAhead(count: number): Promise<void> {
    try {
      await this.#effects.worklist.readAhead(count)
    } catch (error) {
      await this.#fail(error)
    }
  }

  async #send(part: Part): Promise<void> {
    if (part.isLast) return await this.#sendLast(part)
    await this.#tell({ kind: 'taken', part })
    // A protocol may have left quarantine, and of its metrics some are still in it.
    if (part.isProbe) await this.#probeNewest()
  }

  /** Metrics of the newest hour in quarantine are tried before older hours, each once. */
  async #probeNewest(): Promise<void> {
    try {
      const newest = (await this.#deps.newestToProbe()).filter(metric => !this.#probed.has(metric))
      for (const metric of newest) this.#probed.add(metric)
      this.#effects.worklist.putBeforeOlder(newest.map(asProbe))
    } catch (error) {
      await this.#fail(error)
    }
  }

  async #sendLast(part: Part): Promise<void> {
    this.#lastUnderWay += 1
    await this.#tell({ kind: 'taken', part })
    this.#lastUnderWay -= 1
  }

  /** Reports an event. */
  async #tell(event: FlushEvent): Promise<void> {
    try {
      await this.#happened(event)
    } catch (error) {
      await this.#fail(error)
    }
  }

  /** Ends the flush once the other lanes have ended: nothing may be under way when it rejects. */
  async #fail(error: unknown): Promise<void> {
    this.#failure ??= { error }
    await this.#happened({ kind: 'broken', stop: { kind: 'stopped', reason: 'the flush failed' } })
  }

  /** The promise, if there are consequences of an event, resolves when all are done, one after the other. */
  #happened(event: FlushEvent): Promise<void> | void {
    const { state, actions } = reduce(this.#state, event)
    this.#state = state
    // Mostly there is one at most, and a lane waits for each promise between its commit and its next push.
    const [first] = actions
    if (first) return actions.length === 1 ? this.#effects.run(first) : this.#run(actions)
  }

  async #run(actions: readonly FlushAction[]): Promise<void> {
    for (const action of actions) {
      const running = this.#effects.run(action)
      if (running) await running
    }
  }
}

/** A part that tries a metric out of quarantine. */
function asProbe(metric: Metric): Part {
  return { ...fresh([metric], 1), isProbe: true }
}

/** Resolves once what was sent is on its way: undici looks for a turn whether a connection that was idle still lives. */
async function untilWritten(): Promise<void> {
  await nextTurn()
  await nextTurn()
}
