import { type Hour, hourText } from '../model/hour.ts'
import type { DetainedCounts } from '../outbox/contract/selections.ts'

/** Sentences about new dead and held metrics; older ones are only counted in the balance. */
export function detainedSentences({ dead, held }: DetainedCounts, hour: Hour, host: string): string[] {
  const of = (number: number) => `${number} ${number === 1 ? 'metric' : 'metrics'} of ${hourText(hour)}`
  return [
    ...(dead > 0 ? [`${host} refused ${of(dead)} for good: tidegauge dead ls`] : []),
    ...(held > 0 ? [`${of(held)} ${held === 1 ? 'is' : 'are'} held until a person decides: tidegauge held ls`] : []),
  ]
}
