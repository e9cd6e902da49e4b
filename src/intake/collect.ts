import type { CollectorConfig } from '../config/config.ts'
import type { PinnedBlock } from '../model/block.ts'
import { Fault, type FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { Provenance } from '../model/provenance.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { CollectorDescription, DescribeResult, Runner, RunOutcome } from '../runner/runner.ts'
import { type PastOf, type PastStore, readPasts } from './past.ts'
import { hourFault, metricsOf, validate } from './validate.ts'

/** Validated result of one collector for one hour, not yet stored. */
export interface Collected {
  readonly accepted: readonly Accepted[]
  /** Why it is not complete; absent when every declared label has a value. */
  readonly fault?: Fault
  /** The blocks it was read at. */
  readonly pins: readonly PinnedBlock[]
  /** Origin of the values. Default: not known. */
  readonly provenance?: Provenance
  /** Why labels have no value, by label; empty when the run failed as a whole. */
  readonly failures: Readonly<Record<string, FaultRecord>>
}

/** Asks others about a result before it is stored. */
export interface ResultCheck {
  /**
   * The result after others were asked, where that is needed. Never rejects.
   *
   * @param collected the result by the first run, `outcome`
   */
  confirmed(collector: CollectorConfig, hour: Hour, outcome: RunOutcome, collected: Collected): Promise<Collected>
}

/** Dependencies of `collect`. */
export interface CollectHourDeps {
  readonly runner: Pick<Runner, 'collect'>
  /** History of metrics; absent where nothing is stored, or where it must not count. */
  readonly store: PastStore | undefined
  /** Asks other hosts about the result. Default: no other host is asked. */
  readonly crossCheck?: ResultCheck | undefined
}

/** Runs a collector for an hour and validates the result. Never rejects: a failure is part of the result. */
export async function collect(
  { runner, store, crossCheck }: CollectHourDeps,
  collector: CollectorConfig,
  description: CollectorDescription,
  hour: Hour,
): Promise<Collected> {
  try {
    const outcome = await runner.collect(collector, hour)
    const pastOf = await readPasts(store, metricsOf(collector, hour, description, outcome))
    const collected = checked(collector, description, hour, outcome, pastOf)
    return crossCheck ? await crossCheck.confirmed(collector, hour, outcome, collected) : collected
  } catch (error) {
    return nothing(asFault(error))
  }
}

/** Validates the result of a run. */
export function checked(
  collector: CollectorConfig,
  description: CollectorDescription,
  hour: Hour,
  outcome: RunOutcome,
  pastOf: PastOf,
): Collected {
  const { accepted, failures } = validate(collector, hour, description, outcome, pastOf)
  const fault = hourFault(failures)
  const { pins, provenance } = outcome
  return { accepted, pins, failures, ...(provenance && { provenance }), ...(fault && { fault }) }
}

/** Result of a run without values. */
export function nothing(fault: Fault): Collected {
  return { accepted: [], pins: [], failures: {}, fault }
}

/** Description of a collector whose options fit. @throws Fault when it cannot be loaded, or its options are mistaken */
export function usable(collector: CollectorConfig, description: DescribeResult): CollectorDescription {
  if (description.kind === 'usable') return description
  const [first] = description.mistakes
  const path = first?.path.join('.') ?? ''
  throw new Fault(
    'config',
    `the options of ${collector.id} are wrong: ${path ? `${path}: ` : ''}${first?.message ?? ''}`,
    {
      facts: { mistakes: description.mistakes.length },
      fix: 'run tidegauge check',
    },
  )
}

/** Any thrown value as a Fault; one that is not a Fault came from a collector. */
export function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  return new Fault('collector-threw', error instanceof Error ? error.message : String(error), { cause: error })
}
