import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter, hoursFrom } from '../../../../src/model/hour.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour } from '../../../support/metrics.ts'
import { mayMount, smallDisk } from '../../../support/small-disk.ts'
import { aBlock } from '../../support/blocks.ts'

function opened(file = join(temporaryFolder(), 'outbox.db')): SqliteOutbox {
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  return outbox
}

describe('final blocks', () => {
  it('are kept across a close, by chain, and the first one of an hour stays', async () => {
    const file = join(temporaryFolder(), 'deep', 'outbox.db')
    const first = new SqliteOutbox(file)
    await first.finalBlocks(1).keep([{ hour: anHour, block: aBlock(21_000_000) }])
    await first.finalBlocks(1).keep([{ hour: anHour, block: aBlock(5, 'b') }])
    await first.finalBlocks(10).keep([{ hour: anHour, block: aBlock(5, 'c') }])
    first.close()
    const outbox = opened(file)
    expect(await outbox.finalBlocks(1).of(anHour)).toEqual(aBlock(21_000_000))
    expect(await outbox.finalBlocks(10).of(anHour)).toEqual(aBlock(5, 'c'))
    expect(await outbox.finalBlocks(2).of(anHour)).toBeUndefined()
  })

  it('are found around an hour: the nearest before and after, not its own', async () => {
    const blocks = opened().finalBlocks(1)
    const found = [-5, -2, 0, 3, 9].map(count => ({ hour: hourAfter(anHour, count), block: aBlock(100 + count) }))
    await blocks.keep(found)
    expect(await blocks.around(anHour)).toEqual([aBlock(98), aBlock(103)])
    expect(await blocks.around(hourAfter(anHour, -9))).toEqual([aBlock(95)])
    expect(await blocks.around(hourAfter(anHour, 10))).toEqual([aBlock(109)])
    expect(await blocks.of(hourAfter(anHour, 1))).toBeUndefined()
  })

  it('are forgotten one by one, and can then be others', async () => {
    const blocks = opened().finalBlocks(1)
    await blocks.keep([0, 1].map(count => ({ hour: hourAfter(anHour, count), block: aBlock(count) })))
    await blocks.forget(anHour)
    expect(await blocks.of(anHour)).toBeUndefined()
    expect(await blocks.of(hourAfter(anHour, 1))).toEqual(aBlock(1))
    await blocks.keep([{ hour: anHour, block: aBlock(7) }])
    expect(await blocks.of(anHour)).toEqual(aBlock(7))
  })

  it('take about 60 bytes each', async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    const outbox = new SqliteOutbox(file)
    const hours = hoursFrom(hourAfter(anHour, -8_759), anHour)
    await outbox
      .finalBlocks(8_453)
      .keep(hours.map((hour, index) => ({ hour, block: aBlock(20_000_000 + 300 * index, 'f') })))
    outbox.close()
    const database = openDatabase(file, outboxSchema)
    onTestFinished(() => void database.close())
    const bytes = database.prepare<[], number>("SELECT sum(pgsize) FROM dbstat WHERE name = 'final_block'").pluck()
    expect((bytes.get() ?? 0) / hours.length).toBeLessThan(65)
  })

  it('that were moved away with their file are not written any more, and the disk is told', async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    const outbox = opened(file)
    for (const part of ['', '-wal', '-shm']) renameSync(`${file}${part}`, `${file}.old${part}`)
    await outbox.finalBlocks(1).keep([{ hour: anHour, block: aBlock(1) }])
    expect((await outbox.disk.broken).kind).toBe('moved')
  })

  it('of a damaged file are not known, and the disk is told', async () => {
    const outbox = opened()
    const blocks = outbox.finalBlocks(1)
    const damage = Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' })
    Object.defineProperty(outbox.disk, 'requireInPlace', {
      value: () => {
        throw damage
      },
    })
    await blocks.keep([{ hour: anHour, block: aBlock(1) }])
    expect((await outbox.disk.broken).kind).toBe('damaged')
  })
})

it.skipIf(!mayMount)(
  'final blocks are not kept on a full disk, which hurts nobody (needs the right to mount one)',
  async () => {
    const disk = smallDisk(20)
    const outbox = opened(join(disk.folder, 'outbox.db'))
    disk.fill()
    const many = hoursFrom(hourAfter(anHour, -20_000), anHour).map((hour, index) => ({ hour, block: aBlock(index) }))
    await outbox.finalBlocks(1).keep(many)
    expect(outbox.disk.isFull).toBe(true)
    expect(await outbox.finalBlocks(1).of(anHour)).toBeUndefined()
    disk.empty()
    await outbox.finalBlocks(1).keep(many)
    expect(await outbox.finalBlocks(1).of(anHour)).toEqual(aBlock(20_000))
  },
)
