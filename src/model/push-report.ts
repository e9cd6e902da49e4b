import { z } from 'zod'

/** What an answer to a push says, in the one form it is judged in. */
export interface PushReport {
  readonly success: boolean
  /** Metrics that were processed. */
  readonly processed: number
  readonly errors: readonly unknown[]
  readonly warnings: readonly unknown[]
}

/** Whether and how much decides; remarks may be written in any way. */
const said = z.object({
  success: z.boolean(),
  processed: z.int().min(0),
  errors: z.unknown().optional(),
  warnings: z.unknown().optional(),
})

/**
 * Reads the body of a 2xx answer to a push. The interface shows two lists of remarks and leaves open what is in them:
 * a list that is missing, null or empty in another way holds nothing, and what is no list is one remark.
 *
 * @returns `undefined` when it does not say whether and how much was processed
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
