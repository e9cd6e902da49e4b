import { describe, expect, it } from 'vitest'
import { Fault } from '../../../src/model/fault.ts'
import { endOfHour, failedAttempts, type HourColumns, type ReadingEnd } from '../../../src/outbox/store/end-of-hour.ts'

const expected: HourColumns = {
  ...{ state: 0, attempts: 0, next_attempt_ms: 0, fault: null, fault_code: null },
  ...{ metrics: 0, digest: 0, provenance: null, failures: null, changes: 0 },
}
const away = new Fault('chain-unreachable', 'the node is\naway')
const text = JSON.stringify({ code: 'chain-unreachable', message: 'the node is\naway', facts: {} })
const failed = { kind: 'failed', fault: away, nextAttemptMs: 90_000, nowMs: 60_000 } as const
const gap = { kind: 'gap', fault: away } as const
const collected = { kind: 'collected' } as const
const none = { kind: 'none' } as const
const waiting = { ...expected, attempts: 2, next_attempt_ms: 7, fault: '{}', fault_code: 'x', failures: 'b\n' }
const done = { ...expected, state: 1, attempts: 3, metrics: 4, digest: 9, provenance: 5, failures: 'b\n' }
const missed = { ...waiting, state: 2 }

/** The columns that differ; the whole row where there was none. */
function change(before: HourColumns | undefined, after: HourColumns | undefined) {
  if (!before || !after) return after
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => value !== before[name as keyof HourColumns]),
  )
}

describe('the end of an hour', () => {
  const cleared = { next_attempt_ms: 0, fault: null, fault_code: null }
  it.for<[title: string, before: HourColumns | undefined, end: ReadingEnd, changed: Partial<HourColumns> | undefined]>([
    ['collected at once', expected, collected, { state: 1, attempts: 1 }],
    ['collected after failures, which stay listed', waiting, collected, { ...cleared, state: 1, attempts: 3 }],
    ['collected again', done, collected, {}],
    ['collected after it was a gap', missed, collected, { ...cleared, state: 1, attempts: 3 }],
    ['collected, not expected', undefined, collected, { ...expected, state: 1, attempts: 1 }],
    [
      'failed',
      waiting,
      failed,
      {
        ...{ attempts: 3, next_attempt_ms: 90_000, fault: text, fault_code: 'chain-unreachable' },
        failures: '1970-01-01T00:01:00.000Z the node is away\nb\n',
      },
    ],
    ['failed after it was collected', done, failed, {}],
    ['failed after it was a gap', missed, failed, {}],
    ['failed, not expected', undefined, failed, undefined],
    ['a gap', waiting, gap, { state: 2, attempts: 3, fault: text, fault_code: 'chain-unreachable' }],
    ['a gap after it was collected', done, gap, {}],
    ['a gap again', missed, gap, {}],
    [
      'a gap, not expected',
      undefined,
      gap,
      { ...expected, state: 2, attempts: 1, fault: text, fault_code: 'chain-unreachable' },
    ],
    ['not said', waiting, none, {}],
    ['not said, not expected', undefined, none, undefined],
  ])('%s', ([, before, end, changed]) => {
    expect(change(before, endOfHour(before, end))).toEqual(changed)
  })

  it.for<[end: ReadingEnd, inputChanges: number, changed: Partial<HourColumns>]>([
    [collected, 2, { state: 1, attempts: 1 }],
    [collected, 1, { attempts: 1 }],
    [collected, 0, { attempts: 1 }],
    [failed, 2, { attempts: 1, next_attempt_ms: 90_000, fault_code: 'chain-unreachable' }],
    [failed, 1, { attempts: 1, fault_code: 'chain-unreachable' }],
    [none, 1, {}],
  ])('%o, computed from values at change %i of 2', ([end, inputChanges, changed]) => {
    const before = { ...expected, changes: 2 }
    const after = endOfHour(before, end, { metrics: 0, digest: 0, provenance: null, inputChanges })
    const { fault: _, failures: __, ...rest } = change(before, after) ?? {}
    expect(rest).toEqual(changed)
  })

  it('adds what the reading has stored, also where nothing is said of the hour', () => {
    const stored = { metrics: 2, digest: 2 ** 32 - 4, provenance: 8 }
    expect(change(done, endOfHour(done, none, stored))).toEqual({ metrics: 6, digest: 5, provenance: 8 })
    expect(change(done, endOfHour(done, none, { ...stored, digest: -10 - 2 ** 32, provenance: null }))).toEqual({
      ...{ metrics: 6, digest: 2 ** 32 - 1 },
    })
    // Pruned metrics are not counted.
    const pruned = { ...done, metrics: null, digest: null }
    expect(change(pruned, endOfHour(pruned, collected, stored))).toEqual({ provenance: 8 })
  })

  it('keeps the newest failed attempts, of each the beginning of its reason', () => {
    const long = new Fault('chain-unreachable', 'x'.repeat(500))
    let row: HourColumns | undefined = expected
    for (let attempt = 1; attempt <= 9; attempt += 1)
      row = endOfHour(row, { ...failed, fault: long, nowMs: attempt * 1_000 })
    expect(row?.failures).toHaveLength(2_000)
    const attempts = failedAttempts(row?.failures ?? null)
    expect(attempts.map(({ atMs }) => atMs / 1_000)).toEqual([3, 4, 5, 6, 7, 8, 9])
    expect(attempts.at(-1)?.reason).toBe(`${'x'.repeat(300)}…`)
    expect(failedAttempts(null)).toEqual([])
  })
})
