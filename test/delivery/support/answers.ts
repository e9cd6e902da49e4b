import type { Batch } from '../../../src/model/batch.ts'
import type { Answer } from '../../../src/model/verdict.ts'

/** An answer that says nothing but its status. */
export function answered(status: number, notBeforeMs?: number): Extract<Answer, { kind: 'answered' }> {
  return { kind: 'answered', status, body: undefined, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) }
}

/** The answer to a push all of which is stored. */
export function accepted(processed: number, warnings: readonly unknown[] = []): Answer {
  return { kind: 'answered', status: 200, body: { success: true, processed, errors: [], warnings } }
}

/** A 200 with an error for each metric of a batch. */
export function eachRefused(batch: Batch): Answer {
  const errors = batch.map(({ id, hour }) => ({
    id,
    timestamp: new Date(hour).toISOString(),
    message: 'no more metrics are taken',
  }))
  return { kind: 'answered', status: 200, body: { success: false, processed: 0, errors, warnings: [] } }
}
