import { expect, it } from 'vitest'
import { repeated } from '../../src/edge/loop.ts'
import { systemTime } from '../../src/edge/time.ts'
import { unlessAborted } from '../../src/edge/unless-aborted.ts'

it('stops at once, also while its work waits for an answer', async () => {
  const failures: unknown[] = []
  const silent = new Promise<void>(() => {})
  const loop = repeated(
    stop => unlessAborted(silent, stop),
    3_600_000,
    systemTime,
    error => failures.push(error),
  )
  await loop.stop()
  expect(failures).toEqual([new Error('stopped')])
})
