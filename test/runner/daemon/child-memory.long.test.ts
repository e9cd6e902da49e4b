import { expect, it } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

it.skipIf(process.platform !== 'linux').for(['buffers', 'arrays'])(
  'a process of collectors is ended at its bound of memory, also outside of the heap (%s)',
  async way => {
    const { runner } = testRunner({ limits: { memoryMbMax: 128 } })
    const bad = faultOf(runner.collect(configured('./grows.ts', { options: { way } }), hour))
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject({ readings: { Level: 1 } })
    expect(await bad).toMatchObject({
      code: 'collector-hung',
      message: 'collector ./grows.ts gave no answer: its process needed more than 128 MB of memory',
      fix: expect.stringContaining('memory that only grows'),
    })
  },
)

it('hours that need too much memory together are read again, and all have their values', async () => {
  const { runner } = testRunner({ limits: { heapMbMax: 96 } })
  const hours = Array.from({ length: 16 }, (_, place) => hourAfter(hour, -place))
  const outcomes = await Promise.all(hours.map(each => runner.collect(configured('./large.ts'), each)))
  expect(outcomes.map(({ failures, readings }) => [failures, readings['Length']])).toEqual(
    hours.map(() => [{}, 2_000_000]),
  )
})
