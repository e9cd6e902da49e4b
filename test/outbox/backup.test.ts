import { copyFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { backUpOutbox } from '../../src/outbox/backup.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { openReadOnly } from '../../src/sqlite/database.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { expectEach, expectHours } from '../support/stored-hours.ts'
import { contentsOf, flawsOf } from './support/contents.ts'
import { damagePage } from './support/damage.ts'
import { fill } from './support/filled.ts'

const nextHour = hourAfter(anHour, 1)

/** An open outbox with every kind of row, and a way to write more. */
async function filled() {
  const folder = temporaryFolder()
  const file = join(folder, 'outbox.db')
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  await fill(outbox, dice(1), 30)
  await expectHours(outbox, 'vault/late', nextHour)
  const writeMore = async () => {
    await expectEach(outbox, 'vault/late', [nextHour])
    const accepted = metrics(300, nextHour).map(metric => ({ metric }))
    await outbox.intake.record({ collector: 'vault/late', hour: nextHour, acceptedValues: accepted }, 1)
  }
  return { folder, file, outbox, writeMore }
}

describe('a backup', () => {
  it('is the outbox as of one instant, sound and readable by its owner alone, and nothing else appears', async () => {
    const { folder, file, writeMore } = await filled()
    const before = contentsOf(file)
    const place = temporaryFolder()
    const { bytes } = backUpOutbox(folder, join(place, 'copy.db'))
    await writeMore()
    const copy = join(place, 'copy.db')
    expect(readdirSync(place)).toEqual(['copy.db'])
    expect(statSync(copy)).toMatchObject({ size: bytes, mode: 0o100600 })
    expect(contentsOf(copy)).toEqual(before)
    expect(contentsOf(file)).not.toEqual(before)
    expect(flawsOf(copy)).toEqual([])
  })

  it('waits for no writer, and has nothing of what is not committed', async () => {
    const { folder, file } = await filled()
    const before = contentsOf(file)
    const writer = new Database(file)
    onTestFinished(() => void writer.close())
    writer.exec('BEGIN IMMEDIATE')
    writer.exec("INSERT INTO collection (hour, collector) SELECT 600000, id FROM collector WHERE name = 'vault/c0'")
    const place = temporaryFolder()
    backUpOutbox(folder, join(place, 'copy.db'))
    writer.exec('COMMIT')
    expect(contentsOf(join(place, 'copy.db'))).toEqual(before)
    expect(contentsOf(file).hours.size).toBe(before.hours.size + 1)
  })

  it('is an outbox that goes on where the other was', async () => {
    const { folder, file } = await filled()
    const place = temporaryFolder()
    backUpOutbox(folder, join(place, 'outbox.db'))
    const restored = new SqliteOutbox(join(place, 'outbox.db'))
    onTestFinished(() => restored.close())
    const { balance } = await restored.operators.backlog()
    expect(balance.due).toBeGreaterThan(0)
    expect(balance.enqueued).toBe(balance.delivered + balance.dead + balance.held + balance.due)
    const everything = { protocolIds: ['vault', 'market', 'my-node'], newestFirstFrom: anHour, latest: nextHour }
    const due = await restored.delivery.due(everything, 10_000)
    await restored.delivery.recordVerdicts({ delivered: due, dead: [], warnings: [] }, 2)
    expect((await restored.operators.backlog()).balance.due).toBe(0)
    expect(contentsOf(file).rows.size).toBe(contentsOf(join(place, 'outbox.db')).rows.size)
  })

  it('replaces no file, and makes no folder', async () => {
    const { folder } = await filled()
    const place = temporaryFolder()
    const taken = join(place, 'taken.db')
    writeFileSync(taken, 'something of mine')
    expect(() => backUpOutbox(folder, taken)).toThrow(
      expect.objectContaining({ code: 'usage', message: `${taken} already exists` }),
    )
    expect(() => backUpOutbox(folder, join(place, 'none', 'copy.db'))).toThrow(/its folder, or what a symbolic link/)
    expect(() => backUpOutbox(temporaryFolder(), join(place, 'copy.db'))).toThrow(/there is no outbox in/)
    expect(readdirSync(place)).toEqual(['taken.db'])
    expect(statSync(taken).size).toBe('something of mine'.length)
  })

  it('is not made of a damaged outbox', async () => {
    const { folder, file, outbox } = await filled()
    outbox.close()
    damagePage(file, 'garbage', dice(3))
    const place = temporaryFolder()
    expect(() => backUpOutbox(folder, join(place, 'copy.db'))).toThrow(/the outbox is damaged, so no backup was made: /)
    expect(readdirSync(place)).toEqual([])
  })

  it.skipIf(!mayMount)('leaves nothing where there is no room for it', async () => {
    const { folder } = await filled()
    const disk = smallDisk(1)
    disk.fill()
    expect(() => backUpOutbox(folder, join(disk.folder, 'copy.db'))).toThrow(/there is no room left/)
    expect(readdirSync(disk.folder)).toEqual(['filler'])
  })
})

describe('a replica of the log, as Litestream keeps one', () => {
  it('restores everything that was committed: a snapshot, and the log since', async () => {
    const { file, writeMore } = await filled()
    // Litestream keeps a read transaction open, so that no other process restarts the log before it has copied it.
    const replicator = openReadOnly(file)
    onTestFinished(() => void replicator.close())
    const place = temporaryFolder()
    const replica = join(place, 'outbox.db')
    replicator.exec('BEGIN')
    replicator.prepare('SELECT count(*) FROM metric').get()
    copyFileSync(file, replica)
    await writeMore()
    copyFileSync(`${file}-wal`, `${replica}-wal`)
    expect(contentsOf(replica)).toEqual(contentsOf(file))
    expect(flawsOf(replica)).toEqual([])
  })
})
