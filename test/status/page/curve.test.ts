import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { curveOf } from '../../../src/status/page/protocols.ts'

const value = fc.double({ noNaN: true, noDefaultInfinity: true })

describe('a curve', () => {
  it('of no value is absent', () => {
    expect(curveOf([])).toBeUndefined()
    expect(curveOf([null, null])).toBeUndefined()
  })

  it('goes from the lowest to the highest value', () => {
    expect(curveOf([10, 30, 20])).toEqual({
      runs: [
        [
          { x: 0, y: 0 },
          { x: 1, y: 1 },
          { x: 2, y: 0.5 },
        ],
      ],
      low: 10,
      high: 30,
      count: 3,
    })
  })

  it('keeps a gap as a gap, and a single point between gaps as a run of its own', () => {
    const runs = curveOf([null, 1, 2, null, 3, null, null, 4])?.runs
    expect(runs?.map(run => run.map(point => point.x))).toEqual([[1, 2], [4], [7]])
  })

  it('that is flat is in the middle', () => {
    expect(
      curveOf([7, 7])
        ?.runs.flat()
        .map(point => point.y),
    ).toEqual([0.5, 0.5])
  })

  it('of the smallest numbers there are has a height', () => {
    expect(curveOf([0, -Number.MIN_VALUE])?.runs.flat()).toEqual([
      { x: 0, y: 1 },
      { x: 1, y: 0 },
    ])
  })

  it('stays within its height for any finite values, and loses none', () => {
    fc.assert(
      fc.property(fc.array(fc.option(value)), values => {
        const points = curveOf(values)?.runs.flat() ?? []
        const known = values.flatMap((value, x) => (value === null ? [] : [x]))
        expect(points.map(point => point.x)).toEqual(known)
        expect(points.every(({ y }) => y >= 0 && y <= 1)).toBe(true)
      }),
    )
  })
})
