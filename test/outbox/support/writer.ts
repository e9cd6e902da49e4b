/**
 * Stores and settles for as long as it is let, for tests of power cuts: `node writer.ts FILE SEED`. Prints a line
 * `hour walBytes` for each hour that is stored for certain.
 */
import { statSync, writeSync } from 'node:fs'
import { dice } from '../../../src/devchain/dice.ts'
import { hourAfter, hourNumber } from '../../../src/model/hour.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { expectEach, expectHours } from '../../support/stored-hours.ts'

/** So many commits write fewer pages than the log holds before it begins again. */
const commits = 80

const [file = '', seed = '1'] = process.argv.slice(2)
const rolls = dice(Number(seed))
const outbox = new SqliteOutbox(file)
await expectHours(outbox, 'vault/c', anHour)
for (let count = 0; count < commits; count += 1) {
  const hour = hourAfter(anHour, count)
  await expectEach(outbox, 'vault/c', [hour])
  const accepted = metrics(rolls.whole(1, 12), hour).map(metric => ({ metric }))
  await outbox.intake.record({ collector: 'vault/c', hour, acceptedValues: accepted }, 1)
  writeSync(1, `${hourNumber(hour)} ${statSync(`${file}-wal`).size} ${accepted.length}\n`)
  if (rolls.roll() < 0.5) {
    const due = await outbox.delivery.due(
      { protocolIds: ['vault'], newestFirstFrom: hour, latest: hour },
      rolls.whole(1, 9),
    )
    await outbox.delivery.recordVerdicts({ delivered: due, dead: [], warnings: [] }, 2)
  }
}
writeSync(1, 'done\n')
// It stays, with its log, until it is killed.
await new Promise(resolve => process.stdin.once('end', resolve).resume())
