import { expect, it } from 'vitest'
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
