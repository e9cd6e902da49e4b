import type { CollectorConfig } from '../config/config.ts'
import type { PinnedBlock } from '../model/block.ts'
import { Fault, type FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { Provenance } from '../model/provenance.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { CollectorDescription, DescribeResult, RunOutcome } from '../runner/runner.ts'
import type { PastOf } from './past.ts'
import { hourFault, validate } from './validate.ts'

/** A collector and an hour to read. */
export interface HourToRead {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
  readonly hour: Hour
}

/** Validated result of one collector for one hour, not yet stored. */
export interface Collected {
  readonly accepted: readonly Accepted[]
  /** Why it is not complete; absent when every declared label has a value. */
  readonly fault?: Fault
  /** The blocks it was read at. */
  readonly pins: readonly PinnedBlock[]
  /** Origin of the values. Default: not known. */
  readonly provenance?: Provenance
  /** Sentences about hosts that others contradict. Default: none is contradicted. */
  readonly contradicted?: readonly string[]
  /** Why labels have no value, by label; empty when the run failed as a whole. */
  readonly failures: Readonly<Record<string, FaultRecord>>
}

/** Validates the result of a run. */
export function checked({ collector, description, hour }: HourToRead, outcome: RunOutcome, pastOf: PastOf): Collected {
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
