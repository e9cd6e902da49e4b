import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { outboxContract } from '../contract/outbox-contract.ts'
import { flawsOf } from '../support/contents.ts'

outboxContract('an SQLite file', async () => {
  const file = join(temporaryFolder(), 'outbox.db')
  // Runs last, when all handles are closed.
  onTestFinished(() => {
    if (existsSync(file)) expect(flawsOf(file)).toEqual([])
  })
  return { open: async () => new SqliteOutbox(file), time: new VirtualTime(anHour) }
})
