import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { readRemark, wordsOf } from '../../src/model/remarks.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { asBatch, batchOf } from './batches.ts'

describe('a remark', () => {
  const batch = batchOf(12)
  it.each<[unknown, number | undefined]>([
    [{ id: 'vault___M3', message: 'long label' }, 3],
    ['Metric vault___M1 already exists', 1],
    ['vault___M10: label too long', 10],
    ['"vault___M1"', 1],
    ['(vault___M1)', 1],
    ['vault___M1.', 1],
    [{ index: 4, error: 'bad' }, 4],
    [{ index: 0, error: 'bad' }, 0],
    [{ idx: 4 }, 4],
    [{ position: 4 }, 4],
    ['metrics[7].value: must be a number', 7],
    ['metrics.7.value: must be a number', 7],
    ['/metrics/7/value must be a number', 7],
    [{ instancePath: '/metrics/11/value', keyword: 'type' }, 11],
    [{ path: ['metrics', 2, 'value'], message: 'bad' }, 2],
    [{ metric: { id: 'vault___M5' } }, 5],
    [{ errors: [{ detail: { on: 'vault___M5' } }] }, 5],
    [{ vault___M5: ['bad'] }, 5],
    [{ id: 'vault___M3', index: 4 }, 3],
    ['vault___M1 and vault___M2 collide', undefined],
    ['my-vault___M1 is wrong', undefined],
    ['vault___M1x is wrong', undefined],
    ['vault___M is wrong', undefined],
    [{ index: 99 }, undefined],
    [{ index: -1 }, undefined],
    [{ index: 1.5 }, undefined],
    [{ index: '4' }, undefined],
    ['metrics[] is wrong', undefined],
    ['metrics[123456] is wrong', undefined],
    [17, undefined],
    [true, undefined],
    [null, undefined],
    [undefined, undefined],
    [{}, undefined],
    [[], undefined],
  ])('%j is about metric %s', (entry, index) => {
    expect(readRemark(entry, batch).metric).toBe(index === undefined ? undefined : batch[index])
  })

  it.each<[unknown]>([
    [{ index: 3, message: 'differs from vault___M5' }],
    [{ index: 4, message: 'vault___M3 is odd' }],
    ['vault___M3 is as metrics[4]'],
    [{ id: 'vault___M3', metricId: 'vault___M4' }],
  ])('that may be about two metrics is about neither: %j', entry => {
    expect(readRemark(entry, batch).metric).toBeUndefined()
  })

  it('is a guess, unless the id stands in a field or agrees with an index', () => {
    const isGuess = (entry: unknown) => readRemark(entry, batch).isGuess === true
    expect([{ id: 'vault___M3' }, { index: 3, message: 'vault___M3' }, { vault___M3: 'odd' }].some(isGuess)).toBe(false)
    expect([{ index: 3 }, 'vault___M3 is odd', 'metrics[3]', ['vault___M3']].every(isGuess)).toBe(true)
  })

  it('tells the hours of one metric id apart by the timestamp, in any offset', () => {
    const later = metrics(1, hourAfter(anHour, 1))
    const both = asBatch([...metrics(1), ...later])
    for (const text of [
      'vault___M0 at 2026-11-20T14:00:00.000Z exists',
      'vault___M0 at 2026-11-20T14:00:00Z exists',
      'vault___M0 at 2026-11-20T14:00:00 exists',
      'vault___M0 at 2026-11-20T15:00:00+01:00 exists',
      'vault___M0 at 2026-11-20T13:00:00.000-01:00 exists',
    ]) {
      expect(readRemark(text, both).metric).toBe(later[0])
    }
    expect(readRemark('vault___M0 exists', both).metric).toBeUndefined()
  })

  it('is not about an id that is a part of another, also up to a full stop', () => {
    const [short, long] = metrics(2).map((metric, index) => ({
      ...metric,
      id: (['vault___TVL', 'vault___TVL.24h'] as const)[index] ?? metric.id,
    }))
    const both = asBatch([short, long].filter(metric => metric !== undefined))
    expect(readRemark('vault___TVL.24h is odd', both).metric).toBe(long)
    expect(readRemark('odd is vault___TVL.', both).metric).toBe(short)
    expect(readRemark('vault___TVL.24h and vault___TVL are odd', both).metric).toBeUndefined()
  })

  it('that names two hours of one metric id is about neither', () => {
    const both = asBatch([...metrics(1), ...metrics(1, hourAfter(anHour, 1))])
    const text = 'vault___M0 differs between 2026-11-20T13:00:00Z and 2026-11-20T14:00:00Z'
    expect(readRemark(text, both).metric).toBeUndefined()
  })

  it('about an id and hour that the batch holds twice is about neither', () => {
    const twice = asBatch([...metrics(1), ...metrics(1)])
    expect(readRemark('vault___M0 at 2026-11-20T13:00:00Z exists', twice).metric).toBeUndefined()
  })

  it.each<[unknown]>([
    [{ index: 4, position: 5 }],
    ['metrics[7] and metrics[8] collide'],
    [{ index: 4, path: ['metrics', 2, 'value'] }],
  ])('with two different indexes is about neither: %j', entry => {
    expect(readRemark(entry, batch).metric).toBeUndefined()
  })

  it.each<[unknown, string]>([
    ['words', 'words'],
    [{ message: 'words', code: 7 }, 'words'],
    [{ message: '', error: 'words' }, 'words'],
    [{ message: { nested: true } }, '{"message":{"nested":true}}'],
    [{ code: 7 }, '{"code":7}'],
    [['a', 'b'], '["a","b"]'],
    [null, 'null'],
    [undefined, 'undefined'],
    [17, '17'],
  ])('%j says %s', (entry, text) => {
    expect(readRemark(entry, batch).text).toBe(text)
  })

  it('is bounded', () => {
    expect(readRemark('x'.repeat(10_000), batch).text).toHaveLength(500)
  })
})

describe('the words of an answer', () => {
  it.each<[unknown, string]>([
    [undefined, ''],
    [null, ''],
    ['', ''],
    ['gone', 'gone'],
    [{ error: 'gone' }, 'gone'],
    [{ errors: [{ message: 'a' }, 'b', 'a', 'c'] }, 'a; b'],
    [{ errors: [], message: 'c' }, 'c'],
    [{ statusCode: 500 }, '{"statusCode":500}'],
    ['two\n\tlines', 'two lines'],
    ['one\u001b[2J\u202eline', 'one [2J line'],
  ])('of %j are %j', (body, words) => {
    expect(wordsOf(body)).toBe(words)
  })

  it('are bounded', () => {
    expect(wordsOf({ errors: ['x'.repeat(1_000)] })).toHaveLength(300)
  })
})
