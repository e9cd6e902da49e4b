import { expect, it } from 'vitest'
import { PushesUnderWay } from '../../../src/delivery/record/pushes-under-way.ts'

/** Pushes that end when a test lets them, by a clock that it sets. */
function stage() {
  const clock = { ms: 5_000 }
  const underWay = new PushesUnderWay({ steadyMs: () => clock.ms })
  const push = () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const ended = underWay.run(() => promise).catch(() => {})
    const end = async (afterMs: number, settle: () => void) => {
      clock.ms += afterMs
      settle()
      await ended
    }
    return { answer: (afterMs: number) => end(afterMs, resolve), fail: (afterMs: number) => end(afterMs, reject) }
  }
  return { clock, underWay, push }
}

it('answers of the next turn are awaited while any push is under way', async () => {
  const { underWay, push } = stage()
  expect([0, 1].map(turns => underWay.areMoreSoon(turns))).toEqual([false, false])
  const [one, other] = [push(), push()]
  await one.answer(50)
  expect([0, 1, 2].map(turns => underWay.areMoreSoon(turns))).toEqual([true, true, false])
  await other.fail(0)
  expect(underWay.areMoreSoon(0)).toBe(false)
})

it('… and later ones of a service next door, as long as more than one push is', async () => {
  const { underWay, push } = stage()
  const [first, second, third, fourth] = [push(), push(), push(), push()]
  await first.answer(1)
  expect(underWay.areMoreSoon(99)).toBe(true)
  await second.fail(0)
  expect(underWay.areMoreSoon(99)).toBe(true)
  await third.answer(0)
  expect(underWay.areMoreSoon(99)).toBe(false)
  await fourth.answer(0)
})

it('… but not of one that takes longer, until it is quick again', async () => {
  const { underWay, push } = stage()
  await push().answer(50)
  const [first, second, third] = [push(), push(), push()]
  expect(underWay.areMoreSoon(2)).toBe(false)
  await first.answer(1)
  expect(underWay.areMoreSoon(2)).toBe(true)
  await second.answer(50)
  await third.answer(0)
})

it('… nor of pushes on which it hangs while it takes others', async () => {
  const { clock, underWay, push } = stage()
  const hanging = [push(), push()]
  clock.ms += 3
  await push().answer(1)
  expect(underWay.areMoreSoon(2)).toBe(false)
  const [quick] = [push(), push()]
  expect(underWay.areMoreSoon(2)).toBe(true)
  await quick?.answer(1)
  expect(underWay.areMoreSoon(2)).toBe(false)
  for (const one of hanging) await one.fail(30_000)
})
