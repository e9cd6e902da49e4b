import type { CollectorConfig } from '../../../src/config/config.ts'
import type { ListingClient } from '../../../src/edge/service-client.ts'
import { webLane } from '../../../src/fleet/lane.ts'
import { type AnswerHeaders, answerTimes } from '../../../src/model/answer-times.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, parseHour } from '../../../src/model/hour.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import type { DescribeResult, Runner, RunOutcome } from '../../../src/runner/runner.ts'
import { Fortune } from '../../simulation/chance.ts'
import { sentMetrics } from '../../simulation/service.ts'
import type { FleetLife } from './life.ts'
import { type IllKind, readingOf } from './script.ts'

/** The lane of a collector without a chain is `web`. */
export function laneIn(life: FleetLife, id: string): string {
  return life.world.script.collectors.find(one => one.id === id)?.chain ?? webLane
}

/** Collectors as one life of a daemon runs them. Their nodes write down what they are asked. */
export class FleetRunner implements Runner {
  readonly #life: FleetLife
  readonly #chance: Fortune
  readonly #stopping = new AbortController()
  /** Calls under way. */
  readonly #calls = new Map<string, Promise<void>>()

  constructor(life: FleetLife) {
    this.#life = life
    this.#chance = new Fortune(life.world.script.seed + 1_000 * life.number)
  }

  async describe({ id }: CollectorConfig): Promise<DescribeResult> {
    const own = this.#life.world.script.collectors.find(one => one.id === id)
    return { kind: 'usable', metrics: Object.fromEntries((own?.labels ?? []).map(label => [label, {}])), history: true }
  }

  async collect({ id }: CollectorConfig, hour: Hour): Promise<RunOutcome> {
    const { script } = this.#life.world
    const lane = laneIn(this.#life, id)
    this.#life.note({ kind: 'read', collector: id, lane, hour })
    await this.#call(lane, hour)
    if (this.#chance.is(script.failing)) {
      this.#life.note({ kind: 'failed', collector: id, lane, hour })
      throw new Fault('collector-threw', 'this run failed')
    }
    const labels = script.collectors.find(one => one.id === id)?.labels ?? []
    const readings = Object.fromEntries(labels.map(label => [label, readingOf(script.seed, id, label, hour)]))
    return { readings, failures: {}, pins: [] }
  }

  /** Reads of an hour of a chain that begin together are one call of its node. */
  async #call(lane: string, hour: Hour): Promise<void> {
    const life = this.#life
    const name = lane === webLane ? '' : `${lane} ${hour} ${life.time.steadyMs()}`
    const call = this.#calls.get(name) ?? life.time.sleep(this.#readMs(), this.#stopping.signal)
    if (lane === webLane) return call
    if (!this.#calls.has(name)) life.note({ kind: 'asked', lane, hour })
    this.#calls.set(name, call)
    return call
  }

  #readMs(): number {
    return Math.ceil(this.#chance.between(50, this.#life.world.script.readMsMax))
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Fault('stopped', 'stopped'))
  }
}

/** An answer of the service. */
interface ServiceAnswer {
  readonly status: number
  readonly body: unknown
  readonly headers?: AnswerHeaders
}

const well = (body: unknown): ServiceAnswer => ({ status: 200, body })

const illAnswers = {
  busy: { status: 503, body: { error: 'try again later' } },
  'slow-down': { status: 429, body: { error: 'too many requests' }, headers: { 'retry-after': '2' } },
} as const satisfies Partial<Record<IllKind, ServiceAnswer>>

/** The way of one life of a daemon to the service. A request arrives also when it dies meanwhile. */
export class FleetClient implements ListingClient {
  readonly host = 'metrics.example'
  readonly #life: FleetLife

  constructor(life: FleetLife) {
    this.#life = life
  }

  push(body: string, key: string, stop: AbortSignal): Promise<Answer> {
    const values = sentMetrics(body).map(({ id, timestamp, value }) => ({
      metric: id,
      hour: parseHour(timestamp),
      value,
    }))
    const { world, name } = this.#life
    const answer = this.#answered(() => {
      const ill = world.service.take(name, key, values)
      if (ill === 'lost') return undefined
      if (ill) return illAnswers[ill]
      return well({ success: true, processed: values.length, errors: [], warnings: [] })
    })
    const { promise: broken, resolve } = Promise.withResolvers<Answer>()
    stop.addEventListener('abort', () => resolve({ kind: 'unanswered', reason: 'no answer (AbortError)' }))
    return Promise.race([answer, broken])
  }

  register({ id }: { readonly id: string }): Promise<Answer> {
    return this.#answered(() => well({ id }))
  }

  validateKey(): Promise<Answer> {
    return this.#answered(() => well({ valid: true }))
  }

  stored(): Promise<Answer> {
    return this.#answered(() => well({}))
  }

  latest(): Promise<Answer> {
    return this.#answered(() => well({}))
  }

  async widget(): Promise<[]> {
    return []
  }

  async close(): Promise<void> {}

  /** @param arrives answers when the request arrives; the answer gets lost when there is none */
  #answered(arrives: () => ServiceAnswer | undefined): Promise<Answer> {
    const life = this.#life
    const { clock, script } = life.world
    const sentMs = life.time.nowMs()
    return new Promise(resolve => {
      clock.after(script.answerMs / 2, () => {
        const answer = arrives()
        const date = new Date(clock.nowMs()).toUTCString()
        clock.after(script.answerMs / 2, () =>
          life.go(() => {
            if (!answer) return resolve({ kind: 'unanswered', reason: 'no answer (ECONNRESET)' })
            const { status, body, headers } = answer
            const trip = { sentMs, receivedMs: life.time.nowMs() }
            resolve({ kind: 'answered', status, body, ...answerTimes({ date, ...headers }, trip) })
          }),
        )
      })
    })
  }
}
