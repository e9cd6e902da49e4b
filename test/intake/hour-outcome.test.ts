import { describe, expect, it } from 'vitest'
import { due, outcomeOf, type Purpose } from '../../src/intake/hour-outcome.ts'
import { Fault, type FaultCode, faultRecord } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { recollectBaseMs, recollectCapMs } from '../../src/model/limits.ts'
import type { Accepted } from '../../src/outbox/contract/metrics.ts'
import { anHour, metrics } from '../support/metrics.ts'

const nowMs = anHour + 5 * 60_000
const [metric] = metrics(1, anHour)
const values: readonly Accepted[] = metric ? [{ metric }] : []

const replaced: Purpose = { kind: 'replaced', oldest: hourAfter(anHour, -2) }
const first: Purpose = { kind: 'backfill', mode: 'first-stands' }
const overwrite: Purpose = { kind: 'backfill', mode: 'correct' }

interface Case {
  readonly purpose: Purpose
  readonly code?: FaultCode
  readonly before?: FaultCode
  readonly attempts?: number
  readonly hoursAgo?: number
  readonly accepted?: readonly Accepted[]
  readonly outcome: object
}

const retried = (waitMs: number) => ({ kind: 'stored', failure: { nextAttemptMs: nowMs + waitMs } })

const cases: Readonly<Record<string, Case>> = {
  'a due hour with all its values': { purpose: due, outcome: { kind: 'stored' } },
  'a due hour that failed': { purpose: due, code: 'chain-unreachable', outcome: retried(0.75 * recollectBaseMs) },
  'its third failure': { purpose: due, code: 'http-refused', attempts: 2, outcome: retried(3 * recollectBaseMs) },
  'its hundredth': { purpose: due, code: 'http-refused', attempts: 99, outcome: retried(0.75 * recollectCapMs) },
  'the hundredth of a chain that has no block past it': {
    purpose: due,
    code: 'chain-behind',
    attempts: 99,
    outcome: retried(22_500),
  },
  'a due hour of a chain that has no block past it': { purpose: due, code: 'chain-behind', outcome: retried(750) },
  'a due hour before the first block': { purpose: due, code: 'chain-before-first-block', outcome: { kind: 'gap' } },
  'a past hour whose state is missing, once': {
    purpose: due,
    code: 'chain-state-missing',
    hoursAgo: 3,
    outcome: { kind: 'stored' },
  },
  ...Object.fromEntries(
    [0, 1, 2].map(attempts => [
      `a past hour whose state was missing ${attempts} times`,
      {
        purpose: due,
        code: 'chain-state-missing',
        before: 'chain-state-missing',
        attempts,
        hoursAgo: 1,
        outcome: { kind: attempts === 2 ? 'gap' : 'stored' },
      },
    ]),
  ),
  'one that failed for another reason before': {
    purpose: due,
    code: 'chain-state-missing',
    before: 'chain-unreachable',
    attempts: 2,
    hoursAgo: 3,
    outcome: { kind: 'stored' },
  },
  'the current hour whose state is missing': {
    purpose: due,
    code: 'chain-state-missing',
    before: 'chain-state-missing',
    attempts: 7,
    outcome: { kind: 'stored' },
  },
  'an hour with another block': { purpose: replaced, outcome: { kind: 'stored', mode: 'correct' } },
  'one that cannot be read now': { purpose: replaced, code: 'chain-unreachable', outcome: { kind: 'left' } },
  'the oldest that is tried on': { purpose: replaced, code: 'http-refused', hoursAgo: 2, outcome: { kind: 'left' } },
  'one that is too old to be tried on': {
    purpose: replaced,
    code: 'chain-unreachable',
    hoursAgo: 3,
    outcome: { kind: 'given-up' },
  },
  'an hour of a backfill': { purpose: first, outcome: { kind: 'stored', mode: 'first-stands', unexpected: true } },
  'one that is overwritten': { purpose: overwrite, outcome: { kind: 'stored', mode: 'correct', unexpected: true } },
  'one that failed in part': {
    purpose: first,
    code: 'http-refused',
    outcome: { kind: 'stored', unexpected: true, failure: { nextAttemptMs: nowMs } },
  },
  'one that failed whole': {
    purpose: first,
    code: 'http-refused',
    accepted: [],
    outcome: { kind: 'stored', unexpected: true, failure: { nextAttemptMs: nowMs } },
  },
  'one before the first block': {
    purpose: first,
    code: 'chain-before-first-block',
    accepted: [],
    outcome: { kind: 'left' },
  },
  'one of which a part lies before the first block': {
    purpose: first,
    code: 'chain-before-first-block',
    outcome: { kind: 'stored', failure: { nextAttemptMs: nowMs } },
  },
}

describe('the outcome of', () => {
  it.each(Object.entries(cases))('%s', (_, { purpose, code, before, attempts = 0, hoursAgo = 0, ...rest }) => {
    const { accepted = values, outcome } = rest
    const hour = {
      hour: hourAfter(anHour, -hoursAgo),
      attempts,
      ...(before && { fault: faultRecord(new Fault(before, 'before')) }),
    }
    const fault = code && new Fault(code, 'it failed')
    const decided = outcomeOf(hour, { acceptedValues: accepted, ...(fault && { fault }) }, purpose, {
      nowMs,
      chance: 0.5,
    })
    expect(decided).toMatchObject(outcome)
    if (decided.kind === 'gap' || decided.kind === 'left' || decided.kind === 'given-up')
      expect(decided.fault).toBe(fault)
    else expect(decided.failure?.fault).toBe(fault)
  })
})
