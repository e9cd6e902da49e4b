import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { warningKind } from '../../src/model/remarks.ts'

describe('what a warning is about', () => {
  it.each([
    ['label of 20 characters: 16 or fewer are advised', 'label-long'],
    ['vault___AVeryLongLabelIndeed: Label is too long', 'label-long'],
    ['Label exceeds 16 characters', 'label-long'],
    ['too long a label', 'label-long'],
    ['unit changed from USD to EUR', 'unit-changed'],
    ['inconsistent Unit', 'unit-changed'],
    ['existed with this timestamp: its value was updated', 'already-exists'],
    ['Metric vault___TVL already exists', 'already-exists'],
    ['posted more than once within the hour', 'already-exists'],
    ['duplicate metric', 'already-exists'],
    ['timestamp lies ahead', 'timestamp'],
    ['in the future', 'timestamp'],
    ['The value 12.5 looks odd', 'the value looks odd'],
    ['42', 'other'],
    ['', 'other'],
  ])('%j is %j', (text, kind) => {
    expect(warningKind(text)).toBe(kind)
  })

  it('does not depend on the name of a metric', () => {
    for (const id of ['vault___LastUpdate', 'label-long___Exceeds16', 'twice___Timestamps', 'a___b.unit']) {
      expect(warningKind(`${id} looks odd`)).toBe('looks odd')
    }
  })

  it('stays the same when only numbers, times and ids differ', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e15 }).map(value => value.toFixed(3))
    const id = fc.stringMatching(/^[a-z-]{1,10}___[A-Za-z]{1,10}$/)
    const instant = fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map(date => date.toISOString())
    const words = fc
      .tuple(id, number, instant)
      .map(([metric, value, at]) => `odd ${value} of ${metric} at ${at}, says I`)
    fc.assert(fc.property(words, words, (one, other) => warningKind(one) === warningKind(other)))
  })

  it('is never empty, and short', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 600, unit: 'binary' }), text => {
        const { length } = warningKind(text)
        return length > 0 && length <= 120
      }),
    )
  })
})
