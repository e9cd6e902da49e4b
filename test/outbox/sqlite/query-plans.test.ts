import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { endOfTime, hourAfter } from '../../../src/model/hour.ts'
import { metricId } from '../../../src/model/metric.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { collectorIds, fill } from '../support/filled.ts'

const protocolIds = ['vault', 'market']
const day = hourAfter(anHour, -24)

/** Asks all that users of an outbox ask again and again. */
async function askAll({ intake, delivery, operators, status }: SqliteOutbox): Promise<void> {
  const wanted = { collectors: collectorIds.map(id => ({ id })), protocolIds, destinations: ['service'], hour: anHour }
  const key = { id: metricId('vault', 'c0-Label0'), hour: anHour }
  await intake.dueHours({ collectors: collectorIds, current: anHour, nowMs: anHour, limit: 4 })
  await intake.nextAttemptMs(anHour)
  await intake.endRetryWaits(collectorIds)
  await intake.hourStates('vault/c0', day, anHour)
  await intake.pasts([key])
  await intake.pinnedHours(1, anHour, 9)
  await delivery.dueHour('newest', protocolIds, anHour)
  await delivery.stillDue([key])
  await delivery.sentBefore([key])
  await delivery.present(key)
  await delivery.lastDelivered(protocolIds, anHour)
  await delivery.hasDelivered(protocolIds)
  await operators.due({ ids: [key.id], hour: anHour })
  await operators.deadOrHeld({ state: 'held' })
  await operators.history(key.id)
  await operators.origin('vault/c0', anHour)
  await operators.changeUnit({ ...key, unit: 'EUR' })
  await status.detail(wanted, day, anHour)
  await status.newest(day, anHour)
  await status.hoursOfAll(collectorIds, day, anHour)
  await status.reasons(day, anHour, 9)
  await status.oldestHours(collectorIds, protocolIds, endOfTime)
  await status.newestDelivered(collectorIds, anHour, anHour)
  await status.gapCounts(collectorIds, day, anHour)
}

it('no statement of the outbox walks through all hours, or all metrics', async () => {
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  onTestFinished(() => void prepare.mockRestore())
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  await fill(outbox, dice(3), 6)
  await askAll(outbox)
  const statements = [...new Set(prepare.mock.calls.map(([text]) => String(text)))]
  expect(statements.length).toBeGreaterThan(60)
  const database = new Database(file, { readonly: true })
  onTestFinished(() => void database.close())
  // A plan names also what is read only while a reference leads nowhere.
  database.pragma('foreign_keys = OFF')
  const walks = statements.flatMap(text => {
    const values = [...text.matchAll(/\?/g)].map(() => '[1]')
    const plan = database.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...values)
    // An index of what is due or a gap has nothing else in it.
    const steps = plan.filter(({ detail }) => /^SCAN (collection|outbox|due|stored)(?! USING)/.test(detail))
    return steps.map(({ detail }) => `${detail}: ${text.replace(/\s+/g, ' ')}`)
  })
  expect(walks).toEqual([])
})
