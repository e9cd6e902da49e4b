import { expect, it, onTestFinished } from 'vitest'
import { unlessAborted } from '../../src/edge/unless-aborted.ts'

it.each(['before', 'after'])('a promise that rejects later is not left unhandled: aborted %s the call', async when => {
  const stop = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  const before = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
  onTestFinished(() => {
    process.off('unhandledRejection', note)
    for (const listener of before) process.on('unhandledRejection', listener)
  })
  const reason = new Error('stopped')
  if (when === 'before') stop.abort(reason)
  const result = unlessAborted(promise, stop.signal)
  stop.abort(reason)
  await expect(result).rejects.toBe(reason)
  reject(new Error('what it was waiting for is gone'))
  await new Promise(resolve => setImmediate(resolve))
  expect(unhandled).toEqual([])
})
