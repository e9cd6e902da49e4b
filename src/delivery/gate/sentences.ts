import { type Hour, hourText } from '../../model/hour.ts'
import type { Stop } from './stop.ts'

/** Sentences of one destination that are shown; the rest is counted. */
const sentencesMax = 3

/** End of the sentence about pushes that are not accepted for now. */
export const doctorSays = ': nothing is lost, and it is tried again; tidegauge doctor says whose fault it is'

/** Why a flush ended, and what to do about it. */
export function stopSentence({ kind, reason, isKeyMissing }: Stop): string {
  switch (kind) {
    case 'key-refused':
      return `the key is refused (${reason}): put a valid key in its place, and delivery resumes`
    case 'misdirected':
      return `the address does not answer like the service (${reason}): check service.url`
    case 'transient':
      if (isKeyMissing) return reason
      return `no push is accepted (${reason})${doctorSays}`
    default:
      return reason
  }
}

/** Why the newest hour is not sent yet: the service would take it for the future. */
export function aheadSentence(hour: Hour, skewMs: number): string {
  const minutes = Math.max(1, Math.round(Math.abs(skewMs) / 60_000))
  const why =
    skewMs < 0
      ? `this machine's clock is ${minutes} min ahead of the service's: set it right`
      : 'this machine’s clock was set back'
  return `metrics of ${hourText(hour)} lie in the future and wait for it: ${why}`
}

/** Some sentences, and how many more there are. */
export function cappedSentences(sentences: readonly string[]): readonly string[] {
  const more = sentences.length - sentencesMax
  return more > 0 ? [...sentences.slice(0, sentencesMax), `and ${more} more like it`] : sentences
}
