import { type Hour, hourText } from '../../model/hour.ts'
import type { Stop } from './stop.ts'

/** Sentences of one destination that are shown; the rest is counted. */
const sentencesMax = 3

/** End of the sentence about pushes that fail for now. */
const goesOn = /\. Nothing is lost; next try \S+ UTC\. Whose fault\? tidegauge doctor\.$/

/**
 * Why a flush ended, what happens next and when, and what to do.
 *
 * @param nextMs instant of the next attempt
 * @param isAskedToWait whether the service's retry-after is why it is not earlier
 */
export function stopSentence(
  { kind, reason, isKeyMissing, isUnchanged }: Stop,
  nextMs: number,
  isAskedToWait = false,
): string {
  switch (kind) {
    case 'key-refused': {
      const since = isUnchanged ? ', and it has not changed since' : ''
      return `The service refuses the key (${reason})${since}. Nothing is lost; put a valid key in its place, and delivery goes on at once.`
    }
    case 'misdirected':
      return `The address does not answer like the service (${reason}). Nothing is lost; check service.url.`
    case 'transient': {
      if (isKeyMissing) return reason
      const fact = /^\d{3}\b/.test(reason) ? `The service answers ${reason}` : `Delivery waits (${reason})`
      const asked = isAskedToWait
        ? ', and its Retry-After asks to wait; tidegauge flush sends one small batch at once'
        : ''
      const next = new Date(nextMs).toISOString().slice(11, 19)
      return `${fact.replace(/\.$/, '')}${asked}. Nothing is lost; next try ${next} UTC. Whose fault? tidegauge doctor.`
    }
    default:
      return reason
  }
}

/** The fact in a sentence about pushes that fail for now; `undefined` for another sentence. */
export function failingFact(sentence: string): string | undefined {
  return goesOn.test(sentence) ? sentence.replace(goesOn, '') : undefined
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
