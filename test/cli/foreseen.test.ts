import { describe, expect, it } from 'vitest'
import { foreseen, type Sighted } from '../../src/cli/check-collectors.ts'
import { warningKind } from '../../src/model/remarks.ts'
import { anHour } from '../support/metrics.ts'

const quiet: Sighted = { id: 'vault___TVL', protocolId: 'vault', hour: anHour, unit: 'USD', units: 'locked' }

describe('what is foreseen of a metric', () => {
  it.each<[what: string, parts: Partial<Sighted>, texts: readonly string[]]>([
    ['a new one', {}, []],
    ['the same unit', { past: { unit: 'USD', previous: { hour: anHour, value: 4 } } }, []],
    ['a label of 16 characters', { id: 'vault___0123456789abcdef' }, []],
    [
      'a label of 17',
      { id: 'vault___0123456789abcdefg' },
      ['the label has 17 characters: the service advises 16 at most, and warns'],
    ],
    [
      'another unit',
      { past: { unit: 'EUR' } },
      [
        'the unit changes from EUR to USD: its values are held and not sent; if that is meant, collect once with --allow-unit-change',
      ],
    ],
    [
      'another unit that is meant',
      { past: {}, units: 'changed' },
      ['the unit changes from none to USD: the service wants one unit for each metric id, and may warn'],
    ],
    [
      'another unit that is meant, of an hour that has its value',
      { past: { unit: 'EUR' }, units: 'changed', state: 'due' },
      ['the unit changes from EUR to USD after this hour: the service wants one unit for each metric id, and may warn'],
    ],
    [
      'another unit, of an hour that has its value',
      { past: { unit: 'EUR' }, state: 'due' },
      ['the unit changes from EUR to USD after this hour, whose value stands'],
    ],
    [
      'an hour that is delivered',
      { past: { unit: 'USD' }, state: 'delivered' },
      ['delivered already for 2026-11-20T13:00:00Z: the first value stands and is not posted a second time'],
    ],
    ['an hour that is due', { past: { unit: 'USD' }, state: 'due' }, []],
  ])('%s', (_, parts, texts) => {
    const metric = { ...quiet, ...parts }
    const warnings = foreseen(metric)
    expect(warnings.map(({ text }) => text)).toEqual(texts)
    for (const { metric: id, kind, text } of warnings) {
      expect(id).toBe(metric.id)
      // One vocabulary: what is foreseen is called what it will be called when the service says it.
      expect(warningKind(text)).toBe(kind)
    }
  })
})
