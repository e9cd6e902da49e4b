import { z } from 'zod'

/** The parts of an answer to a push that its verdict depends on. */
export interface PushReport {
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
const said = z.object({
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
export function readPushReport(body: unknown): PushReport | undefined {
  const parsed = said.safeParse(body)
  if (!parsed.success) return undefined
  const { success, processed, errors, warnings } = parsed.data
  return { success, processed, errors: remarksIn(errors), warnings: remarksIn(warnings) }
}

function remarksIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (value === undefined || value === null || value === '' || value === false) return []
  return typeof value === 'object' && Object.keys(value).length === 0 ? [] : [value]
}
