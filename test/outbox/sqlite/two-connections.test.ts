import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { MetricList } from '../../../src/model/metric-list.ts'
import type { Accepted } from '../../../src/outbox/contract/metrics.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { DueMetrics } from '../../../src/outbox/sqlite/tables/due-metrics.ts'
import { MetricRegistry } from '../../../src/outbox/sqlite/tables/metric-registry.ts'
import { MetricRuns } from '../../../src/outbox/sqlite/tables/metric-runs.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/tables/schema.ts'
import { Tally } from '../../../src/outbox/sqlite/tables/tally.ts'
import { openDatabase, openReadOnly } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour, metrics } from '../../support/metrics.ts'

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
  daemon.expectedHours.addCollector('vault/c', anHour)
  return { daemon, command, file }
}

function record(outbox: SqliteOutbox, accepted: readonly Accepted[], hour: Hour = anHour) {
  return outbox.intake.record({ collector: 'vault/c', hour, accepted, mode: 'correct' }, 1)
}

const valid = (all: readonly Metric[]): Accepted[] => all.map(metric => ({ metric }))
const wanted = { protocolIds: ['vault'], newestFirstFrom: anHour, latest: hourAfter(anHour, 9) } as const
const dueOf = (outbox: SqliteOutbox) => outbox.dueMetrics.read(wanted, 100)
const described = ({ value, unit }: Metric) => `${value} ${unit}`
const refuse = (outbox: SqliteOutbox, dead: MetricList) =>
  outbox.verdicts.record(
    { delivered: [], dead: dead.map(metric => ({ metric, reason: 'no', attempts: 1 })), warnings: [] },
    2,
  )

const next = hourAfter(anHour, 1)
const inCents = (count: number): Accepted[] =>
  metrics(count, next).map(metric => ({
    metric: { ...metric, value: metric.value * 100, unit: 'cents' },
    hold: { kind: 'unit', reason: 'another unit' },
  }))
const release = ({ command }: Pick<Two, 'command'>) => command.deadAndHeld.release({ state: 'held' }, 'changed')

describe('a unit that a command changes while a daemon runs', () => {
  it('is never mixed with the old one, also when it changes between two reads of one look', async () => {
    const both = two()
    await record(both.daemon, valid(metrics(2)))
    await record(both.daemon, inCents(2), next)
    const database = openDatabase(both.file, outboxSchema)
    onTestFinished(() => void database.close())
    let released: Promise<number> | undefined
    /** The command commits once the daemon knows what every metric is called, and before it reads the rows. */
    class Interrupted extends MetricRegistry {
      override refresh(): void {
        super.refresh()
        for (const { number } of known) super.numbered(number)
        released ??= release(both)
      }
    }
    const known = ['vault___M0', 'vault___M1'].flatMap(id => new MetricRegistry(database).metric(id) ?? [])
    const due = new DueMetrics(database, {
      registry: new Interrupted(database),
      runs: new MetricRuns(database),
      tally: new Tally(database),
    })
    expect(due.read(wanted, 100).map(described), 'as of before').toEqual(['0 USD', '1 USD'])
    expect(await released).toBe(2)
    expect(due.read(wanted, 100).map(described).toSorted()).toEqual(['0 USD', '0 cents', '1 USD', '100 cents'])
  })
})

it('a look of status is as of one instant, also when a command writes in its middle', async () => {
  const { daemon, command } = two()
  const all = metrics(2)
  await record(daemon, valid(all))
  const lateOf = daemon.expectedHours.lateOf.bind(daemon.expectedHours)
  daemon.expectedHours.lateOf = (...asked) => {
    const late = lateOf(...asked)
    command.verdicts.record({ delivered: all, dead: [], warnings: [] }, 2)
    return late
  }
  const asked = { collectors: [], protocolIds: ['vault'], destinations: [], hour: anHour }
  const { due, backlog } = await daemon.status.overview(asked)
  expect(due?.metrics).toBe(2)
  expect(backlog.balance).toMatchObject({ due: 2, delivered: 0 })
  expect((await daemon.status.overview(asked)).backlog.balance).toMatchObject({ due: 0, delivered: 2 })
})

it('what a command withdraws is seen a turn later, by the stamp that a look before each push compares', async () => {
  const { daemon, command } = two()
  const all = metrics(2)
  await record(daemon, valid(all))
  for (const metric of all) {
    const { stamp } = await daemon.delivery.stillDue([])
    refuse(command, [metric])
    await new Promise(setImmediate)
    const { metrics: due, stamp: later } = await daemon.delivery.stillDue(all, stamp)
    expect(later).not.toBe(stamp)
    expect(due).toEqual(all.slice(all.indexOf(metric) + 1))
  }
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
    refuse(daemon, dueOf(daemon))
    expect(rows(), 'dead').toBe(0)
    await record(daemon, changed(3))
    expect(rows(), 'due again').toBe(2)
    await record(daemon, changed(4, { kind: 'bounds', reason: 'odd' }))
    expect(rows(), 'held after it was sent').toBe(2)
    daemon.verdicts.record({ delivered: changed(4).map(({ metric }) => metric), dead: [], warnings: [] }, 4)
    expect(rows(), 'an answer about the same value does not settle what is held').toBe(2)
    await daemon.deadAndHeld.release({ state: 'held' }, 'locked')
    const old = changed(3).map(({ metric }) => metric)
    daemon.verdicts.record({ delivered: old, dead: [], warnings: [] }, 4)
    expect(
      dueOf(daemon).map(({ value }) => value),
      'an answer about the old value settles nothing',
    ).toEqual([4, 4])
    daemon.verdicts.record({ delivered: dueOf(daemon), dead: [], warnings: [] }, 5)
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
    expect(daemon.metrics.stored('vault___M0', next), 'not written into what lies aside').toBeUndefined()
    expect(await daemon.disk.broken).toMatchObject({ kind: 'moved' })
  })
})
