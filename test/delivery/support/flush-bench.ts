import type { ProtocolConfig } from '../../../src/config/config.ts'
import { Flush, type FlushDeps } from '../../../src/delivery/flush.ts'
import type { Attempts } from '../../../src/delivery/isolate/pieces.ts'
import type { Sending, Stop } from '../../../src/delivery/isolate/state.ts'
import { ExcludedMetrics, FlushPlan, type PlanDeps } from '../../../src/delivery/plan.ts'
import type { Batch } from '../../../src/model/batch.ts'
import type { Metric } from '../../../src/model/metric.ts'
import { MetricSet } from '../../../src/model/metric-set.ts'
import { type Answer, type Verdict, verdict } from '../../../src/model/verdict.ts'
import type { DeadLetter, MetricKey } from '../../../src/outbox/contract/metrics.ts'
import { asBatch } from '../../model/batches.ts'
import { anHour } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { accepted } from './answers.ts'
import { protocol } from './protocol.ts'

/** The scripted service's answer to a batch; `undefined`: it takes it. */
export type Rule = (batch: Batch, bench: FlushBench) => Answer | undefined

/** Options of a bench that differ from the usual. */
export interface FlushBenchOptions {
  readonly protocols?: readonly ProtocolConfig[]
  /** In quarantine, and left alone. */
  readonly quarantined?: readonly Metric[]
  /** Out of quarantine, to be tried alone. */
  readonly toProbe?: readonly Metric[]
  readonly probes?: readonly Batch[]
  /** RequestSlots of the event loop until an answer is there. The service has decided at once. */
  readonly delayTurns?: () => number
  /** RequestSlots of the event loop until the outbox does what it is asked, and again until its answer is there; default: none. */
  readonly storeTurns?: () => number
}

/**
 * One flush with a service by a rule, and an outbox in memory. It throws where a flush breaks its word: a metric is recorded
 * twice, sent twice at a time, or called dead after another number of attempts than were made.
 */
export class FlushBench {
  readonly pushes: Batch[] = []
  readonly delivered: Metric[] = []
  readonly dead: DeadLetter[] = []
  readonly rejectedProtocols: string[] = []
  readonly quarantined: Metric[] = []
  /** Protocols on which the service was found to fail as a whole. */
  readonly failingProtocols: string[] = []
  readonly registered: string[] = []
  readonly sendings: Sending[] = []
  readonly due: Set<Metric>
  readonly dropped = new Set<Metric>()
  recording: () => void = () => {}
  /** Pushes that are on their way: one of undici's goes out a turn after it was asked for. */
  written = 0
  underWay = 0
  underWayMost = 0
  readonly #byKey: ReadonlyMap<string, Metric>
  readonly #rule: Rule
  readonly #options: FlushBenchOptions
  readonly #sent = new Map<Metric, number>()
  readonly #onTheirWay = new MetricSet()
  readonly #lastAlone = new Map<Metric, Verdict>()

  constructor(due: readonly Metric[], rule: Rule = () => undefined, options: FlushBenchOptions = {}) {
    this.due = new Set(due)
    this.#byKey = new Map(due.map(metric => [`${metric.id} ${metric.hour}`, metric]))
    this.#rule = rule
    this.#options = options
  }

  /** Requests beyond those that would have sufficed if nothing had been wrong. */
  get extraRequests(): number {
    const sent = this.#sent.size
    return this.pushes.length - Math.ceil(sent / 100)
  }

  /** One that was delivered before the flush. */
  earlier: Metric | undefined

  /** Whether anything was delivered before the flush, however long ago. */
  hasDelivered = false

  /** The verdict when a metric was last sent alone. */
  lastAlone(metric: Metric): Verdict | undefined {
    return this.#lastAlone.get(metric)
  }

  get deadMetrics(): Metric[] {
    return this.dead.map(({ metric }) => metric)
  }

  async flush(inFlight = 4): Promise<Stop | undefined> {
    const { protocols = [protocol('vault')], quarantined = [], toProbe = [], probes = [] } = this.#options
    const keptApart = new MetricSet()
    for (const metric of [...quarantined, ...toProbe]) keptApart.add(metric)
    const probesLeft = [...toProbe]
    const recorder: FlushDeps['recorder'] = {
      record: async ({ delivered, dead }, sending) => {
        await new Promise(setImmediate)
        const ownDead = dead.map(entry => ({ ...entry, metric: this.#own([entry.metric])[0] ?? entry.metric }))
        await this.#asked(() => this.#record(this.#own([...delivered]), ownDead, sending))
      },
      quarantineUnregistered: ({ protocolId }) => void this.rejectedProtocols.push(protocolId),
      quarantineProtocol: ({ protocolId }) => void this.failingProtocols.push(protocolId),
      quarantineMetric: metric => void this.quarantined.push(...this.#own([metric])),
      quarantineRejected: ({ protocolId }) => void this.rejectedProtocols.push(protocolId),
    }
    const quarantine: FlushDeps['quarantine'] & PlanDeps['quarantine'] = {
      hasProtocol: id => this.rejectedProtocols.includes(id) || this.failingProtocols.includes(id),
      hasMetric: () => false,
      isSuspect: () => false,
      sendStateOf: metric => (keptApart.has(metric) ? 'waits' : 'free'),
      protocolsToProbe: () => [],
      countFailure: () => {},
      failuresOf: () => 0,
      suspect: () => {},
    }
    const outbox: FlushDeps['outbox'] & PlanDeps['outbox'] = {
      due: ({ protocolIds: ids }, limit) => this.#asked(() => this.#read(ids, limit)),
      dueHour: async () => anHour,
      present: metric => this.#asked(() => metric as Metric),
      stillDue: some => this.#asked(() => some.filter(metric => this.#own([metric]).some(own => this.due.has(own)))),
      lastDelivered: () => this.#asked(() => this.earlier),
      hasDelivered: () => this.#asked(() => this.hasDelivered),
    }
    const sender = {
      batchSizeMax: 100,
      push: (batch: Batch, { attemptsMax }: Attempts) => this.#push(batch, attemptsMax),
      register: async (id: string) => void this.registered.push(id),
    }
    const clock = { latestHour: () => anHour, skewMs: 0 }
    const time = new VirtualTime(anHour)
    const protocolIds = protocols.map(({ id }) => id)
    const parts = { outbox, protocolIds, quarantine, unrecordedMetrics: new ExcludedMetrics(), clock, time }
    const plan = new FlushPlan(parts, false, anHour, probes)
    const quarantineProbes = { newest: async () => [], of: () => async () => probesLeft.shift() }
    return await new Flush(plan, sender, {
      ...{ outbox, recorder, quarantine, quarantineProbes, inFlight },
      destination: { protocols },
    }).run()
  }

  /** The outbox does something, and answers, in its own time. */
  async #asked<T>(act: () => T): Promise<T> {
    await turns(this.#options.storeTurns?.() ?? 0)
    const result = act()
    await turns(this.#options.storeTurns?.() ?? 0)
    return result
  }

  /** A person drops what is due. */
  drop(dropped: readonly Metric[]): void {
    for (const metric of dropped) if (this.due.delete(metric)) this.dropped.add(metric)
  }

  /** Each time other objects, as from a real outbox. */
  #read(ids: readonly string[], limit: number): readonly Metric[] {
    const due = [...this.due].filter(metric => ids.includes(metric.protocolId))
    return due.slice(0, limit).map(metric => ({ ...metric }))
  }

  #own(metrics: readonly MetricKey[]): readonly Metric[] {
    return metrics.map(
      ({ id, hour }) => this.#byKey.get(`${id} ${hour}`) ?? this.earlier ?? fail(`${id} was never due`),
    )
  }

  async #push(copies: Batch, attemptsMax: number): Promise<{ verdict: Verdict; attempts: number }> {
    const batch = asBatch(this.#own(copies))
    this.pushes.push(batch)
    void this.#write()
    for (const metric of batch) {
      if (this.#onTheirWay.has(metric)) throw new Error(`${metric.id} is sent twice at a time`)
      this.#onTheirWay.add(metric)
    }
    this.underWay += 1
    this.underWayMost = Math.max(this.underWayMost, this.underWay)
    const found = verdict(this.#rule(batch, this) ?? accepted(batch.length), copies)
    const attempts = found.kind === 'transient' ? attemptsMax : 1
    for (const metric of batch) this.#sent.set(metric, (this.#sent.get(metric) ?? 0) + attempts)
    await turns(this.#options.delayTurns?.() ?? 1)
    for (const metric of batch) this.#onTheirWay.delete(metric)
    if (batch.length === 1) this.#lastAlone.set(batch[0], found)
    this.underWay -= 1
    return { verdict: found, attempts }
  }

  /** Passes the gate, in so many microtasks, and then waits for the turn in which undici writes. */
  async #write(): Promise<void> {
    for (let left = 20; left > 0; left -= 1) await undefined
    await turns(1)
    this.written += 1
  }

  #record(delivered: readonly Metric[], dead: readonly DeadLetter[], sending: Sending): void {
    this.recording()
    const kept = (metric: Metric) => !this.dropped.has(metric)
    for (const metric of [...delivered, ...dead.map(entry => entry.metric)].filter(kept)) {
      if (!this.due.delete(metric)) throw new Error(`${metric.id} is recorded twice`)
    }
    for (const { metric, attempts } of dead) {
      const sent = this.#sent.get(metric)
      if (attempts !== sent)
        throw new Error(`${metric.id} is dead after ${attempts} attempts, but was sent ${sent} times`)
    }
    const isAgain = delivered.some(metric => (this.#sent.get(metric) ?? 0) > 1)
    if (isAgain && sending === 'first') throw new Error('a metric that was sent before is said to be sent first')
    this.delivered.push(...delivered.filter(kept))
    this.dead.push(...dead.filter(({ metric }) => kept(metric)))
    this.sendings.push(sending)
  }
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await new Promise(setImmediate)
}

function fail(what: string): never {
  throw new Error(what)
}
