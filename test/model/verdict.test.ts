import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Batch, isBatch } from '../../src/model/batch.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { Metric } from '../../src/model/metric.ts'
import { readRemark } from '../../src/model/remarks.ts'
import { type Answer, verdict } from '../../src/model/verdict.ts'
import { anHour, metrics } from '../support/metrics.ts'

function batchOf(count: number): Batch {
  const batch = metrics(count)
  if (!isBatch(batch)) throw new Error('empty')
  return batch
}

const answered = (status: number, body?: unknown): Answer => ({ kind: 'answered', status, body })
const result = (processed: number, errors: unknown[] = [], warnings: unknown[] = [], success = true) =>
  answered(200, { success, processed, errors, warnings })

describe('the verdict of an answer', () => {
  it.each<[string, Answer, string]>([
    ['200, all processed', result(3), 'settled'],
    ['201, all processed', answered(201, { success: true, processed: 3, errors: [], warnings: [] }), 'settled'],
    ['a body that is not understood', answered(200, 'OK'), 'transient'],
    ['no body', answered(204), 'transient'],
    ['success false without errors', result(3, [], [], false), 'transient'],
    ['400', answered(400, { error: 'bad' }), 'refused'],
    ['422', answered(422), 'refused'],
    ['413', answered(413), 'refused'],
    ['401', answered(401), 'key-refused'],
    ['403', answered(403), 'protocol-refused'],
    ['404', answered(404), 'protocol-refused'],
    ['408', answered(408), 'transient'],
    ['425', answered(425), 'transient'],
    ['429', answered(429), 'transient'],
    ['500', answered(500), 'transient'],
    ['503', answered(503), 'transient'],
    ['301', answered(301), 'misdirected'],
    ['307', answered(307), 'misdirected'],
    ['405', answered(405), 'misdirected'],
    ['no answer', { kind: 'unanswered', reason: 'no answer (ECONNRESET)' }, 'transient'],
  ])('%s is %3$s', (_, answer, kind) => {
    expect(verdict(answer, batchOf(3)).kind).toBe(kind)
  })

  it('delivers all when all were processed', () => {
    const batch = batchOf(3)
    expect(verdict(result(3), batch)).toMatchObject({ delivered: batch, dead: [], resend: [] })
  })

  it('keeps the instant before which nothing may be sent', () => {
    expect(verdict({ kind: 'answered', status: 429, body: {}, notBeforeMs: 42 }, batchOf(1))).toMatchObject({
      notBeforeMs: 42,
    })
  })

  it('kills the metric an error names, with the service’s words, and delivers the rest', () => {
    const batch = batchOf(3)
    const found = verdict(result(2, [{ id: 'vault___M1', message: 'too odd' }]), batch)
    expect(found).toMatchObject({
      kind: 'settled',
      delivered: [batch[0], batch[2]],
      dead: [{ metric: batch[1], reason: 'too odd' }],
      resend: [],
    })
  })

  it('sends again what does not add up: an error it cannot match, or a count without a word', () => {
    const batch = batchOf(3)
    for (const answer of [result(2, ['something is wrong']), result(2), result(3, [{ id: 'vault___M1' }])]) {
      expect(verdict(answer, batch)).toMatchObject({ kind: 'settled', delivered: [], dead: [], resend: batch })
    }
  })

  it('reads words that nest deeper than can be written again', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
    const found = verdict(result(3, [], [deep]), batchOf(3))
    expect(found).toMatchObject({ kind: 'settled', warnings: [{ text: 'words nested too deeply to be read' }] })
    expect(verdict(answered(400, deep), batchOf(3))).toMatchObject({ kind: 'refused' })
  })

  it('takes an error about a single metric as its refusal', () => {
    expect(verdict(result(0, ['whatever']), batchOf(1))).toMatchObject({ kind: 'refused', reason: 'whatever' })
  })

  it('never delivers and kills the same metric, and never invents one, whatever the body', () => {
    const batch = batchOf(5)
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.anything(), (status, body) => {
        const found = verdict({ kind: 'answered', status, body }, batch)
        if (found.kind !== 'settled') return
        const named = [...found.delivered, ...found.dead.map(({ metric }) => metric), ...found.resend]
        expect(new Set(named).size).toBe(named.length)
        expect(named.every(metric => batch.includes(metric))).toBe(true)
      }),
    )
  })
})

describe('a remark', () => {
  const batch = batchOf(12)
  it.each<[unknown, number | undefined]>([
    [{ id: 'vault___M3', message: 'long label' }, 3],
    ['Metric vault___M1 already exists', 1],
    ['vault___M10: label too long', 10],
    [{ index: 4, error: 'bad' }, 4],
    ['metrics[7].value: must be a number', 7],
    ['metrics.7.value: must be a number', 7],
    [{ path: ['metrics', 2, 'value'], message: 'bad' }, 2],
    [{ metric: { id: 'vault___M5' } }, 5],
    ['vault___M1 and vault___M2 collide', undefined],
    ['my-vault___M1 is wrong', undefined],
    [{ index: 99 }, undefined],
    [17, undefined],
    [null, undefined],
    [{}, undefined],
  ])('%j is about metric %s', (entry, index) => {
    expect(readRemark(entry, batch).metric).toBe(index === undefined ? undefined : batch[index])
  })

  it('tells the hours of one metric id apart by the timestamp', () => {
    const later = metrics(1, hourAfter(anHour, 1))
    const both: readonly Metric[] = [...metrics(1), ...later]
    if (!isBatch(both)) throw new Error('empty')
    expect(readRemark('vault___M0 at 2026-11-20T14:00:00.000Z exists', both).metric).toBe(later[0])
    expect(readRemark('vault___M0 exists', both).metric).toBeUndefined()
  })

  it('that names two hours of one metric id is about neither', () => {
    const both = [...metrics(1), ...metrics(1, hourAfter(anHour, 1))]
    if (!isBatch(both)) throw new Error('empty')
    const text = 'vault___M0 differs between 2026-11-20T13:00:00Z and 2026-11-20T14:00:00Z'
    expect(readRemark(text, both).metric).toBeUndefined()
  })

  it('about an id and hour that the batch holds twice is about neither', () => {
    const twice = [...metrics(1), ...metrics(1)]
    if (!isBatch(twice)) throw new Error('empty')
    expect(readRemark('vault___M0 at 2026-11-20T13:00:00Z exists', twice).metric).toBeUndefined()
  })

  it.each<[unknown]>([
    [{ index: 4, position: 5 }],
    ['metrics[7] and metrics[8] collide'],
    [{ index: 4, path: ['metrics', 2, 'value'] }],
  ])('with two different indexes is about neither: %j', entry => {
    expect(readRemark(entry, batch).metric).toBeUndefined()
  })

  it('is bounded', () => {
    expect(readRemark('x'.repeat(10_000), batch).text).toHaveLength(500)
  })
})
