import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import { hourText } from '../model/hour.ts'
import type { DescribeResult, Runner } from '../runner/runner.ts'
import type { Log } from '../telemetry/log.ts'
import { asFault, type Collected, type HourToRead, nothing } from './collect.ts'
import { type AskedRun, answered, type ComparedChain, judged, type RunAnswer, type WrongHost } from './cross-check.ts'
import { type HourClock, objection } from './hour-clock.ts'
import { type PastStore, readPasts, WindowPast } from './past.ts'
import { metricsOf } from './validate.ts'

/** Dependencies of `HourReader`. */
export interface HourReaderDeps {
  readonly runner: Runner
  /** Each reads an hour from endpoints of other hosts than those before it. */
  readonly elsewhere: readonly Pick<Runner, 'collect' | 'stop'>[]
  /** The chains that have endpoints of several hosts. */
  readonly chains: readonly ComparedChain[]
  /** The current hour: a collector that reads only the present is asked for no other. */
  readonly clock: HourClock
  readonly log: Log
}

/** A run that was asked for, and how far it is. */
interface HourUnderWay {
  readonly run: HourToRead
  readonly first: RunAnswer | Fault
  readonly opinions: readonly RunAnswer[]
  readonly silence?: Fault
  readonly isReadAgain: boolean
  /** Sentences about hosts that were contradicted before it was read again. */
  readonly contradicted: readonly string[]
}

/**
 * The only way to read an hour, whatever is made of it: it runs the collector, validates the result by its bounds and
 * its history, and asks other hosts where `agree` or a jump demands it.
 */
export class HourReader {
  readonly #deps: HourReaderDeps

  constructor(deps: HourReaderDeps) {
    this.#deps = deps
  }

  /** Loads the collector. Rejects with Fault `collector-unusable` (or `collector-hung`) when it cannot be loaded. */
  describe(collector: CollectorConfig): Promise<DescribeResult> {
    return this.#deps.runner.describe(collector)
  }

  /** Ends every process; resolves when they have ended. */
  async stop(): Promise<void> {
    const { runner, elsewhere } = this.#deps
    await Promise.all([runner, ...elsewhere].map(one => one.stop()))
  }

  /** Reads one hour of one collector. Rejects with the outbox's error alone. */
  async collect(run: HourToRead, pasts: PastStore): Promise<Collected> {
    const [collected] = await this.collectTogether([run], pasts)
    return collected ?? nothing(new Fault('stopped', 'it was not read'))
  }

  /**
   * Starts runs in one turn, so that their reads share requests, and so for each further host. Whether a value is held
   * does not depend on how many are read together. Rejects with the outbox's error alone.
   *
   * @param runs of a collector in the order of their hours
   * @returns the results in the order of the runs
   */
  async collectTogether(runs: readonly HourToRead[], pasts: PastStore): Promise<Collected[]> {
    let readings = await Promise.all(runs.map(run => this.#begun(run)))
    for (;;) {
      const judgements = await this.#judged(readings, pasts)
      this.#quarantine(judgements.flatMap(({ next, wrong = [] }) => (next === 'again' ? wrong : [])))
      if (judgements.every(({ next }) => next === undefined)) {
        this.#quarantine(judgements.flatMap(({ wrong = [] }) => wrong))
        return judgements.map(({ collected, confirmed = [], wrong = [] }, place) => {
          for (const { metric, hold } of confirmed) this.#logConfirmed(metric.id, hold?.reason, readings[place])
          const contradicted = [...(readings[place]?.contradicted ?? []), ...reasonsOf(wrong)]
          return { ...this.#inTime(collected, runs[place]), ...(contradicted.length > 0 && { contradicted }) }
        })
      }
      const asked = readings.map((reading, place) => {
        const { next, wrong = [] } = judgements[place] ?? {}
        if (next === 'again') return this.#begun(reading.run, reasonsOf(wrong))
        return next === 'another' ? this.#another(reading) : reading
      })
      readings = await Promise.all(asked)
    }
  }

  async #begun(run: HourToRead, contradicted: readonly string[] = []): Promise<HourUnderWay> {
    const { runner, clock } = this.#deps
    const { collector, description, hour } = run
    const early = objection(clock, description, hour)
    const result = early ?? (await runner.collect(collector, hour).catch((error: unknown) => asFault(error)))
    const first = answered(run, result, this.#hostsOf(run, 0))
    return { run, first, opinions: [], isReadAgain: contradicted.length > 0, contradicted }
  }

  /** Asks an endpoint of one more host. */
  async #another(reading: HourUnderWay): Promise<HourUnderWay> {
    const { run, first, opinions } = reading
    const place = opinions.length
    const runner = this.#deps.elsewhere[place]
    if (!runner || first instanceof Fault) return reading
    const result = await runner.collect(run.collector, run.hour).catch((error: unknown) => asFault(error))
    const opinion = answered(run, result, this.#hostsOf(run, place + 1))
    if (opinion instanceof Fault) return { ...reading, silence: opinion }
    const before = [first, ...opinions].flatMap(({ hosts }) => Object.entries(hosts))
    const twice = before.find(([id, host]) => opinion.hosts[id] === host)
    // The first run may have moved on to that host meanwhile: it has no second opinion.
    if (twice) return { ...reading, silence: new Fault('chain-unreachable', `no other host than ${twice[1]} answers`) }
    return { ...reading, opinions: [...opinions, opinion] }
  }

  #hostsOf({ hour }: HourToRead, run: number): Record<string, string> {
    return Object.fromEntries(
      this.#deps.chains.flatMap(chain => {
        const host = chain.servedBy(hour, run)
        return host === undefined ? [] : [[chain.id, host]]
      }),
    )
  }

  async #judged(readings: readonly HourUnderWay[], pasts: PastStore) {
    const { chains, elsewhere } = this.#deps
    const metrics = readings.flatMap(({ run: { collector, hour, description }, first }) =>
      first instanceof Fault ? [] : metricsOf(collector, hour, description, first),
    )
    const past = new WindowPast(await readPasts(pasts, metrics))
    return readings.map(reading => {
      const { first, opinions, silence } = reading
      if (first instanceof Fault) return { collected: nothing(first) }
      const isMore = !silence && opinions.length < elsewhere.length
      const asked: AskedRun = { ...reading, first, isMore }
      const judgement = judged(asked, chains, past.of)
      past.add(judgement.collected.accepted)
      return judgement
    })
  }

  /** A result that came when the hour had passed is of another hour, where its collector reads only the present. */
  #inTime(collected: Collected, run: HourToRead | undefined): Collected {
    const late = run && objection(this.#deps.clock, run.description, run.hour)
    return late ? nothing(collected.fault ?? late) : collected
  }

  /** One line for each host, however many hours it served. */
  #quarantine(wrong: readonly WrongHost[]): void {
    for (const { chain, host, run, reason } of wrong) chain.quarantine(host, run.hour, reason)
    for (const [one, ...more] of Map.groupBy(wrong, ({ chain, host }) => `${chain.name} ${host}`).values()) {
      if (!one) continue
      const { chain, host, run, reason } = one
      const facts = { chain: chain.name, endpoint: host, collector: run.collector.id, hour: hourText(run.hour), reason }
      this.#deps.log.error(
        { ...facts, ...(more.length > 0 && { hours: more.length + 1 }) },
        'endpoint in quarantine: another host answers otherwise, the hour is read again',
      )
    }
  }

  #logConfirmed(metric: string, reason: string | undefined, reading: HourUnderWay | undefined): void {
    if (!reading || reading.first instanceof Fault) return
    const endpoint = Object.values(reading.first.hosts).join(', ')
    const facts = { metric, hour: hourText(reading.run.hour), reason, endpoint }
    this.#deps.log.warn(facts, 'a jump is confirmed by an endpoint of another host: it is sent')
  }
}

function reasonsOf(wrong: readonly WrongHost[]): string[] {
  return wrong.map(({ host, reason }) => `${host} is contradicted: ${reason}`)
}
