import { it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { liveThrough } from './cron.ts'

it('a cron that drops 40 of 100 runs and delays the others delivers what a daemon does', async () => {
  await liveThrough({ dice: dice(1), hours: 4, keeps: 'sometimes', shape: 'latest' })
})
