import { describe, expect, it } from 'vitest'
import type { CollectorConfig } from '../../../src/config/config.ts'
import { DerivedOrder } from '../../../src/intake/derived/derived-order.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import type { DueHour } from '../../../src/outbox/contract/hours.ts'
import { anHour } from '../../support/metrics.ts'

const place = { file: '/tidegauge.yaml', line: 1, column: 1 }

function collector(id: string, options: unknown = {}): CollectorConfig {
  const [protocolId = '', own = ''] = id.split('/')
  return { id, protocolId, use: own.startsWith('derived') ? 'derived' : own, options, place, placeOf: () => place }
}

const reader = collector('a/reader')
const other = collector('b/other')
const sums = collector('a/derived', { values: { Sum: { sum: ['A', 'b___B'] } } })
const means = collector('c/derived', { values: { Mean: { of: 'a___Sum', take: 'mean', hours: 9 } } })

/** All four, described. */
function order(): DerivedOrder {
  const all = new DerivedOrder([means, reader, sums, other])
  const labels = { 'a/reader': 'A', 'b/other': 'B', 'a/derived': 'Sum', 'c/derived': 'Mean' }
  for (const one of [reader, other, sums, means]) {
    all.described(one, { history: true, metrics: { [labels[one.id as keyof typeof labels]]: {} } })
  }
  return all
}

const due = (one: CollectorConfig, back = 0): DueHour => {
  return { collector: one.id, hour: hourAfter(anHour, -back), attempts: 0 }
}

describe('the order of derived collectors', () => {
  it('knows who gives their inputs, and who takes those of another', () => {
    const all = order()
    expect(all.givers(sums)).toEqual([reader, other])
    expect(all.takers(sums)).toEqual([means])
    expect(all.allGivers([means])).toEqual([sums, reader, other])
    expect(all.allGivers([reader])).toEqual([])
  })

  it.each<[string, DueHour[], DueHour[], [string, number][][]]>([
    ['an hour whose inputs are there', [due(sums)], [], [[['a/derived', 0]]]],
    ['none while an input of it is read', [due(sums)], [due(other)], []],
    ['none while an input of it is to be read', [due(sums), due(reader)], [], []],
    ['none while what it needs is to be derived', [due(means), due(sums)], [], [[['a/derived', 0]]]],
    ['the current hour while inputs of a past one are read', [due(sums)], [due(reader, 3)], [[['a/derived', 0]]]],
    ['no past hour while inputs of any hour are read', [due(sums, 2)], [due(reader, 3)], []],
    [
      'past hours together, the oldest first',
      [due(sums), due(sums, 1), due(sums, 2)],
      [],
      [
        [
          ['a/derived', 2],
          ['a/derived', 1],
          ['a/derived', 0],
        ],
      ],
    ],
    ['none while some of its own are computed', [due(sums)], [due(sums, 1)], []],
  ])('starts %s', (_, hours, underWay, expected) => {
    const started = order().startable(hours, underWay, anHour, () => true)
    const shown = started.map(own => own.map(one => [one.collector, (anHour - one.hour) / 3_600_000]))
    expect(shown).toEqual(expected)
  })

  it('starts none before the inputs are planned', () => {
    expect(order().startable([due(sums)], [], anHour, id => id !== other.id)).toEqual([])
  })
})
