import { faultFromRecord, isPermanent } from '../../model/fault.ts'
import { type Hour, hourText } from '../../model/hour.ts'
import { overdueMs } from '../../model/limits.ts'
import type { Lateness } from '../../outbox/contract/status-store.ts'
import {
  deadAndHeldSentences,
  gapSentence,
  lateSentence,
  missingSentence,
  withFix,
} from '../../status/hour-sentences.ts'
import { undeliveredSentences } from '../../status/readiness.ts'

/** Longest text of a ping, in characters; older servers of the Healthchecks.io convention keep 10 kB. */
const summaryCharsMax = 8_000

/** Report of an hour: that its collecting begins, or its result. */
export interface Ping {
  readonly kind: 'start' | 'success' | 'fail'
  readonly hour: Hour
  /** Why it failed, a sentence each; empty otherwise. */
  readonly sentences: readonly string[]
}

/** An hour that is not reported yet. */
export interface OpenHour {
  readonly hour: Hour
  /** Lateness as of the hour itself. */
  readonly lateness: Lateness
  /** Ids of the configured collectors. */
  readonly collectors: readonly string[]
  /** Host of the service. */
  readonly host: string
  readonly nowMs: number
  /** When the loops were started, in milliseconds since 1970. */
  readonly startedAtMs: number
}

/**
 * The result of an hour, as soon as it is known: all is collected and delivered; all that is left fails until something
 * is changed; or a quarter of an hour has passed since its turn, or since a start after it. Pure.
 *
 * @returns `undefined` while it is open
 */
export function resultOf(open: OpenHour): Ping | undefined {
  const { hour, lateness, collectors, host, nowMs, startedAtMs } = open
  const { late, missing, due, deadAndHeld } = lateness
  const gaps = lateness.gaps.filter(({ collector }) => collectors.includes(collector))
  const isFinal =
    missing.length === 0 && !due && late.every(({ fault }) => fault && isPermanent(faultFromRecord(fault)))
  // The start lies in the future if the clock was set back since.
  const sinceMs = startedAtMs > nowMs ? hour : Math.max(hour, startedAtMs)
  if (!isFinal && nowMs - sinceMs < overdueMs) return undefined
  const sentences = [
    ...late.map(each => withFix(lateSentence(each), each.fault)),
    ...missing.map(id => missingSentence(id, hour)),
    ...gaps.map(gapSentence),
    ...undeliveredSentences(lateness, host, false),
    ...deadAndHeldSentences(deadAndHeld, hour, host),
  ]
  return { kind: sentences.length === 0 ? 'success' : 'fail', hour, sentences }
}

/** Text of a ping: the hour, and why it failed. */
export function pingText({ hour, sentences }: Ping): string {
  const text = [hourText(hour), ...sentences].join('\n')
  return text.length > summaryCharsMax ? `${text.slice(0, summaryCharsMax)}…` : text
}

const endings = { start: '/start', success: '', fail: '/fail' } as const

/** Address of a ping: the check's, with `/start` or `/fail` after its path. Secret. */
export function pingUrl(check: string, kind: Ping['kind']): string {
  const url = new URL(check)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${endings[kind]}`
  return url.href
}
