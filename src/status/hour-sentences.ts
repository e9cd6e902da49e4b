import { type Hour, hourText } from '../model/hour.ts'
import type { CollectionRow, LateCollector } from '../outbox/tables/hour-rows.ts'

/** An hour that cannot be had any more. */
export function gapSentence({ collector, hour, fault }: CollectionRow): string {
  return `${collector} has no value of ${hourText(hour)}, and it cannot be had any more${fault ? `: ${fault.message}` : ''}`
}

/** An hour that should be a row by now. */
export function missingSentence(id: string, hour: Hour): string {
  return `${id}: the hour ${hourText(hour)} was not even planned: does the daemon run, is the disk full? Its log says why`
}

/** Hours that should be collected by now. */
export function lateSentence({ collector, hours, oldest, fault }: LateCollector): string {
  const which = hours === 1 ? 'the hour' : `${hours} hours, the oldest`
  return `${collector} has not collected ${which} ${hourText(oldest)}${fault ? `: ${fault.message}` : ''}`
}
