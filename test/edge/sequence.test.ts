import { expect, it } from 'vitest'
import { Sequence } from '../../src/edge/sequence.ts'

it('work in a sequence begins when the work before it has ended, well or not', async () => {
  const sequence = new Sequence()
  const events: string[] = []
  const work = (name: string, ends: Promise<void>) =>
    sequence.run(async () => {
      events.push(`${name} begins`)
      await ends
      events.push(`${name} ends`)
      return name
    })
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const results = Promise.allSettled([
    work('one', one.promise),
    work('two', two.promise),
    work('three', Promise.resolve()),
  ])
  // The first begins at once: none is under way.
  expect(events).toEqual(['one begins'])
  await new Promise(resolve => setImmediate(resolve))
  expect(events).toEqual(['one begins'])
  one.resolve()
  await new Promise(resolve => setImmediate(resolve))
  two.reject(new Error('it failed'))
  expect(await results).toMatchObject([{ value: 'one' }, { reason: { message: 'it failed' } }, { value: 'three' }])
  expect(events).toEqual(['one begins', 'one ends', 'two begins', 'three begins', 'three ends'])
  const four = work('four', Promise.resolve())
  expect(events.at(-1)).toBe('four begins')
  expect(await four).toBe('four')
})
