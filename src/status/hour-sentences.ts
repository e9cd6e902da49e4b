import { commandLine } from '../model/command-line.ts'
import type { FaultRecord } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import type { CollectionRow, LateCollector } from '../outbox/contract/hours.ts'
import type { DeadAndHeldCounts } from '../outbox/contract/selections.ts'

/** A sentence about hours with the cure of their fault, if it has one. */
export function withFix(sentence: string, fault: Pick<FaultRecord, 'fix'> | undefined): string {
  return fault?.fix === undefined ? sentence : `${sentence} – ${fault.fix}`
}

/** Sentence about an hour that became a gap. */
export function gapSentence({ collector, hour, fault }: CollectionRow): string {
  return `${collector} has no value of ${hourText(hour)}, and it can no longer be collected${fault ? `: ${fault.message}` : ''}`
}

/** Sentence about an hour that has no row yet but should. */
export function missingSentence(id: string, hour: Hour): string {
  return `${id}: the hour ${hourText(hour)} was not even planned: does the daemon run, is the disk full? Its log says why`
}

/** Sentence about overdue hours of a collector. */
export function lateSentence({ collector, hours, oldest, fault }: LateCollector): string {
  const which = hours === 1 ? 'the hour' : `${hours} hours, the oldest`
  return `${collector} has not collected ${which} ${hourText(oldest)}${fault ? `: ${fault.message}` : ''}`
}

/** Sentences about the dead and held metrics of an hour; older ones are only counted in the balance. @param named as `ConfigurationState.named` */
export function deadAndHeldSentences(
  { dead, held }: DeadAndHeldCounts,
  hour: Hour,
  host: string,
  named?: string,
): string[] {
  const of = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'} of ${hourText(hour)}`
  const decide = (command: string) => `Decide: ${commandLine(command, named)}`
  const looks = held === 1 ? 'looks wrong and was' : 'look wrong and were'
  return [
    ...(dead > 0 ? [`${host} refused ${of(dead, 'metric')} for good. ${decide('dead ls')}`] : []),
    ...(held > 0 ? [`${of(held, 'value')} ${looks} not sent. ${decide('held ls')}`] : []),
  ]
}
