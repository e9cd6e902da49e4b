import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { readingsOf } from '../../../collectors/values/declared.ts'

describe('values of which some are needed by others', () => {
  it('leave no rejection unhandled while a later one is waited for', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => void unhandled.push(reason)
    const listeners = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[]
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
    try {
      const readings = await readingsOf(
        { TVL: Promise.reject(new Error('no price')), Side: readFile(new URL(import.meta.url)) },
        label => label === 'Side',
      )
      await expect(readings['TVL']).rejects.toThrow('no price')
      expect(await readings['Side']).toBeDefined()
    } finally {
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    }
    expect(unhandled).toEqual([])
  })
})
