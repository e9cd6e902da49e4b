import { describe, expect, it } from 'vitest'
import { BatchLimit, batchRisesAfter } from '../../../src/chain/endpoint/learnt.ts'
import { writtenCall } from '../../../src/chain/endpoint/rpc.ts'
import { echoes } from '../support/endpoints.ts'

const calls = (count: number) => echoes(count).map(writtenCall)

/** Requests, as large as the limit lets them be, until it is back at most; the node takes so many calls at once. */
function requestsUntil(limit: BatchLimit, sought: number, takes = Number.POSITIVE_INFINITY, most = 10_000): number {
  let requests = 0
  for (; limit.callsMax !== sought && requests < most; requests++) ask(limit, takes)
  return requests
}

function ask(limit: BatchLimit, takes: number): boolean {
  const all = calls(limit.callsMax)
  if (all.length > takes) limit.refused(all, 'calls')
  else limit.answered(all)
  return all.length > takes
}

/** Result of an outage that refuses every batch: one call at a time. */
function lowered(most = 64): BatchLimit {
  const limit = new BatchLimit(most)
  while (limit.callsMax > 1) limit.refused(calls(limit.callsMax), 'calls')
  limit.answered(calls(1))
  return limit
}

describe('a batch limit that was found', () => {
  it('rises to what it was after some full requests, then at once', () => {
    expect(requestsUntil(lowered(), 64)).toBeLessThan(batchRisesAfter + 8)
  })

  it('never rises above what it began with', () => {
    const limit = lowered(20)
    requestsUntil(limit, 20)
    for (let asked = 0; asked < 1_000; asked++) ask(limit, Number.POSITIVE_INFINITY)
    expect(limit.callsMax).toBe(20)
  })

  it('does not rise by requests that are smaller', () => {
    const limit = new BatchLimit(64)
    limit.refused(calls(64), 'calls')
    limit.answered(calls(32))
    for (let asked = 0; asked < 1_000; asked++) limit.answered(calls(3))
    expect(limit.callsMax).toBe(32)
  })

  it('is seldom overstepped where the node has one', () => {
    const limit = lowered()
    let refusals = 0
    for (let asked = 0; asked < 1_000; asked++) if (ask(limit, 10)) refusals++
    expect(refusals).toBeLessThan(1_000 / batchRisesAfter + 8)
    expect(limit.callsMax).toBeLessThanOrEqual(16)
  })

  it('rises for the characters of a request, too', () => {
    const limit = new BatchLimit(64)
    const long = [...calls(2), ...calls(2)].map(({ call }) => ({ call, text: 'x'.repeat(900_000) }))
    limit.refused(long, 'chars')
    expect(limit.fitting(long)).toBe(2)
    for (let asked = 0; asked <= batchRisesAfter; asked++) limit.answered(long.slice(0, 2))
    expect(limit.fitting(long)).toBe(4)
  })
})
