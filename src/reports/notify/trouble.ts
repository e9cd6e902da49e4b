import { type Hour, hourText } from '../../model/hour.ts'

/** Kinds of trouble that are reported. `not-ready`: the daemon cannot go on as configured. */
export const troubleKinds = ['not-delivered', 'key-refused', 'dead', 'held', 'gap', 'not-ready'] as const

export type ReportedTrouble = (typeof troubleKinds)[number]

/** A trouble in words for a person. */
export interface TroubleWords {
  readonly what: string
  readonly why: string
  /** Instruction. */
  readonly do: string
}

/** A trouble as it is now. Troubles of one kind that begin together are reported in one message. */
export interface SeenTrouble extends TroubleWords {
  readonly kind: ReportedTrouble
  /** The collector, destination or part that has it; empty for a trouble of the whole. */
  readonly subject: string
  readonly hour: Hour
  /** Number of all hours lost so far, of a gap: each is reported once. */
  readonly lost?: number
  /** Its parts, of a trouble of the whole. Default: itself. */
  readonly items?: readonly TroubleWords[]
  /** It keeps a trouble that was reported from being over, and begins none: right after a start, say. */
  readonly isWeak?: boolean
}

/** A message to people; its words are those of all items, joined. */
export interface Notice extends TroubleWords {
  /** At least one. */
  readonly items: readonly TroubleWords[]
  readonly trouble: ReportedTrouble
  readonly state: 'begin' | 'over'
  /** The hour that the trouble began with, as text; the same in both messages. */
  readonly hour: string
}

/** Sentences of each kind, and items, that a message holds. */
const wordsMax = 5
const itemsMax = 50
const charsMax = 1_000

/** One text of several: each once, a line each. */
export function joined(all: readonly string[]): string {
  const distinct = [...new Set(all)].filter(text => text !== '')
  const more = distinct.length - wordsMax
  const text = [...distinct.slice(0, wordsMax), ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
}

/** The words of several troubles as one. */
export function joinedWords(all: readonly TroubleWords[]): TroubleWords {
  return {
    what: joined(all.map(({ what }) => what)),
    why: joined(all.map(({ why }) => why)),
    do: joined(all.map(words => words.do)),
  }
}

/** Message that troubles of one kind have begun. */
export function beginNotice(kind: ReportedTrouble, hour: Hour, seen: readonly SeenTrouble[]): Notice {
  const items = seen.flatMap(({ items: own, what, why, do: instruction }) => own ?? [{ what, why, do: instruction }])
  return {
    trouble: kind,
    state: 'begin',
    hour: hourText(hour),
    ...joinedWords(seen),
    items: items.slice(0, itemsMax),
  }
}

/** Message that a reported trouble is over. @param what of the message that it began with */
export function overNotice(kind: ReportedTrouble, hour: Hour, what: string, lastedMs: number): Notice {
  const why = `over after ${durationText(lastedMs)}`
  const words = { what, why, do: 'nothing' }
  return { trouble: kind, state: 'over', hour: hourText(hour), ...words, items: [words] }
}

function durationText(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000))
  if (minutes < 120) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} days`
}
