import { existsSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { commitRowsMax, hourMs } from '../../../src/model/limits.ts'
import type { UpkeepNews } from '../../../src/outbox/contract/outbox.ts'
import type { Role } from '../../../src/outbox/contract/role.ts'
import { takeDeliveryRole } from '../../../src/outbox/roles.ts'
import { logReportBytes } from '../../../src/outbox/sqlite/file/log-watch.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { metricsBetween } from '../../../src/outbox/store/values.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { atOnce, expectEach, expectHours } from '../../support/stored-hours.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { contentsOf, miscounted } from '../support/contents.ts'

const dayMs = 24 * hourMs

interface Kept {
  readonly outbox: SqliteOutbox
  readonly role: Role
  readonly file: string
  readonly news: UpkeepNews['kind'][]
  /** Resolves once something is so; looks again at each turn of the event loop. */
  until(holds: () => boolean): Promise<void>
}

function kept(folder: string, prepare: (outbox: SqliteOutbox) => void = () => {}): Kept {
  const file = join(folder, 'outbox.db')
  const outbox = new SqliteOutbox(file)
  const role = takeDeliveryRole(folder, 'tidegauge.yaml', anHour)
  prepare(outbox)
  const news: UpkeepNews['kind'][] = []
  const time = new VirtualTime(anHour)
  const upkeep = outbox.startUpkeep({ role, keepMs: 35 * dayMs, time, report: ({ kind }) => news.push(kind) })
  onTestFinished(async () => {
    await upkeep.stop()
    role.release()
    outbox.close()
  })
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise(setImmediate)
  }
  return { outbox, role, file, news, until }
}

describe('upkeep', () => {
  it('deletes what is settled and old, in parts, and nothing else', async () => {
    const folder = temporaryFolder()
    const old = hourAfter(anHour, -36 * 24)
    const young = hourAfter(anHour, -34 * 24)
    const first = new SqliteOutbox(join(folder, 'outbox.db'))
    await expectHours(first, 'vault/c', old)
    for (const hour of [old, hourAfter(old, 1), young]) {
      await expectEach(first, 'vault/c', [hour])
      const accepted = metrics(commitRowsMax + 500, hour).map(metric => ({ metric }))
      await first.intake.record({ collector: 'vault/c', hour, accepted }, 1)
    }
    const due = await first.delivery.due({ protocolIds: ['vault'], newestFirstFrom: anHour, latest: anHour }, 4_498)
    const [dead, ...delivered] = due
    await first.delivery.recordVerdicts(
      { delivered, dead: dead ? [{ metric: dead, reason: 'no', attempts: 1 }] : [], warnings: [] },
      2,
    )
    first.close()
    let parts = 0
    const { outbox, until, file } = kept(folder, ({ ...opened }) => opened)
    const pruneSome = outbox.pruneSome.bind(outbox)
    outbox.pruneSome = before => {
      parts += 1
      return pruneSome(before)
    }
    await until(() => atOnce(outbox, () => metricsBetween(old, hourAfter(old, 1))).length === 1)
    const hours = await outbox.intake.hourStates('vault/c', old, young)
    expect([...hours], 'that they were collected is known for ever').toEqual(
      [old, hourAfter(old, 1), young].map(hour => [hour, 'collected']),
    )
    expect(parts).toBeGreaterThan(2)
    expect((await outbox.delivery.backlog()).balance).toEqual({
      enqueued: 4_500,
      delivered: 4_497,
      dead: 1,
      due: 2,
      held: 0,
      dropped: 0,
    })
    expect(contentsOf(file).rows.size).toBe(1_501)
    expect(miscounted(file)).toEqual([])
  })

  it('keeps a ballast, and makes it again when somebody deletes it', async () => {
    const folder = temporaryFolder()
    const { until } = kept(folder)
    await until(() => existsSync(join(folder, 'ballast')))
    rmSync(join(folder, 'ballast'))
    await until(() => existsSync(join(folder, 'ballast')))
  })

  it('takes the role again when somebody deletes the lock’s file', async () => {
    const { file, news, until } = kept(temporaryFolder())
    rmSync(join(dirname(file), 'lock.db'))
    await until(() => news.length > 0)
    expect(news).toEqual(['role-renewed'])
    expect(() => takeDeliveryRole(dirname(file), 'other.yaml', anHour)).toThrow(
      expect.objectContaining({ code: 'outbox-held' }),
    )
  })

  it('says that the role is lost when another process has it', async () => {
    const folder = temporaryFolder()
    const { news, until } = kept(folder, () => {
      rmSync(join(folder, 'lock.db'))
      const other = takeDeliveryRole(folder, 'other.yaml', anHour)
      onTestFinished(() => other.release())
    })
    await until(() => news.length > 0)
    expect(news).toEqual(['role-lost'])
  })
})

describe('a log that something keeps from being cut off', () => {
  it('is reported once it has 64 MiB, and cut off as soon as that is over', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'outbox.db')
    const writer = new SqliteOutbox(file)
    onTestFinished(() => writer.close())
    const reader = new Database(file)
    const filler = new Database(file)
    reader.exec('BEGIN; SELECT count(*) FROM outbox')
    reader.prepare('SELECT count(*) FROM outbox').get()
    filler.exec(`CREATE TABLE filler (b BLOB); INSERT INTO filler VALUES (zeroblob(${logReportBytes + 1_048_576}))`)
    filler.exec('DROP TABLE filler')
    filler.close()
    const { news, until } = kept(folder)
    await until(() => news.length > 0)
    expect(news).toEqual(['log-large'])
    for (let look = 0; look < 20; look += 1) await new Promise(setImmediate)
    expect(news, 'once').toEqual(['log-large'])
    reader.close()
    await until(() => news.length > 1)
    expect(news).toEqual(['log-large', 'log-trimmed'])
    expect(statSync(`${file}-wal`).size).toBe(0)
  })
})
