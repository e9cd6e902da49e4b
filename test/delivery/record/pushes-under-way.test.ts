import { expect, it } from 'vitest'
import { PushesUnderWay } from '../../../src/delivery/record/pushes-under-way.ts'

/** Pushes that end when a test lets them, by a clock that it sets. */
function stage() {
  const clock = { ms: 5_000 }
  const underWay = new PushesUnderWay({ steadyMs: () => clock.ms })
  const push = () => {
    const ended = underWay.begin()
    const end = (afterMs: number) => {
      clock.ms += afterMs
      ended()
    }
    return { end }
  }
  return { clock, underWay, push }
}

it('answers of the next turn of a service far away are awaited while any push is under way', () => {
  const { underWay, push } = stage()
  expect([0, 1].map(turns => underWay.areMoreSoon(turns))).toEqual([false, false])
  const [one, other] = [push(), push()]
  one.end(50)
  expect([0, 1, 2].map(turns => underWay.areMoreSoon(turns))).toEqual([true, true, false])
  other.end(0)
  expect(underWay.areMoreSoon(0)).toBe(false)
})

it('… and later ones of a service next door, as long as more than one push is', () => {
  const { underWay, push } = stage()
  const [first, second, third, fourth] = [push(), push(), push(), push()]
  first.end(1)
  expect(underWay.areMoreSoon(99)).toBe(true)
  second.end(0)
  expect(underWay.areMoreSoon(99)).toBe(true)
  third.end(0)
  expect([0, 99].map(turns => underWay.areMoreSoon(turns))).toEqual([false, false])
  fourth.end(0)
})

it('… but not of one that takes longer, until it is quick again', () => {
  const { underWay, push } = stage()
  push().end(50)
  const [first, second, third] = [push(), push(), push()]
  expect(underWay.areMoreSoon(2)).toBe(false)
  first.end(1)
  expect(underWay.areMoreSoon(2)).toBe(true)
  second.end(50)
  third.end(0)
})

it('… nor of pushes on which it hangs while it takes others', () => {
  const { clock, underWay, push } = stage()
  const hanging = [push(), push()]
  clock.ms += 3
  push().end(1)
  expect(underWay.areMoreSoon(2)).toBe(false)
  const [quick] = [push(), push()]
  expect(underWay.areMoreSoon(2)).toBe(true)
  quick?.end(1)
  expect(underWay.areMoreSoon(2)).toBe(false)
  for (const one of hanging) one.end(30_000)
})
