import { z } from 'zod'
import { type Hour, hourFromNumber, hourNumber, hourText } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'

/** Time for which a trouble is seen before it is reported: what begins with it is in the same message. */
const beginMs = 10_000

/** Time without a trouble after which it is over; longer for one that comes back. */
const quietMs = 60_000
/** No further hour was lost by then: the next one was collected. */
const quietGapMs = hourMs + 20 * 60_000
const quietGrowth = 4
const quietMsMax = 6 * hourMs

/** Time after which a trouble that comes back counts as a new one. */
const rememberedMs = 24 * hourMs

/**
 * Kinds of trouble that are reported. `not-ready`: the daemon cannot go on as configured; `fleet-differs`: one of a fleet
 * leaves work to the others.
 */
const troubleKinds = ['not-delivered', 'key-refused', 'dead', 'held', 'gap', 'not-ready', 'fleet-differs'] as const
const kind = z.enum(troubleKinds)

/** A trouble that was reported and is not over. */
const incident = z.object({
  kind,
  /** The collectors, protocols or destinations that have the trouble. */
  subjects: z.array(z.string()),
  /** In hours since 1970. */
  hour: z.number(),
  what: z.string(),
  beganMs: z.number(),
  /** Number of times it began, each within a day of the one before. */
  times: z.number(),
  /** Since when none of its subjects has it; absent while one has. */
  clearSinceMs: z.exactOptional(z.number()),
})

/** A subject and a trouble that it has, not reported yet. */
const fresh = z.object({ kind, subject: z.string(), sinceMs: z.number() })

/** A subject whose trouble is over. */
const pastTrouble = z.object({ kind, subject: z.string(), times: z.number(), endedMs: z.number() })

/** Troubles that were reported, and all that is needed to report each once; as it is stored. */
export const incidents = z.object({
  open: z.array(incident),
  fresh: z.array(fresh),
  past: z.array(pastTrouble),
  /** Number of lost hours of each collector that were reported, or were there at first. */
  lost: z.record(z.string(), z.number()),
})

/** As in `incidents`. */
export type Incidents = z.infer<typeof incidents>

type ReportedTrouble = z.infer<typeof kind>
type Incident = z.infer<typeof incident>
type Fresh = z.infer<typeof fresh>
type PastTrouble = z.infer<typeof pastTrouble>

/** The incidents before the first look: hours that were lost before are not reported. */
export function firstIncidents(seen: readonly SeenTrouble[]): Incidents {
  return { open: [], fresh: [], past: [], lost: lostIn(seen) }
}

/**
 * The messages after a look: one for the troubles of a kind that began, and one for each that is over.
 * A trouble that comes back soon is over only after a longer and longer time without it. Pure.
 *
 * @param look all troubles of now
 */
export function afterLook(
  incidentsBefore: Incidents,
  look: readonly SeenTrouble[],
  nowMs: number,
): { readonly incidents: Incidents; readonly notices: readonly Notice[] } {
  const troubles = look.filter(isNews(incidentsBefore))
  const followed = incidentsBefore.open.map(incident => followedBy(incident, troubles, nowMs))
  const endedIncidents = followed.filter(incident => isOver(incident, nowMs))
  const openIncidents = followed.filter(incident => !endedIncidents.includes(incident))
  const openKeys = new Set(
    openIncidents.flatMap(({ kind, subjects }) => subjects.map(subject => keyOf({ kind, subject }))),
  )
  const strong = troubles.filter(trouble => !trouble.isWeak && !openKeys.has(keyOf(trouble)))
  const unreportedTroubles = strong.map(trouble => freshOf(incidentsBefore, trouble, nowMs))
  const begins = strong.filter(({ beginsAfterMs = beginMs }, place) => {
    return elapsedMs(unreportedTroubles[place]?.sinceMs ?? nowMs, nowMs) >= beginsAfterMs
  })
  const newKinds = troubleKinds.filter(kind => begins.some(trouble => trouble.kind === kind))
  const endedTroubles = endedIncidents.flatMap(incident => pastsOf(incident, nowMs))
  const past = [...pastAfter(incidentsBefore.past, nowMs), ...endedTroubles]
  const news = newKinds.map(kind => {
    const isWithIt = (trouble: SeenTrouble) => trouble.beginsAfterMs === undefined || begins.includes(trouble)
    const ofKind = strong.filter(trouble => trouble.kind === kind && isWithIt(trouble))
    const subjects = ofKind.map(({ subject }) => subject)
    const times =
      1 +
      Math.max(0, ...past.filter(one => one.kind === kind && subjects.includes(one.subject)).map(({ times }) => times))
    const hour = Math.min(...ofKind.map(trouble => trouble.hour)) as Hour
    const notice = beginNotice(kind, hour, ofKind)
    return { notice, incident: { kind, subjects, hour: hourNumber(hour), what: notice.what, beganMs: nowMs, times } }
  })
  const nowOpen = [...openIncidents, ...news.map(({ incident }) => incident)]
  const isOpen = (key: string) =>
    nowOpen.some(({ kind, subjects }) => subjects.some(subject => keyOf({ kind, subject }) === key))
  return {
    incidents: {
      open: nowOpen,
      fresh: unreportedTroubles.filter(one => !isOpen(keyOf(one))),
      past: past.filter(one => !isOpen(keyOf(one))),
      // A trouble of a gap is kept until it was reported.
      lost: { ...lostIn(look), ...lostUnreported(incidentsBefore, look, isOpen) },
    },
    notices: [
      ...endedIncidents.map(({ kind, hour, what, beganMs, clearSinceMs = nowMs }) =>
        overNotice(kind, hourFromNumber(hour), what, elapsedMs(beganMs, clearSinceMs)),
      ),
      ...news.map(({ notice }) => notice),
    ],
  }
}

const keyOf = ({ kind, subject }: Pick<SeenTrouble, 'kind' | 'subject'>) => `${kind} ${subject}`

/** Time since an instant; 0 where the clock was set back since. */
const elapsedMs = (sinceMs: number, nowMs: number) => Math.max(0, nowMs - sinceMs)

/** Lost hours that were reported are no trouble any more. */
const isNews =
  ({ lost }: Incidents) =>
  ({ kind, subject, lost: count }: SeenTrouble): boolean =>
    kind !== 'gap' || count === undefined || count > (lost[subject] ?? 0)

function lostIn(seen: readonly SeenTrouble[]): Record<string, number> {
  const gaps = seen.filter(({ kind }) => kind === 'gap')
  return Object.fromEntries(gaps.flatMap(({ subject, lost }) => (lost === undefined ? [] : [[subject, lost]])))
}

function lostUnreported(incidentsBefore: Incidents, seen: readonly SeenTrouble[], isOpen: (key: string) => boolean) {
  const unreportedGaps = seen.filter(
    trouble => isNews(incidentsBefore)(trouble) && trouble.kind === 'gap' && !isOpen(keyOf(trouble)),
  )
  return Object.fromEntries(unreportedGaps.map(({ subject }) => [subject, incidentsBefore.lost[subject] ?? 0]))
}

function followedBy(incident: Incident, troubles: readonly SeenTrouble[], nowMs: number): Incident {
  const { clearSinceMs, ...rest } = incident
  const isSeen = troubles.some(({ kind, subject }) => kind === incident.kind && incident.subjects.includes(subject))
  return isSeen ? rest : { ...rest, clearSinceMs: Math.min(clearSinceMs ?? nowMs, nowMs) }
}

function isOver({ kind, times, clearSinceMs }: Incident, nowMs: number): boolean {
  if (clearSinceMs === undefined) return false
  const base = kind === 'gap' ? quietGapMs : quietMs
  return nowMs - clearSinceMs >= Math.min(base * quietGrowth ** (times - 1), quietMsMax)
}

function freshOf({ fresh }: Incidents, { kind, subject }: SeenTrouble, nowMs: number): Fresh {
  const known = fresh.find(one => one.kind === kind && one.subject === subject)
  return { kind, subject, sinceMs: Math.min(known?.sinceMs ?? nowMs, nowMs) }
}

function pastAfter(past: readonly PastTrouble[], nowMs: number): PastTrouble[] {
  return past.filter(({ endedMs }) => elapsedMs(endedMs, nowMs) < rememberedMs)
}

function pastsOf({ kind, subjects, times }: Incident, nowMs: number): PastTrouble[] {
  return subjects.map(subject => ({ kind, subject, times, endedMs: nowMs }))
}

/** A trouble in words for a person; `do` is an instruction. */
const troubleWords = z.object({ what: z.string(), why: z.string(), do: z.string() })

/** As in `troubleWords`. */
export type TroubleWords = Readonly<z.infer<typeof troubleWords>>

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
  /** Milliseconds for which it is seen before it is reported. Default: a few seconds, or at once with another of its kind. */
  readonly beginsAfterMs?: number
  /** It keeps a trouble that was reported from being over, and begins none: right after a start, say. */
  readonly isWeak?: boolean
}

/** A message to people; its words are those of all items, joined. */
export const notice = troubleWords.extend({
  /** `test`: nothing is wrong, a person asked for the message. */
  trouble: z.enum([...troubleKinds, 'test']),
  state: z.enum(['begin', 'over']),
  /** The hour that the trouble began with, as text; the same in both messages. */
  hour: z.string(),
  /** At least one. */
  items: z.array(troubleWords),
})

/** As in `notice`. */
export type Notice = Readonly<z.infer<typeof notice>>

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
export function joinedWords(troubles: readonly TroubleWords[]): TroubleWords {
  return {
    what: joined(troubles.map(({ what }) => what)),
    why: joined(troubles.map(({ why }) => why)),
    do: joined(troubles.map(words => words.do)),
  }
}

function beginNotice(kind: ReportedTrouble, hour: Hour, look: readonly SeenTrouble[]): Notice {
  const items = look.flatMap(({ items: own, what, why, do: instruction }) => own ?? [{ what, why, do: instruction }])
  return {
    trouble: kind,
    state: 'begin',
    hour: hourText(hour),
    ...joinedWords(look),
    items: items.slice(0, itemsMax),
  }
}

/** Message that a reported trouble is over. @param what of the message that it began with */
function overNotice(kind: ReportedTrouble, hour: Hour, what: string, lastedMs: number): Notice {
  const why = `over after ${durationText(lastedMs)}`
  const words = { what, why, do: 'nothing' }
  return { trouble: kind, state: 'over', hour: hourText(hour), ...words, items: [words] }
}

function durationText(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000))
  if (minutes < 120) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} days`
}
