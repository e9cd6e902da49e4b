import type { CollectorConfig } from '../config/config.ts'
import type { PinnedBlock } from '../model/block.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { Accepted } from '../outbox/tables/metrics.ts'
import type { CollectorDescription, DescribeResult, Runner, RunOutcome } from '../runner/runner.ts'
import { hourFault, type PastOf, validate } from './validate.ts'

/** What one collector came to for one hour, validated, not yet stored. */
export interface Collected {
  readonly accepted: readonly Accepted[]
  /** Why it is not complete; absent when every declared label has a value. */
  readonly fault?: Fault
  /** The blocks it was read at. */
  readonly pins: readonly PinnedBlock[]
  /** By label; empty when the run failed as a whole. */
  readonly failures: Readonly<Record<string, Fault['message']>>
}

/** What collecting works with: where collectors run, and what is known of their metrics. */
export interface CollectWith {
  readonly runner: Pick<Runner, 'collect'>
  readonly pastOf: PastOf
}

/** Runs a collector for an hour and checks what it gave. Never rejects: a failure is part of the result. */
export async function collect(
  { runner, pastOf }: CollectWith,
  collector: CollectorConfig,
  description: CollectorDescription,
  hour: Hour,
): Promise<Collected> {
  try {
    return checked(collector, description, hour, await runner.collect(collector, hour), pastOf)
  } catch (error) {
    return nothing(asFault(error))
  }
}

/** What a run gave, validated. */
export function checked(
  collector: CollectorConfig,
  description: CollectorDescription,
  hour: Hour,
  outcome: RunOutcome,
  pastOf: PastOf,
): Collected {
  const { accepted, failures } = validate(collector, hour, description, outcome, pastOf)
  const fault = hourFault(failures)
  const messages = Object.fromEntries(Object.entries(failures).map(([label, { message }]) => [label, message]))
  return { accepted, pins: outcome.pins, failures: messages, ...(fault && { fault }) }
}

/** A run that gave nothing. */
export function nothing(fault: Fault): Collected {
  return { accepted: [], pins: [], failures: {}, fault }
}

/** @throws Fault when the collector cannot be loaded, or its options are mistaken */
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

/** Anything thrown as a Fault; what is none was thrown by a collector. */
export function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  return new Fault('collector-threw', error instanceof Error ? error.message : String(error), { cause: error })
}
