import type { JoinableRead, ReadAnswer } from '../reads.ts'
import { aggregateDigitsMax, aggregateReadsMax } from './limits.ts'

/** Whether an answer within an aggregate may differ from the answer alone. */
export function isUnsure(answer: ReadAnswer | undefined): boolean {
  return answer?.kind === 'reverted' && answer.output === '0x'
}

/** Splits a list into that many parts of nearly equal size, in order. */
export function partsOf<T>(all: readonly T[], count: number): T[][] {
  const size = Math.ceil(all.length / count)
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}

/** Splits requests into parts small enough for one call each. */
export function chunks(requests: readonly JoinableRead[]): (readonly JoinableRead[])[] {
  const parts: JoinableRead[][] = []
  let digits = Number.POSITIVE_INFINITY
  for (const request of requests) {
    const more = digitsOf(request)
    const last = parts.at(-1)
    if (last && last.length < aggregateReadsMax && digits + more <= aggregateDigitsMax) {
      last.push(request)
      digits += more
    } else {
      parts.push([request])
      digits = more
    }
  }
  return parts
}

function digitsOf(request: JoinableRead): number {
  return request.kind === 'call' ? request.input.length : 0
}
