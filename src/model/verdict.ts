import { z } from 'zod'
import type { Batch } from './batch.ts'
import type { Metric } from './metric.ts'
import { type Remark, readRemark, wordsOf } from './remarks.ts'

/** The outcome of one push: an HTTP answer, or none. */
export type Answer =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** Parsed JSON; `undefined` when the body is not JSON, too large, or empty. */
      readonly body: unknown
      /** Description of an answer that is not the service's JSON, for a person: its type, a page's title, where it redirects to. */
      readonly described?: string
      /** From `Retry-After`, in milliseconds since 1970. */
      readonly notBeforeMs?: number
      /**
       * Offset of the service's clock from this machine's, in milliseconds, positive when ahead; absent when the answer
       * does not show it.
       */
      readonly skewMs?: number
    }
  /** Network error or time-out: it is unknown whether the service stored the batch. */
  | {
      readonly kind: 'unanswered'
      readonly reason: string
      /** Instruction, where the reason is a known one. */
      readonly fix?: string | undefined
    }

/** A metric the service will never accept. */
export interface DeadMetric {
  readonly metric: Metric
  /** The service's words. */
  readonly reason: string
  /** HTTP status of the answer that said so. */
  readonly status?: number
}

/**
 * Meaning of an answer for each metric of its batch. A metric that the verdict does not name as delivered or dead stays
 * due.
 */
export type Verdict =
  /** Decided metric by metric; `resend` is sent again in smaller batches. */
  | {
      readonly kind: 'settled'
      readonly delivered: readonly Metric[]
      readonly dead: readonly DeadMetric[]
      readonly resend: readonly Metric[]
      readonly warnings: readonly Remark[]
    }
  /** The batch is refused as a whole: split it until the bad metric stands alone. */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly reason: string
      /**
       * The interface does not name this status. It may mean a wrong address, as long as nothing was ever accepted
       * there.
       */
      readonly isUnlisted?: true
    }
  /** Transient: retry the same batch, not before an instant. */
  | {
      readonly kind: 'transient'
      readonly reason: string
      /** HTTP status; absent when there was no answer. */
      readonly status?: number
      /** Whether a success came with something that is not a push result: the address may not be the service's. */
      readonly isNoResult?: true
      readonly notBeforeMs?: number
    }
  /** The key is refused: send nothing more with it. */
  | { readonly kind: 'key-refused'; readonly reason: string }
  /** The protocol is unknown, or owned by another key. */
  | { readonly kind: 'protocol-refused'; readonly status: 403 | 404; readonly reason: string }
  /** A redirect: the address is not the service's. Keep all and alert a person. */
  | { readonly kind: 'misdirected'; readonly status: number; readonly reason: string }

const transientStatuses = new Set([408, 425, 429])
const splitStatuses = new Set([400, 413, 422])
/** Errors, and warnings, of one answer that are read: an answer may hold a million, which would take seconds. */
const remarksMax = 500

/** Whether the same request may be accepted later: the server fails, or asks to wait. Pure. */
export function isTransientStatus(status: number): boolean {
  return (status >= 500 && status < 600) || transientStatuses.has(status)
}

/** The verdict that waiting may change, whatever was asked; `undefined` for any other answer. Pure. */
export function transientOf(answer: Answer): Extract<Verdict, { kind: 'transient' }> | undefined {
  if (answer.kind === 'unanswered') return { kind: 'transient', reason: answer.reason }
  const { status, notBeforeMs } = answer
  if (!isTransientStatus(status)) return undefined
  return { kind: 'transient', reason: reasonOf(answer), status, ...(notBeforeMs !== undefined && { notBeforeMs }) }
}

/**
 * Whether an answer to any question is not the service's: a redirect, or a success with something else than JSON, as the
 * login page of a proxy. The interface shows no body of a valid key, so an empty one and plain text may be the service's.
 * Pure.
 */
export function isForeign({ status, body, described }: Extract<Answer, { kind: 'answered' }>): boolean {
  if (status >= 300 && status < 400) return true
  const isPage = body === undefined && described !== undefined && described !== 'text/plain'
  return status >= 200 && status < 300 && isPage
}

/** The fact that an answer is not the service's. */
export function foreignFact(answer: Extract<Answer, { kind: 'answered' }>): string {
  return `the address does not answer like the service (${reasonOf(answer)})`
}

/** The status of an answer, and the service's words. */
export function reasonOf({ status, body, described }: Extract<Answer, { kind: 'answered' }>): string {
  const words = wordsOf(body)
  return [`${status}`, words === '' ? described : words].filter(Boolean).join(': ')
}

/**
 * Whether a refusal came as a web page: of a proxy, a firewall or another server, where the service would answer JSON. Pure.
 *
 * @param reason as `reasonOf` gives it
 */
export function isOfPage(reason: string): boolean {
  return /^\d+: text\/html\b/.test(reason)
}

/** Judges an answer by the verdict table of the product. Pure. */
export function verdict(answer: Answer, batch: Batch): Verdict {
  if (answer.kind === 'unanswered') return { kind: 'transient', reason: answer.reason }
  const transient = transientOf(answer)
  if (transient) return transient
  const { status } = answer
  if (status >= 200 && status < 300) return accepted(answer, batch)
  const reason = reasonOf(answer)
  if (status === 401) return { kind: 'key-refused', reason }
  if (status === 403 || status === 404) return { kind: 'protocol-refused', status, reason }
  if (splitStatuses.has(status)) return { kind: 'refused', status, reason }
  if (status >= 300 && status < 400) return { kind: 'misdirected', status, reason }
  return { kind: 'refused', status, reason, isUnlisted: true }
}

function accepted(answer: Extract<Answer, { kind: 'answered' }>, batch: Batch): Verdict {
  const { status, body, described: description } = answer
  const result = readPushReport(body)
  if (!result) {
    const what = description === undefined ? '' : ` (${status}: ${description})`
    const reason = `the answer is not a push result${what}: it is unknown what was stored`
    return { kind: 'transient', reason, status, isNoResult: true }
  }
  const warnings = remarksOf(result.warnings, batch)
  if (result.errors.length > 0) return withErrors(status, result, batch, warnings)
  if (!result.success) return { kind: 'transient', reason: 'success is false, without errors', status }
  if (result.processed === batch.length) return { kind: 'settled', delivered: batch, dead: [], resend: [], warnings }
  return disputed(status, result, batch, warnings)
}

function withErrors(status: number, result: PushReport, batch: Batch, warnings: readonly Remark[]): Verdict {
  const remarks = remarksOf(result.errors, batch)
  if (batch.length === 1) return { kind: 'refused', status, reason: remarks[0]?.text ?? '' }
  const deadMetrics = deadOf(status, remarks)
  // Every metric is rejected: as with a 400 the cause may not be the metrics, which splitting finds out.
  if (deadMetrics.length === batch.length) return { kind: 'refused', status, reason: remarks[0]?.text ?? '' }
  const deliveredMetrics = batch.filter(metric => !deadMetrics.some(entry => entry.metric === metric))
  const isMatched = result.errors.length <= remarksMax && remarks.every(({ metric, isGuess }) => metric && !isGuess)
  const addsUp = isMatched && result.processed === deliveredMetrics.length
  if (addsUp) return { kind: 'settled', delivered: deliveredMetrics, dead: deadMetrics, resend: [], warnings }
  // Errors without a certain metric: smaller batches show whose they are. A re-send only updates.
  return disputed(status, result, batch, warnings)
}

/** The first of some errors or warnings. */
function remarksOf(entries: readonly unknown[], batch: Batch): readonly Remark[] {
  return entries.slice(0, remarksMax).map(entry => readRemark(entry, batch))
}

function deadOf(status: number, remarks: readonly Remark[]): DeadMetric[] {
  const reasonByMetric = new Map(remarks.flatMap(({ metric, text }) => (metric ? [[metric, text] as const] : [])))
  return [...reasonByMetric].map(([metric, reason]) => ({ metric, reason, status }))
}

/** Verdict when `processed` does not add up: the service may have stored any of the batch. */
function disputed(status: number, result: PushReport, batch: Batch, warnings: readonly Remark[]): Verdict {
  if (batch.length > 1) return { kind: 'settled', delivered: [], dead: [], resend: batch, warnings }
  const reason = `${result.processed} processed of ${batch.length} sent, without a reason`
  return result.processed === 0 ? { kind: 'refused', status, reason } : { kind: 'transient', reason, status }
}

/** The parts of an answer to a push that its verdict depends on. */
interface PushReport {
  /** Whether the service says that the push succeeded. */
  readonly success: boolean
  /** Metrics the service says it processed. */
  readonly processed: number
  /** As received; `readRemark` reads them. */
  readonly errors: readonly unknown[]
  /** As received; `readRemark` reads them. */
  readonly warnings: readonly unknown[]
}

/** `success` and `processed` must be there; remarks may have any shape. */
const pushReportForm = z.object({
  success: z.boolean(),
  processed: z.int().min(0),
  errors: z.unknown().optional(),
  warnings: z.unknown().optional(),
})

/**
 * Reads the body of a 2xx answer to a push. The interface names two lists of remarks and leaves their entries open: a
 * missing, null or empty list holds nothing, and a value that is not a list is one remark.
 *
 * @returns `undefined` when `success` or `processed` is missing
 */
function readPushReport(body: unknown): PushReport | undefined {
  const parsed = pushReportForm.safeParse(body)
  if (!parsed.success) return undefined
  const { success, processed, errors, warnings } = parsed.data
  return { success, processed, errors: remarksIn(errors), warnings: remarksIn(warnings) }
}

function remarksIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (value === undefined || value === null || value === '' || value === false) return []
  return typeof value === 'object' && Object.keys(value).length === 0 ? [] : [value]
}
