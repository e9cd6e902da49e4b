import { expect, it } from 'vitest'
import { Semaphore } from '../../src/edge/semaphore.ts'

const never = new AbortController().signal

it('so many work at a time, the others in the order in which they came', async () => {
  const semaphore = new Semaphore(2)
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const begun: number[] = []
  const works = gates.map(({ promise }, index) =>
    semaphore.with(never, () => {
      begun.push(index)
      return promise
    }),
  )
  gates[1]?.resolve()
  await works[1]
  gates[2]?.resolve()
  await works[2]
  expect(begun.slice(0, 3)).toEqual([0, 1, 2])
  expect(begun.length).toBeLessThanOrEqual(4)
  for (const { resolve } of gates) resolve()
  await Promise.all(works)
  expect(begun).toEqual([0, 1, 2, 3, 4])
})

it('work that fails makes room', async () => {
  const semaphore = new Semaphore(1)
  const failing = semaphore.with(never, () => Promise.reject(new Error('no')))
  const next = semaphore.with(never, async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})

it.each(['before', 'just as'])('one that gives up %s there is room takes none', async when => {
  const semaphore = new Semaphore(1)
  const gate = Promise.withResolvers<void>()
  const first = semaphore.with(never, () => gate.promise)
  const stop = new AbortController()
  const givenUp = semaphore.with(stop.signal, async () => 'never').catch(error => error.message)
  const last = semaphore.with(never, async () => 'last')
  stop.abort(new Error('enough'))
  if (when === 'before') expect(await givenUp).toBe('enough')
  gate.resolve()
  await first
  expect(await givenUp).toBe('enough')
  expect(await last).toBe('last')
})
