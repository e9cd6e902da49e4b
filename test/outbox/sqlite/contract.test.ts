import { join } from 'node:path'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { outboxContract } from '../contract/outbox-contract.ts'

outboxContract('an SQLite file', async () => {
  const file = join(temporaryFolder(), 'outbox.db')
  return { open: async () => new SqliteOutbox(file), time: new VirtualTime(anHour) }
})
