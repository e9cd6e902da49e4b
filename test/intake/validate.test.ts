import { describe, expect, it } from 'vitest'
import { hourFault, type PastOf, storedPart, type Validated, validate, WindowPast } from '../../src/intake/validate.ts'
import { Fault, type FaultRecord } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { type MetricSpec, metricId } from '../../src/model/metric.ts'
import type { RunOutcome } from '../../src/runner/runner.ts'
import { anHour } from '../support/metrics.ts'

function validated(
  readings: RunOutcome['readings'],
  specs: Readonly<Record<string, MetricSpec>> = {},
  failures: RunOutcome['failures'] = {},
  pastOf: PastOf = () => undefined,
): Validated {
  const metrics = Object.fromEntries(Object.keys(readings).map(label => [label, specs[label] ?? {}]))
  return validate({ protocolId: 'vault' }, anHour, { metrics, history: true }, { readings, failures, pins: [] }, pastOf)
}

const failure = (message: string, parts: Partial<FaultRecord> = {}): FaultRecord => ({
  code: 'http-unreachable',
  message,
  facts: {},
  ...parts,
})

describe('a reading', () => {
  it('becomes a metric of its hour, with the unit and module that were declared', () => {
    expect(validated({ TVL: 5 }, { TVL: { unit: 'USD', module: 'vaults' } })).toEqual({
      acceptedValues: [
        {
          metric: { id: 'vault___TVL', protocolId: 'vault', hour: anHour, value: 5, unit: 'USD', module: 'vaults' },
        },
      ],
      failures: {},
    })
  })

  it('of −0 is stored as 0', () => {
    expect(validated({ TVL: -0 }).acceptedValues[0]?.metric.value).toBe(0)
  })

  it('of a label that was not declared is no metric, whatever its name', () => {
    const readings = { TVL: 1, Other: 666, toString: 666 }
    const outcome = { readings, failures: {}, pins: [] }
    const description = { metrics: { TVL: {} }, history: true }
    const { acceptedValues, failures } = validate(
      { protocolId: 'vault' },
      anHour,
      description,
      outcome,
      () => undefined,
    )
    expect(acceptedValues.map(({ metric }) => metric.id)).toEqual(['vault___TVL'])
    expect(Object.keys(failures)).toEqual(['Other', 'toString'])
    expect(failures['Other']).toMatchObject({ code: 'collector-output' })
  })

  it('that is declared and of which nothing is said is a failure', () => {
    const outcome = { readings: {}, failures: {}, pins: [] }
    const description = { metrics: { TVL: {} }, history: true }
    const { failures } = validate({ protocolId: 'vault' }, anHour, description, outcome, () => undefined)
    expect(failures['TVL']).toMatchObject({ message: expect.stringContaining('missing') })
  })

  it.each<[value: number, hold: string | undefined]>([
    [1, undefined],
    [3, undefined],
    [0.999, '0.999 is below the declared minimum of 1'],
    [3.001, '3.001 is above the declared maximum of 3'],
  ])('of %d, declared to be from 1 to 3: held as %j', (value, hold) => {
    const expected = hold === undefined ? undefined : { kind: 'bounds', reason: hold }
    expect(validated({ Rate: value }, { Rate: { min: 1, max: 3 } }).acceptedValues[0]?.hold).toEqual(expected)
  })

  it('is compared with what is known of its own metric id at that hour', () => {
    const asked: unknown[] = []
    const pastOf: PastOf = (id, hour) => {
      asked.push([id, hour])
      return id === 'vault___Rate' ? { previous: { hour: anHour, value: 1 } } : undefined
    }
    const { acceptedValues } = validated({ Rate: 3, Fee: 3 }, { Rate: { maxJump: 1 }, Fee: { maxJump: 1 } }, {}, pastOf)
    expect(acceptedValues.map(({ hold }) => hold?.kind)).toEqual(['jump', undefined])
    expect(asked).toEqual([
      ['vault___Rate', anHour],
      ['vault___Fee', anHour],
    ])
  })

  it('of no items is compared with an hour of a window that lies further back than a day', () => {
    const window = new WindowPast(() => undefined)
    const metric = { id: metricId('vault', 'TVL'), protocolId: 'vault', hour: anHour, value: 3 }
    window.add([{ metric }])
    const later = hourAfter(anHour, 60)
    expect(window.of(metric.id, later, true)?.previous).toEqual({ hour: anHour, value: 3 })
    expect(window.of(metric.id, later)?.previous).toBeUndefined()
  })

  it('of a label or unit that does not fit the interface fails alone, and says why', () => {
    const long = 'L'.repeat(300)
    const unit = 'U'.repeat(101)
    const { acceptedValues, failures } = validated({ [long]: 1, TVL: 2, Odd: 3 }, { Odd: { unit } })
    expect(acceptedValues.map(({ metric }) => metric.id)).toEqual(['vault___TVL'])
    expect(failures).toEqual({
      [long]: { code: 'collector-output', message: 'id: longer than 300 characters', facts: { label: long } },
      Odd: { code: 'collector-output', message: 'unit: longer than 100 characters', facts: { label: 'Odd' } },
    })
  })

  it('leaves the failures of other labels as they are', () => {
    const failures = { Price: failure('no answer') }
    expect(validated({ TVL: 1 }, {}, failures)).toMatchObject({
      acceptedValues: [{ metric: { value: 1 } }],
      failures,
    })
  })
})

describe('the fault of an hour', () => {
  it('is absent when no label failed', () => {
    expect(hourFault({})).toBeUndefined()
  })

  it('has each reason with its labels and its own fix', () => {
    const fault = hourFault({
      A: failure('no answer', { facts: { host: 'example.org' } }),
      B: failure('no answer'),
      C: failure('reverted', { code: 'chain-call-reverted', fix: 'check the address' }),
      D: failure('"D" is odd', { fix: 'another' }),
      E: failure('"E" is odd', { fix: 'another' }),
    })
    expect(fault).toEqual(
      new Fault('http-unreachable', 'A, B: no answer; C: reverted – check the address; D, E: is odd – another'),
    )
  })

  it('of one reason has its facts and its fix', () => {
    const down = failure('no answer', { facts: { host: 'example.org' }, fix: 'ask again' })
    const fault = new Fault('http-unreachable', 'A, B: no answer', { facts: { host: 'example.org' }, fix: 'ask again' })
    expect(hourFault({ A: down, B: down })).toEqual(fault)
  })

  it('may succeed later when one of its labels may', () => {
    const permanent = failure('reverted', { code: 'chain-call-reverted' })
    expect(hourFault({ A: permanent, B: failure('no answer') })?.code).toBe('http-unreachable')
    expect(hourFault({ A: permanent })?.code).toBe('chain-call-reverted')
  })

  it.for([
    [10, 'L9: it is L9', 'L9: down'],
    [11, 'L9: it is L9; and 1 more reason', 'L9 and 1 more: down'],
    [13, 'L9: it is L9; and 3 more reasons', 'L9 and 3 more: down'],
  ] as const)('names ten reasons and ten labels of one, and counts the others: %i', ([length, ofReasons, ofLabels]) => {
    const labels = Array.from({ length }, (_, place) => `L${place}`)
    const each = Object.fromEntries(labels.map(label => [label, failure(`it is ${label}`)]))
    expect(hourFault(each)?.message).toMatch(new RegExp(`^L0: it is L0; .*; ${ofReasons}$`))
    const same = Object.fromEntries(labels.map(label => [label, failure('down')]))
    expect(hourFault(same)?.message).toBe(`L0, L1, L2, L3, L4, L5, L6, L7, L8, ${ofLabels}`)
  })
})

const recorded = { version: '1', code: 'c', options: 'o', hosts: {} }

it.each([
  [{}, {}],
  [{ inputChanges: 0 }, { inputChanges: 0 }],
  [{ provenance: recorded }, { provenance: recorded }],
])('of a result with %j is stored what it has', (parts, stored) => {
  expect(storedPart({ acceptedValues: [], pins: [], failures: {}, ...parts })).toEqual({
    acceptedValues: [],
    pins: [],
    ...stored,
  })
})
