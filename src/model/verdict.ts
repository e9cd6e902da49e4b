import type { Batch } from './batch.ts'
import type { Metric } from './metric.ts'
import { type PushReport, readPushReport } from './push-report.ts'
import { type Remark, readRemark, wordsOf } from './remarks.ts'

/** What came back for one push. */
export type Answer =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** Parsed JSON; `undefined` when the body is not JSON, too large, or empty. */
      readonly body: unknown
      /** From `Retry-After`, in milliseconds since 1970. */
      readonly notBeforeMs?: number
      /** How far the service's clock is ahead of this machine's; absent when the answer does not show it. */
      readonly skewMs?: number
    }
  /** Network error or time-out: it is not known whether the service stored the batch. */
  | { readonly kind: 'unanswered'; readonly reason: string }

/** A metric the service will never take. */
export interface DeadMetric {
  readonly metric: Metric
  /** The service's words. */
  readonly reason: string
  /** Of the answer that said so. */
  readonly status?: number
}

/**
 * What an answer means for each metric of the batch it answers. Whatever a verdict does not name as delivered or dead
 * stays due: silence means kept.
 */
export type Verdict =
  /** Item by item; `resend` is to be sent again in smaller batches. */
  | {
      readonly kind: 'settled'
      readonly delivered: readonly Metric[]
      readonly dead: readonly DeadMetric[]
      readonly resend: readonly Metric[]
      readonly warnings: readonly Remark[]
    }
  /** The request is refused as it is: split it until the bad metric stands alone. */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly reason: string
      /** The interface does not name the status: it may be about the address, as long as nothing was ever accepted there. */
      readonly isUnlisted?: true
    }
  /** May pass unchanged later, not before an instant. */
  | {
      readonly kind: 'transient'
      readonly reason: string
      /** Absent when there was no answer. */
      readonly status?: number
      readonly notBeforeMs?: number
    }
  /** The key is refused: nothing more with this key. */
  | { readonly kind: 'key-refused'; readonly reason: string }
  /** A protocol is unknown, or owned by another key. */
  | { readonly kind: 'protocol-refused'; readonly status: 403 | 404; readonly reason: string }
  /** A redirect: the address is not the service's. Keep all, tell a person. */
  | { readonly kind: 'misdirected'; readonly status: number; readonly reason: string }

const transientStatuses = new Set([408, 425, 429])
const splitStatuses = new Set([400, 413, 422])
/** Errors, and warnings, of one answer that are read: a service's answer may hold a million, which would take seconds. */
const remarksMax = 500

/** The verdict table of the product, as a pure function. */
export function verdict(answer: Answer, batch: Batch): Verdict {
  if (answer.kind === 'unanswered') return { kind: 'transient', reason: answer.reason }
  const { status, body, notBeforeMs } = answer
  const words = wordsOf(body)
  const reason = words === '' ? `${status}` : `${status}: ${words}`
  if (status >= 200 && status < 300) return accepted(status, body, batch)
  if (status === 401) return { kind: 'key-refused', reason }
  if (status === 403 || status === 404) return { kind: 'protocol-refused', status, reason }
  if (splitStatuses.has(status)) return { kind: 'refused', status, reason }
  if ((status >= 500 && status < 600) || transientStatuses.has(status)) {
    return { kind: 'transient', reason, status, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) }
  }
  if (status >= 300 && status < 400) return { kind: 'misdirected', status, reason }
  return { kind: 'refused', status, reason, isUnlisted: true }
}

function accepted(status: number, body: unknown, batch: Batch): Verdict {
  const result = readPushReport(body)
  if (!result)
    return { kind: 'transient', reason: 'an answer that is no push result: it is not known what was stored', status }
  const warnings = result.warnings.slice(0, remarksMax).map(entry => readRemark(entry, batch))
  if (result.errors.length > 0) return withErrors(status, result, batch, warnings)
  if (!result.success) return { kind: 'transient', reason: 'success is false, without errors', status }
  if (result.processed === batch.length) return { kind: 'settled', delivered: batch, dead: [], resend: [], warnings }
  return disputed(status, result, batch, warnings)
}

function withErrors(status: number, result: PushReport, batch: Batch, warnings: readonly Remark[]): Verdict {
  const remarks = result.errors.slice(0, remarksMax).map(entry => readRemark(entry, batch))
  if (batch.length === 1) return { kind: 'refused', status, reason: remarks[0]?.text ?? '' }
  const dead = deadOf(status, remarks)
  // All of them: as with a 400 it may not be the metrics at all, which is found out by splitting.
  if (dead.length === batch.length) return { kind: 'refused', status, reason: remarks[0]?.text ?? '' }
  const rest = batch.filter(metric => !dead.some(entry => entry.metric === metric))
  const isMatched = result.errors.length <= remarksMax && remarks.every(({ metric, isGuess }) => metric && !isGuess)
  const addsUp = isMatched && result.processed === rest.length
  if (addsUp) return { kind: 'settled', delivered: rest, dead, resend: [], warnings }
  // Whose errors they are is not certain: only what is sent again in smaller batches can tell. A re-send only updates.
  return disputed(status, result, batch, warnings)
}

function deadOf(status: number, remarks: readonly Remark[]): DeadMetric[] {
  const reasonByMetric = new Map(remarks.flatMap(({ metric, text }) => (metric ? [[metric, text] as const] : [])))
  return [...reasonByMetric].map(([metric, reason]) => ({ metric, reason, status }))
}

/** `processed` does not add up. */
function disputed(status: number, result: PushReport, batch: Batch, warnings: readonly Remark[]): Verdict {
  if (batch.length > 1) return { kind: 'settled', delivered: [], dead: [], resend: batch, warnings }
  const reason = `${result.processed} processed of ${batch.length} sent, without a word why`
  return result.processed === 0 ? { kind: 'refused', status, reason } : { kind: 'transient', reason, status }
}
