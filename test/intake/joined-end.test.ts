import { expect, it } from 'vitest'
import {
  joinedEnd,
  joinedParts,
  type PartEnd,
  partFromRecord,
  partRecord,
} from '../../src/intake/backfill/joined-end.ts'
import type { CollectorCounts, CollectorHours } from '../../src/intake/backfill/work.ts'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { collector } from '../support/collectors.ts'
import { anHour } from '../support/metrics.ts'

const none = { alreadyCollected: 0, leftToDaemon: 0, impossible: 0, done: 0, failed: 0, added: 0, corrected: 0 }
const counts = (id: string, of: Partial<CollectorCounts>): CollectorCounts => ({ ...none, collector: id, ...of })
const hours = (count: number): Hour[] => Array.from({ length: count }, (_, index) => hourAfter(anHour, index))
const share = (id: string, count: number): CollectorHours => {
  const own = { ...collector('pool'), id }
  const work = { collector: own, description: { metrics: {}, history: true }, hours: hours(count), ...none }
  return { work, hours: hours(count) }
}
const down = (text: string) => new Fault('chain-unreachable', text)
const stopped = new Fault('stopped', 'it was asked to stop')
const calls = (count: number) => ({ requests: 1, calls: { eth_call: count } })
const part = (of: Partial<PartEnd['end']>, count = 1): PartEnd => ({
  end: { collectors: [], failures: [], early: [], left: 0, ...of },
  calls: calls(count),
})
const reason = (fault: Fault, count: number) => ({
  fault,
  count,
  spans: [{ collector: 'pool/a', from: anHour, to: anHour }],
})

it('the end of a part is the same after it was stored', () => {
  const whole = part({
    collectors: [counts('pool/a', { done: 3 })],
    failures: [reason(down('no answer'), 2)],
    early: [reason(down('no block'), 1)],
    left: 4,
    stopped: { fault: stopped },
  })
  expect(partFromRecord(JSON.parse(JSON.stringify(partRecord(whole))))).toEqual(whole)
  expect(partFromRecord(JSON.parse(JSON.stringify(partRecord(part({})))))).toEqual(part({}))
})

it('parts of one backfill add up, and what others collected meanwhile was there', () => {
  const before = [counts('pool/a', { alreadyCollected: 5, impossible: 1 }), counts('pool/b', {})]
  const parts = [
    {
      window: [share('pool/a', 10), share('pool/b', 10)],
      ended: part({
        collectors: [
          counts('pool/a', { done: 6, failed: 1, added: 12 }),
          counts('pool/b', { done: 10, added: 10, corrected: 2 }),
        ],
        failures: [reason(down('block 1 does not answer'), 1)],
      }),
    },
    {
      window: [share('pool/a', 4)],
      ended: part({
        collectors: [counts('pool/a', { done: 2, failed: 2 })],
        failures: [reason(down('block 2 does not answer'), 2)],
      }),
    },
  ]
  const { end, calls: all } = joinedEnd(before, parts, stopped)
  expect(end).toMatchObject({
    collectors: [
      { collector: 'pool/a', done: 8, failed: 3, alreadyCollected: 8, impossible: 1, added: 12 },
      { collector: 'pool/b', done: 10, failed: 0, alreadyCollected: 0, corrected: 2 },
    ],
    failures: [{ count: 3 }],
    left: 0,
  })
  expect(end.stopped).toBeUndefined()
  expect(all).toEqual({ requests: 2, calls: { eth_call: 2 } })
})

it('a part without an end is left, with the reason why', () => {
  const { end } = joinedEnd([counts('pool/a', {})], [{ window: [share('pool/a', 7)] }], stopped)
  expect(end).toMatchObject({ left: 7, stopped: { fault: stopped } })
  const full = new Fault('disk-full', 'the disk is full')
  const ended = part({ left: 2, stopped: { fault: full } })
  expect(joinedEnd([], [{ window: [share('pool/a', 7)], ended }], stopped).end).toMatchObject({
    left: 2,
    stopped: { fault: full },
  })
})

it('the ends of different collectors are one', () => {
  const [here, there] = [counts('pool/a', { done: 1 }), counts('pool/b', { done: 2 })]
  const both = joinedParts([part({ collectors: [here] }, 3), part({ collectors: [there], left: 1 }, 4)])
  expect(both).toEqual({
    end: { collectors: [here, there], failures: [], early: [], left: 1 },
    calls: { requests: 2, calls: { eth_call: 7 } },
  })
})
