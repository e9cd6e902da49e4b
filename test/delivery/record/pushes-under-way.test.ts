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
  return { underWay, push }
}

it('answers are awaited of a service next door, as long as more than one push is under way', async () => {
  const { underWay, push } = stage()
  const [first, second, third, fourth] = [push(), push(), push(), push()]
  expect(underWay.areMoreSoon).toBe(false)
  await first.answer(1)
  expect(underWay.areMoreSoon).toBe(true)
  await second.fail(0)
  expect(underWay.areMoreSoon).toBe(true)
  await third.answer(0)
  expect(underWay.areMoreSoon).toBe(false)
  await fourth.answer(0)
  expect(underWay.areMoreSoon).toBe(false)
})

it('… and of none that takes longer, until it is quick again', async () => {
  const { underWay, push } = stage()
  const pushes = [push(), push(), push(), push()]
  await pushes[0]?.answer(50)
  expect(underWay.areMoreSoon).toBe(false)
  const quick = push()
  await quick.answer(1)
  expect(underWay.areMoreSoon).toBe(true)
})
