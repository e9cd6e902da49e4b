import type { OptionMistake } from '../../config/config.ts'
import { Fault, type FaultRecord } from '../../model/fault.ts'
import type { MetricSpec } from '../../model/metric.ts'
import type { DescribedToDaemon, LogLine, TaskEnd } from '../messages.ts'
import type { RunOutcome } from '../runner.ts'

/** Removes known secrets from texts. */
export interface Redacting {
  /** Makes secrets known. */
  add(secrets: readonly string[]): void
  /** Replaces known secrets in a text. */
  redact(text: string): string
}

/** Default of a runner: no secret is known. */
export const knowsNone: Redacting = { add: () => {}, redact: text => text }

/** The end of a run without secrets, which a collector may have put into any text of it. */
export function redactedEnd(end: TaskEnd, by: Redacting): TaskEnd {
  if (end.kind === 'faulted') return { ...end, fault: redactedFault(end.fault, by) }
  // Digits alone, and what was made without secrets.
  if (end.kind === 'priced' || end.kind === 'schema') return end
  if (end.kind === 'collected') return { ...end, outcome: redactedOutcome(end.outcome, by) }
  return { ...end, description: redactedDescription(end.description, by) }
}

/** A log line of a collector without secrets. */
export function redactedLine(line: LogLine, by: Redacting): LogLine {
  return { ...line, message: by.redact(line.message), facts: redactedFacts(line.facts, by) }
}

function redactedFault({ code, message, facts, fix }: FaultRecord, by: Redacting): FaultRecord {
  const said = { code, message: by.redact(message), facts: redactedFacts(facts, by) }
  return fix === undefined ? said : { ...said, fix: by.redact(fix) }
}

function redactedFacts<V>(facts: Readonly<Record<string, V>>, by: Redacting): Record<string, V | string> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      by.redact(name),
      typeof value === 'string' ? by.redact(value) : value,
    ]),
  )
}

/** Redacts labels, too: an undeclared one may be any text. */
function redactedOutcome({ readings, failures, pins }: RunOutcome, by: Redacting): RunOutcome {
  const named = <V>(all: Readonly<Record<string, V>>) =>
    Object.entries(all).map(([name, v]) => [by.redact(name), v] as const)
  return {
    readings: Object.fromEntries(named(readings)),
    failures: Object.fromEntries(named(failures).map(([label, fault]) => [label, redactedFault(fault, by)])),
    pins,
  }
}

function redactedDescription(description: DescribedToDaemon, by: Redacting): DescribedToDaemon {
  if (description.kind === 'mistaken') {
    return { kind: 'mistaken', mistakes: description.mistakes.map(mistake => redactedMistake(mistake, by)) }
  }
  for (const [label, spec] of Object.entries(description.metrics)) refuseSecret(label, spec, by)
  return description
}

/** Refuses a declaration that contains a secret: it would be sent to the service unchanged. */
function refuseSecret(label: string, { unit = '', module = '' }: MetricSpec, by: Redacting): void {
  if ([label, unit, module].every(text => by.redact(text) === text)) return
  throw new Fault('collector-unusable', `a secret is part of the declaration of its metric ${by.redact(label)}`, {
    fix: 'build labels, units and modules without secrets',
  })
}

function redactedMistake({ message, ...same }: OptionMistake, by: Redacting): OptionMistake {
  return { ...same, message: by.redact(message) }
}
