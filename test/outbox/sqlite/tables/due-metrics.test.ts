import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import { joined } from '../../../../src/model/metric-list.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { DamageError } from '../../../../src/sqlite/damage.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { miscounted } from '../../support/contents.ts'

const protocolIds = ['vault', 'other'] as const
const latest = hourAfter(anHour, 1)

/** Some metrics of a protocol at an hour, and which of two processes enqueues or delivers them. */
const step = fc.record({
  protocolId: fc.constantFrom(...protocolIds),
  labels: fc.uniqueArray(fc.nat({ max: 7 }), { minLength: 1 }),
  hour: fc.constantFrom(anHour, latest),
  place: fc.nat({ max: 1 }),
  isDelivered: fc.boolean(),
})

const keyOf = ({ id, hour }: Metric) => `${hour} ${id}`

it('reads just what is due of a protocol, however the numbers of metrics mix and whichever process adds them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
      const file = join(temporaryFolder(), 'outbox.db')
      const outboxes = [new SqliteOutbox(file), new SqliteOutbox(file)] as const
      onTestFinished(() => outboxes.forEach(outbox => void outbox.close()))
      outboxes[0].expectedHours.addCollector('any/c', anHour)
      const [due, seen] = [new Set<string>(), new Set<string>()]
      for (const { protocolId, labels, hour, place, isDelivered } of steps) {
        const outbox = outboxes[place] ?? outboxes[0]
        const all = metrics(8, hour, protocolId)
        const some = labels.flatMap(label => all[label] ?? [])
        const accepted = some.map(metric => ({ metric }))
        await outbox.intake.record({ collector: 'any/c', hour, accepted }, 1)
        for (const key of some.map(keyOf)) if (!seen.has(key)) due.add(key)
        for (const key of some.map(keyOf)) seen.add(key)
        if (isDelivered) outbox.verdicts.record({ delivered: some, dead: [], warnings: [] }, 1)
        if (isDelivered) for (const key of some.map(keyOf)) due.delete(key)
        for (const { dueMetrics: table } of outboxes) {
          const read = protocolIds.flatMap(id => [
            ...table.read({ protocolIds: [id], newestFirstFrom: latest, latest }, 100),
          ])
          expect(read.map(keyOf).sort()).toEqual([...due].sort())
          expect(table.countUpTo(protocolIds, anHour)).toBe([...due].filter(key => key.startsWith(`${anHour}`)).length)
        }
      }
      expect(miscounted(file)).toEqual([])
    }),
    { numRuns: 25 },
  )
})

/** An outbox with a run of three metrics of each protocol at an hour, and its file to look at and to damage. */
async function filled() {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  const database = new Database(file)
  onTestFinished(() => {
    outbox.close()
    database.close()
  })
  outbox.expectedHours.addCollector('any/c', anHour)
  const accepted = protocolIds.flatMap(id => metrics(3, anHour, id)).map(metric => ({ metric }))
  await outbox.intake.record({ collector: 'any/c', hour: anHour, accepted }, 1)
  const due = () => outbox.dueMetrics.read({ protocolIds, newestFirstFrom: latest, latest }, 1_000)
  return { outbox, database, due }
}

it('leaves a run whole that was sent in two batches and recorded in one commit', async () => {
  const { outbox, database, due } = await filled()
  const list = due()
  const delivered = joined([list.slice(0, 2), list.slice(2, 4)])
  outbox.verdicts.record({ delivered, dead: [], warnings: [] }, 1)
  const rows = database.prepare('SELECT first, metrics, state FROM outbox ORDER BY first').raw().all()
  expect(rows).toEqual([
    [1, 3, 1],
    [4, 1, 1],
    [5, 2, 0],
  ])
})

it.each([
  { what: 'a count that is no whole number', sql: 'UPDATE outbox SET metrics = 2.5 WHERE first = 1' },
  { what: 'a count that is text', sql: "UPDATE outbox SET metrics = '3' WHERE first = 1" },
  { what: 'a count beyond that of any run', sql: 'UPDATE outbox SET metrics = 101, metric_values = zeroblob(808)' },
  { what: 'more metrics than values', sql: 'UPDATE outbox SET metrics = 4 WHERE first = 4' },
  {
    what: 'metrics of two protocols',
    sql: 'UPDATE outbox SET metrics = 4, metric_values = zeroblob(32) WHERE first = 1',
  },
  { what: 'a number of no metric', sql: 'UPDATE outbox SET metrics = 4, metric_values = zeroblob(32) WHERE first = 4' },
  {
    what: 'a run in a run',
    sql: `INSERT INTO outbox SELECT hour, 2, protocol, state, collected_ms, 0, 1, 0, zeroblob(8) FROM outbox WHERE first = 1;`,
  },
])('says that the outbox is damaged where a row has $what', async ({ sql }) => {
  const { database, due } = await filled()
  const { sql: table } = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'outbox'").get() as {
    sql: string
  }
  database.unsafeMode(true)
  database.pragma('writable_schema = ON')
  // As on a damaged page, where nothing was checked.
  database
    .prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'outbox'")
    .run(table.replace('metrics INTEGER', 'metrics ANY').replaceAll(/CHECK \(metrics[^)]*\)|, CHECK[^,]*$/gm, ''))
  database.pragma('writable_schema = RESET')
  database.pragma('ignore_check_constraints = ON')
  database.exec(sql)
  expect(due).toThrow(DamageError)
})
