import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { Accepted } from '../../../src/outbox/contract/metrics.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { openDatabase, openReadOnly, setSchemaVersion } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { expectHoursNow, storedValue } from '../../support/stored-hours.ts'

/** An outbox as two processes have it open: a daemon, and a command next to it. */
interface Two {
  readonly daemon: SqliteOutbox
  readonly command: SqliteOutbox
  readonly file: string
}

function two(): Two {
  const file = join(temporaryFolder(), 'outbox.db')
  const [daemon, command] = [new SqliteOutbox(file), new SqliteOutbox(file)]
  onTestFinished(() => {
    daemon.close()
    command.close()
  })
  expectHoursNow(daemon, 'vault/c', anHour)
  return { daemon, command, file }
}

function record(outbox: SqliteOutbox, accepted: readonly Accepted[], hour: Hour = anHour) {
  return outbox.intake.record({ collector: 'vault/c', hour, acceptedValues: accepted, mode: 'correct' }, 1)
}

const valid = (all: readonly Metric[]): Accepted[] => all.map(metric => ({ metric }))
const wanted = { protocolIds: ['vault'], newestFirstFrom: anHour, latest: hourAfter(anHour, 9) } as const
const dueOf = (outbox: SqliteOutbox) => outbox.delivery.due(wanted, 100)
const refuse = (outbox: SqliteOutbox, dead: readonly Metric[]) =>
  outbox.delivery.recordVerdicts(
    { delivered: [], dead: dead.map(metric => ({ metric, reason: 'no', attempts: 1 })), warnings: [] },
    2,
  )

const next = hourAfter(anHour, 1)
describe('tables that another process has brought to a later version', () => {
  it.each(['synced', 'unsynced'])('take no %s write of this version, and it says what to run', async durability => {
    const { daemon, file } = two()
    const later = openDatabase(file, outboxSchema)
    onTestFinished(() => void later.close())
    setSchemaVersion(later, outboxSchema.version + 1)
    const write = durability === 'synced' ? record(daemon, valid(metrics(1))) : refuse(daemon, metrics(1))
    await expect(write).rejects.toMatchObject({
      code: 'outbox-unusable',
      message: expect.stringContaining(`has schema version ${outboxSchema.version + 1}, made by tidegauge`),
    })
    expect(await daemon.health.broken).toMatchObject({ kind: 'unusable' })
    expect(later.prepare('SELECT count(*) FROM outbox').pluck().get()).toBe(0)
  })
})

describe('the table of corrections', () => {
  it('lists neither what is dead nor what is delivered, so that verdicts need not ask for it', async () => {
    const { daemon, file } = two()
    const rows = () => {
      const database = openReadOnly(file)
      try {
        return database.prepare('SELECT count(*) FROM correction').pluck().get()
      } finally {
        database.close()
      }
    }
    const changed = (value: number, hold?: Accepted['hold']) =>
      metrics(2).map(metric => ({ metric: { ...metric, value }, ...(hold && { hold }) }))
    await record(daemon, changed(1))
    await record(daemon, changed(2))
    expect(rows()).toBe(2)
    await refuse(daemon, await dueOf(daemon))
    expect(rows(), 'dead').toBe(0)
    await record(daemon, changed(3))
    expect(rows(), 'due again').toBe(2)
    await record(daemon, changed(4, { kind: 'bounds', reason: 'odd' }))
    expect(rows(), 'held after it was sent').toBe(2)
    await daemon.delivery.recordVerdicts(
      { delivered: changed(4).map(({ metric }) => metric), dead: [], warnings: [] },
      4,
    )
    expect(rows(), 'an answer about the same value does not settle what is held').toBe(2)
    await daemon.operators.release({ state: 'held' }, 'locked')
    const old = changed(3).map(({ metric }) => metric)
    await daemon.delivery.recordVerdicts({ delivered: old, dead: [], warnings: [] }, 4)
    expect(
      (await dueOf(daemon)).map(({ value }) => value),
      'an answer about the old value settles nothing',
    ).toEqual([4, 4])
    await daemon.delivery.recordVerdicts({ delivered: await dueOf(daemon), dead: [], warnings: [] }, 5)
    expect(rows(), 'delivered').toBe(0)
  })
})

describe('a file that was moved aside', () => {
  it('takes no value, from the moment on that it is not in its place', async () => {
    const { daemon, file } = two()
    await record(daemon, valid(metrics(1)))
    renameSync(file, `${file}.aside`)
    const late = record(daemon, [{ metric: { ...metrics(1, next)[0], value: 7 } as Metric }], next)
    await expect(late).rejects.toMatchObject({ code: 'outbox-moved' })
    expect(await storedValue(daemon, 'vault___M0', next), 'not written into what lies aside').toBeUndefined()
    expect(await daemon.disk.broken).toMatchObject({ kind: 'moved' })
  })
})
