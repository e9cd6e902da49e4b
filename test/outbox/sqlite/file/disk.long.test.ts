import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../../../src/model/hour.ts'
import { Ballast, ballastBytes } from '../../../../src/outbox/sqlite/file/disk.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { mayMount, smallDisk } from '../../../support/small-disk.ts'
import { expectHoursNow } from '../../../support/stored-hours.ts'
import { contentsOf, flawsOf } from '../../support/contents.ts'

const diskMebibytes = 60
const oldest = hourAfter(anHour, -500)

function opened(folder: string): SqliteOutbox {
  const outbox = new SqliteOutbox(join(folder, 'outbox.db'))
  expectHoursNow(outbox, 'vault/c', oldest, hourAfter(anHour, 1))
  onTestFinished(() => outbox.close())
  return outbox
}

async function store(outbox: SqliteOutbox, hour = anHour, count = 200): Promise<void> {
  const accepted = metrics(count, hour).map(metric => ({ metric }))
  await outbox.intake.record({ collector: 'vault/c', hour, accepted }, 1)
}

const dueOf = (outbox: SqliteOutbox, limit: number) =>
  outbox.delivery.due({ protocolIds: ['vault'], newestFirstFrom: anHour, latest: hourAfter(anHour, 5_000) }, limit)

describe('the ballast', () => {
  it('takes its room in real bytes, and gives it away', async () => {
    const folder = temporaryFolder()
    const ballast = new Ballast(folder)
    expect(await ballast.make()).toBe(true)
    const { size, blocks } = statSync(join(folder, 'ballast'))
    expect(size).toBe(ballastBytes)
    expect(blocks * 512).toBeGreaterThanOrEqual(ballastBytes)
    const bytes = readFileSync(join(folder, 'ballast'))
    expect(new Set(bytes.subarray(0, 4_096)).size, 'not compressible').toBeGreaterThan(200)
    expect(ballast.release()).toBe(true)
    expect(existsSync(join(folder, 'ballast'))).toBe(false)
    expect(ballast.release()).toBe(false)
  })

  it('is made again when a crash has left a part of it', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'ballast'), 'a part')
    const ballast = new Ballast(folder)
    expect(ballast.isThere).toBe(false)
    expect(await ballast.make()).toBe(true)
    expect(statSync(join(folder, 'ballast')).size).toBe(ballastBytes)
  })
})

describe.skipIf(!mayMount)('a full disk (needs the right to mount one)', () => {
  it('takes verdicts from the ballast’s room, until nothing is due', async () => {
    const disk = smallDisk(diskMebibytes)
    const outbox = opened(disk.folder)
    for (let hour = 0; hour < 100; hour += 1) await store(outbox, hourAfter(anHour, -hour))
    expect(await outbox.disk.keepBallast()).toBe(true)
    // Verdicts fit into a log that is there already.
    outbox.trimLog()
    disk.fill()
    for (let due = await dueOf(outbox, 100); due.length > 0; due = await dueOf(outbox, 100)) {
      await outbox.delivery.recordVerdicts({ delivered: due, dead: [], warnings: [] }, 2)
    }
    expect((await outbox.delivery.backlog()).balance).toMatchObject({ due: 0, delivered: 20_000 })
    expect(outbox.disk.isFull).toBe(true)
    expect(existsSync(join(disk.folder, 'ballast'))).toBe(false)
    outbox.close()
    expect(flawsOf(join(disk.folder, 'outbox.db'))).toEqual([])
  })

  it('takes what is collected already, and then says that it is full until there is room', async () => {
    const disk = smallDisk(diskMebibytes)
    const outbox = opened(disk.folder)
    await store(outbox)
    await outbox.disk.keepBallast()
    disk.fill()
    expect(outbox.disk.isFull, 'the ballast is there').toBe(false)
    let stored = 0
    for (; !outbox.disk.isFull; stored += 1) await store(outbox, hourAfter(anHour, -stored - 1))
    expect(() => outbox.disk.requireRoom()).toThrow(expect.objectContaining({ code: 'disk-full' }))
    expect((await outbox.delivery.backlog()).balance.due).toBe((stored + 1) * 200)
    disk.fill()
    const before = contentsOf(join(disk.folder, 'outbox.db'))
    const tooMuch = Array.from({ length: 200 }, (_, index) => store(outbox, hourAfter(oldest, index), 500))
    const outcomes = await Promise.allSettled(tooMuch)
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true)
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('disk-full')
    const after = contentsOf(join(disk.folder, 'outbox.db'))
    for (const [key, row] of before.rows) expect(after.rows.get(key)).toEqual(row)
    expect(await outbox.disk.keepBallast(), 'still full').toBe(false)
    disk.empty()
    expect(await outbox.disk.keepBallast()).toBe(true)
    expect(outbox.disk.isFull).toBe(false)
    await store(outbox, hourAfter(anHour, 1))
  })

  it('is opened all the same, with the ballast’s room', async () => {
    const disk = smallDisk(diskMebibytes)
    const first = new SqliteOutbox(join(disk.folder, 'outbox.db'))
    expectHoursNow(first, 'vault/c', oldest, hourAfter(anHour, 1))
    await store(first)
    await first.disk.keepBallast()
    first.close()
    disk.fill()
    const outbox = opened(disk.folder)
    await outbox.delivery.recordVerdicts({ delivered: await dueOf(outbox, 100), dead: [], warnings: [] }, 2)
    expect((await outbox.delivery.backlog()).balance).toMatchObject({ due: 100, delivered: 100 })
  })

  it('has no ballast unless as much again is left to work with', async () => {
    const [small, large] = [smallDisk(24), smallDisk(40)].map(({ folder }) => new Ballast(folder))
    expect(await small?.make()).toBe(false)
    expect(small && existsSync(small.file)).toBe(false)
    expect(await large?.make()).toBe(true)
  })

  it('that is full before there was a ballast is said to be full, and nothing of the file is lost', async () => {
    const disk = smallDisk(diskMebibytes)
    const outbox = opened(disk.folder)
    await store(outbox)
    disk.fill()
    expect(outbox.disk.isFull).toBe(true)
    expect(await outbox.disk.keepBallast()).toBe(false)
    expect(await dueOf(outbox, 500)).toHaveLength(200)
  })
})
