import { describe, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { liveThrough } from './cron.ts'

describe('a cron that drops 40 of 100 runs and delays the others by up to 12 hours', () => {
  it.each([
    [1, 'always', 'latest'],
    [2, 'never', 'latest'],
    [3, 'sometimes', 'history'],
  ] as const)(
    'delivers what a daemon does (seed %i, outbox kept: %s, the service lists: %s)',
    async (seed, keeps, shape) => {
      await liveThrough({ dice: dice(seed), hours: 24, keeps, shape })
    },
  )
})
