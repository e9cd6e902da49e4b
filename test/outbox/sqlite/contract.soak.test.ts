import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { isSoak } from '../../support/soak.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { outboxContract } from '../contract/outbox-contract.ts'
import { flawsOf } from '../support/contents.ts'
import { slowOutbox, someTurns } from '../support/slow-outbox.ts'

const { roll } = dice(1)

outboxContract(
  'an SQLite file',
  async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    // Runs last, when all handles are closed.
    onTestFinished(() => {
      if (existsSync(file)) expect(flawsOf(file)).toEqual([])
    })
    const open = async () => {
      const outbox = new SqliteOutbox(file)
      // In a soak each answer is late, so that the suite cannot come to rely on answers that are not.
      return isSoak ? slowOutbox(outbox, () => someTurns(roll)) : outbox
    }
    const damage = async (statement: string) => {
      const database = new Database(file)
      database.exec(statement)
      database.close()
    }
    return { open, damage, time: new VirtualTime(anHour) }
  },
  150,
)
