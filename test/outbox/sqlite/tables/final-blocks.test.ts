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
  it('take about 60 bytes each', async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    const outbox = new SqliteOutbox(file)
    const hours = hoursFrom(hourAfter(anHour, -8_759), anHour)
    await outbox.finalBlocks
      .of(8_453)
      .keep(hours.map((hour, index) => ({ hour, block: aBlock(20_000_000 + 300 * index, 'f') })))
    outbox.close()
    const database = openDatabase(file, outboxSchema)
    onTestFinished(() => void database.close())
    const bytes = database.prepare<[], number>("SELECT sum(pgsize) FROM dbstat WHERE name = 'final_block'").pluck()
    expect((bytes.get() ?? 0) / hours.length).toBeLessThan(65)
  })

  it('that were moved away with their file are not written any more, and the disk learns it', async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    const outbox = opened(file)
    for (const part of ['', '-wal', '-shm']) renameSync(`${file}${part}`, `${file}.old${part}`)
    await outbox.finalBlocks.of(1).keep([{ hour: anHour, block: aBlock(1) }])
    expect((await outbox.disk.broken).kind).toBe('moved')
  })

  it('of a damaged file are not known, and the disk learns it', async () => {
    const outbox = opened()
    const blocks = outbox.finalBlocks.of(1)
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
  'final blocks are not kept on a full disk, which does no harm (needs the right to mount one)',
  async () => {
    const disk = smallDisk(20)
    const outbox = opened(join(disk.folder, 'outbox.db'))
    disk.fill()
    const many = hoursFrom(hourAfter(anHour, -20_000), anHour).map((hour, index) => ({ hour, block: aBlock(index) }))
    await outbox.finalBlocks.of(1).keep(many)
    expect(outbox.disk.isFull).toBe(true)
    expect(await outbox.finalBlocks.of(1).of(anHour)).toBeUndefined()
    disk.empty()
    await outbox.finalBlocks.of(1).keep(many)
    expect(await outbox.finalBlocks.of(1).of(anHour)).toEqual(aBlock(20_000))
  },
)
