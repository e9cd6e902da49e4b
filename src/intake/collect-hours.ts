import type { CollectorConfig } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import { notFinal } from '../model/block.ts'
import type { EarliestMs } from '../model/clock.ts'
import { Fault, type FaultRecord, faultLine, isPermanent } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import type { Recorded } from '../outbox/contract/hours.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import type { Log } from '../telemetry/log.ts'
import type { HourClock } from './hour-clock.ts'
import { type HourOutcome, outcomeOf, type Purpose } from './hour-outcome.ts'
import type { HourReader } from './hour-reader.ts'
import { asFault, type Collected, nothing, type PastStore, storedPart } from './validate.ts'

/** An hour of a collector to collect, whichever source it comes from. */
export interface HourToCollect {
  readonly collector: CollectorConfig
  /** A Fault where the collector cannot be loaded: that is the result of the hour. */
  readonly description: CollectorDescription | Fault
  readonly hour: Hour
  /** Attempts so far. */
  readonly attempts: number
  /** Fault of the last attempt; absent without one. */
  readonly fault?: FaultRecord
}

/** Result of reading an hour, not yet stored. */
export interface HourReading {
  readonly result: Collected
  /** The earliest that the reading can have begun, as in `isFinal`. */
  readonly begunMs: EarliestMs | undefined
}

/** Reading of an hour, and its outcome. */
export interface HourResult extends HourReading {
  readonly outcome: HourOutcome
  /** Effect on the stored values; none where nothing was recorded. */
  readonly recorded: Recorded
}

/** Dependencies of `HourPipeline`. */
interface PipelineDeps {
  readonly reader: HourReader
  readonly clock: Pick<HourClock, 'earliestMs'>
  /** The configured chains: what is read at a block that is not final is looked at again. */
  readonly chains: readonly { readonly id: number; readonly settleMs: number }[]
  readonly time: Pick<Time, 'nowMs' | 'chance'>
  readonly log: Log
}

/** The part of the outbox that hours are stored in. */
export type HourStore = Pick<IntakeStore, 'record' | 'recordGap' | 'forgetPins'>

const unchanged: Recorded = { corrected: 0, added: 0 }

/**
 * The one way from an hour to its values: read, compare the blocks with what is final, decide what becomes of the hour,
 * store. The daemon, `collect`, `backfill` and the check of blocks are sources of hours; each says why it collects them.
 */
export class HourPipeline {
  /** Reads hours, and loads collectors. */
  readonly reader: HourReader
  readonly #deps: Omit<PipelineDeps, 'reader'>

  constructor({ reader, ...deps }: PipelineDeps) {
    this.reader = reader
    this.#deps = deps
  }

  /**
   * Reads hours together and stores nothing. Rejects with the outbox's error alone.
   *
   * @param hours of a collector in the order of their hours
   * @returns the results in the order of the hours
   */
  async read<H extends HourToCollect>(hours: readonly H[], pasts: PastStore): Promise<(H & HourReading)[]> {
    const begunMs = this.#deps.clock.earliestMs
    const runs = hours.flatMap(({ collector, description, hour }) =>
      description instanceof Fault ? [] : [{ collector, description, hour }],
    )
    const results = (await this.reader.collectTogether(runs, pasts)).values()
    return hours.map(hour => {
      const { description } = hour
      const result = description instanceof Fault ? nothing(description) : results.next().value
      return { ...hour, begunMs, result: result ?? nothing(new Fault('stopped', 'it was not read')) }
    })
  }

  /** Stores a result, as the purpose of the hour demands. Rejects with the outbox's error. */
  async record<H extends HourToCollect & HourReading>(
    hourRead: H,
    purpose: Purpose,
    intake: HourStore,
  ): Promise<H & HourResult> {
    const { time, chains } = this.#deps
    const { collector, hour, result, begunMs } = hourRead
    const nowMs = time.nowMs()
    const outcome = outcomeOf(hourRead, result, purpose, { nowMs, chance: time.chance() })
    let recordResult = unchanged
    if (outcome.kind === 'gap') await intake.recordGap(collector.id, hour, outcome.fault)
    if (outcome.kind === 'given-up') await intake.forgetPins(collector.id, hour)
    if (outcome.kind === 'stored') {
      const { kind: _, ...recordOptions } = outcome
      const pins = notFinal(result.pins, hour, chains, begunMs)
      const values = storedPart({ ...result, pins })
      recordResult = await intake.record({ collector: collector.id, hour, ...values, ...recordOptions }, nowMs)
    }
    const ended = { ...hourRead, outcome, recorded: recordResult }
    if (purpose.kind === 'due') this.#log(ended)
    return ended
  }

  /**
   * Reads hours and stores each. Rejects with the outbox's error, after the others are stored.
   *
   * @param stopSignal a fault that it has caused is not the hour's own: nothing is stored of it
   * @returns the results of the other hours
   */
  async collect<H extends HourToCollect>(
    hours: readonly H[],
    purpose: Purpose,
    intake: HourStore & PastStore,
    stopSignal: AbortSignal,
  ): Promise<(H & HourResult)[]> {
    const read = await this.read(hours, intake)
    const left = read.filter(({ result }) => !(result.fault && stopSignal.aborted))
    const ends = await Promise.allSettled(left.map(one => this.record(one, purpose, intake)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return ends.flatMap(end => (end.status === 'fulfilled' ? [end.value] : []))
  }

  #log(end: HourToCollect & HourResult): void {
    const { collector, hour, attempts, outcome } = end
    const { acceptedValues, fault } = end.result
    const { log } = this.#deps
    const facts = { collector: collector.id, hour: hourText(hour), metrics: acceptedValues.length }
    if (outcome.kind === 'gap') {
      log.error({ ...facts, fault: faultLine(outcome.fault) }, 'an hour that cannot be collected: a gap')
    } else if (outcome.kind === 'stored' && outcome.failure && fault) {
      const level = fault.code === 'chain-behind' ? 'debug' : isPermanent(fault) ? 'error' : 'warn'
      const nextAttempt = new Date(outcome.failure.nextAttemptMs).toISOString()
      log[level]({ ...facts, fault: faultLine(fault), attempt: attempts + 1, nextAttempt }, 'not collected')
    }
    // A further attempt at the rest of the hour does not hold its values again.
    if (end.recorded.added + end.recorded.corrected === 0) return
    for (const { metric, hold } of acceptedValues) {
      if (!hold) continue
      const held = { metric: metric.id, hour: hourText(hour), reason: hold.reason }
      log.warn(held, 'metric held, not sent: see tidegauge held ls')
    }
  }
}

/** The description of a collector, or the Fault by which it cannot be loaded. Never rejects. */
export function descriptionOr(description: Promise<CollectorDescription>): Promise<CollectorDescription | Fault> {
  return description.catch(asFault)
}
