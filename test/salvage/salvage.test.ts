import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { openForCommand, openSalvaged } from '../../src/outbox/open.ts'
import { takeDeliveryRole } from '../../src/outbox/roles.ts'
import { outboxSalvage, outboxSchema } from '../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { rowsBetween } from '../../src/outbox/store/hours.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { aBlock, aPin } from '../outbox/support/blocks.ts'
import { contentsOf, flawsOf } from '../outbox/support/contents.ts'
import { betrayals } from '../outbox/support/damage.ts'
import { collectorIds } from '../outbox/support/filled.ts'
import { mended, nowMs, openDeps, soundOutboxes } from '../outbox/support/salvaging.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { atOnce, expectEach, expectHours, storedValue } from '../support/stored-hours.ts'

const pageBytes = 4_096

const sound = soundOutboxes()

/** Last planned hour of each collector, as it is remembered and as the rows have it. */
function plannedOf(file: string) {
  const database = openDatabase(file, outboxSchema)
  const kept = database.prepare('SELECT collector, hour FROM planned ORDER BY collector').raw().all()
  const starts = database
    .prepare<[], { id: number; since: number }>('SELECT id, since FROM collector ORDER BY id')
    .all()
  const row = database.prepare<[number, number]>('SELECT 1 FROM collection WHERE hour = ? AND collector = ?')
  const found = starts.map(({ id, since }) => {
    let next = since
    while (row.get(next, id)) next += 1
    return [id, next - 1, since] as const
  })
  database.close()
  return { kept, found: found.filter(([, last, since]) => last >= since).map(([id, last]) => [id, last]) }
}

const asideOf = (file: string) => readdirSync(dirname(file)).filter(name => /\.corrupt-[^-]*$/.test(name))

function overwrite(file: string, from = 0, to?: number, byte = 0xa5): void {
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(byte, from, to ?? bytes.length))
}

function placesOf(bytes: Buffer, pattern: Buffer): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(pattern); at >= 0; at = bytes.indexOf(pattern, at + 1)) places.push(at)
  return places
}

function rootOf(file: string, name: string): number {
  const database = openDatabase(file, outboxSchema)
  const root = database.prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name)
  database.close()
  return root ?? 0
}

/** The number of one of the lowest pages of a table. */
function leafOf(file: string, name: string, place: number): number {
  const database = openDatabase(file, outboxSchema)
  const sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET ?"
  const page = database.prepare<[string, number], number>(sql).pluck().get(name, place)
  database.close()
  return page ?? 0
}

it('the last planned hours are known after a salvage, so that no look through them is needed', () => {
  const { file } = sound()
  const page = leafOf(file, 'collection', 1)
  overwrite(file, (page - 1) * pageBytes, page * pageBytes)
  expect(mended(file)).toBeDefined()
  const { kept, found } = plannedOf(file)
  expect(kept.length).toBeGreaterThan(0)
  expect(kept).toEqual(found)
})

const isMany = (hours: unknown) => Number(hours) > 10

describe('a damaged outbox', () => {
  it('is found at the start, moved aside as it is, and everything readable is in the new one', () => {
    const { file, contents } = sound()
    const root = rootOf(file, 'outbox')
    overwrite(file, (root - 1) * pageBytes, root * pageBytes)
    const damaged = readFileSync(file)
    const salvaged = mended(file)
    expect(salvaged?.reason).not.toBe('')
    expect(asideOf(file)).toEqual(['outbox.db.corrupt-20261120T130100Z'])
    expect(readFileSync(salvaged?.aside ?? '').equals(damaged)).toBe(true)
    const after = contentsOf(file)
    expect(betrayals(contents, after)).toEqual([])
    expect(after.rows.size).toBeGreaterThan(contents.rows.size * 0.9)
    expect(salvaged?.metrics).toBe(after.rows.size)
    expect(mended(file), 'it is sound now').toBeUndefined()
  })

  it('names the lost hours, with a fault that says why', () => {
    const { file, contents } = sound()
    const leaf = 25
    overwrite(file, (leaf - 1) * pageBytes, leaf * pageBytes)
    const salvaged = mended(file)
    const after = contentsOf(file)
    const again = [...after.hours.values()].filter(({ fault }) => fault?.includes('hour-lost'))
    expect(again.length).toBe(salvaged?.lostHours.reduce((sum, { hours }) => sum + hours, 0))
    const lost = [...contents.rows].filter(([key]) => !after.rows.has(key)).map(([, row]) => row)
    for (const { hour, collector } of lost) expect(after.hours.get(`${hour} ${collector}`)?.state).not.toBe(1)
    for (const { state } of again) expect(state).toBe(0)
  })

  it.each([
    ['the first page', 0, pageBytes],
    ['the file’s header', 0, 100],
  ])('is saved when %s is overwritten', (_, from, to) => {
    const { file, contents } = sound()
    overwrite(file, from, to)
    expect(mended(file)?.reason).toMatch(/not a database/)
    const after = contentsOf(file)
    expect(betrayals(contents, after)).toEqual([])
    expect(after.rows.size).toBe(contents.rows.size)
  })

  it.each(['outbox_due', 'tally', 'collection_due', 'sqlite_autoindex_metric_1', 'metric_collector'])(
    'loses nothing with the table or index %s',
    name => {
      const { file, contents } = sound()
      const root = rootOf(file, name)
      overwrite(file, (root - 1) * pageBytes, root * pageBytes, 0)
      expect(mended(file)?.lostHours).toEqual([])
      expect(contentsOf(file)).toEqual(contents)
    },
  )

  it.each(['metric', 'protocol', 'collector'])('loses nothing with the table %s, whose names are in an index', name => {
    const { file, contents } = sound()
    const root = rootOf(file, name)
    overwrite(file, (root - 1) * pageBytes, root * pageBytes, 0)
    mended(file)
    const after = contentsOf(file)
    expect(
      betrayals({ ...contents, hours: new Map() }, { ...after, hours: new Map() }).filter(text => !/^lost/.test(text)),
    ).toEqual([])
    expect(after.rows.size).toBe(contents.rows.size)
  })

  it('is saved as far as it goes when its end is missing', () => {
    const { file, contents } = sound()
    const bytes = readFileSync(file).length
    truncateSync(file, Math.floor(bytes * 0.6) + 123)
    mended(file)
    const after = contentsOf(file)
    expect(betrayals(contents, after).filter(text => !text.startsWith('hour lost'))).toEqual([])
    expect(after.rows.size).toBeGreaterThan(0)
  })

  it.each([
    ['garbage all through', (file: string) => overwrite(file)],
    ['empty', emptied],
  ])('that is %s is moved aside, and what is expected is due since it was made', (_, ruin) => {
    const { file } = sound()
    ruin(file)
    const { outbox, salvaged } = openSalvaged(file, { ...openDeps(file), nowMs: Date.now() })
    onTestFinished(() => outbox.close())
    expect(asideOf(file)).toHaveLength(1)
    expect(salvaged?.lostHours.map(({ collector }) => collector)).toEqual([...collectorIds].sort())
    const [row] = atOnce(outbox, () => rowsBetween(hourAfter(anHour, -200), hourAfter(anHour, 10_000)))
    expect(row).toMatchObject({ state: 'due', fault: { code: 'hour-lost' } })
  })

  it('makes metrics due again that the damage has made delivered: the index of due ones lists them', () => {
    const { file, contents } = sound()
    const bytes = readFileSync(file)
    // A row's header: its length, hour in three bytes, metric in one, protocol in one or none, the state 0.
    const due = [9, 1].flatMap(protocol => placesOf(bytes, Buffer.from([8, 3, 1, protocol, 8])))
    expect(due.length).toBeGreaterThan(10)
    for (const place of due) bytes[place + 4] = 9
    writeFileSync(file, bytes)
    mended(file, 'a test')
    const after = contentsOf(file)
    expect(betrayals(contents, after)).toEqual([])
    const dueHours = new Set([...contents.rows.values()].filter(({ state }) => state === 0).map(({ hour }) => hour))
    const changed = [...after.rows].filter(([key, { state }]) => contents.rows.get(key)?.state !== state)
    for (const [, { hour, state }] of changed) expect([dueHours.has(hour), state]).toEqual([true, 0])
  })

  it('is never put over another one that lies aside', () => {
    const { file } = sound()
    for (let time = 0; time < 3; time += 1) {
      overwrite(file, 0, 100)
      mended(file)
    }
    expect(asideOf(file)).toHaveLength(3)
  })

  it('is saved from the log where the log is whole', async () => {
    const { file, contents } = sound()
    const more = await withLog(file)
    const salvaged = mended(file, 'a test')
    const after = contentsOf(file)
    expect(after.rows.size).toBe(contents.rows.size + more)
    expect(existsSync(`${salvaged?.aside}-wal`)).toBe(true)
  })

  it('is one whose log has a frame that is not whole, and what follows the frame is saved', async () => {
    const { file, contents } = sound()
    const more = await withLog(file)
    overwrite(`${file}-wal`, 32 + 4_120 * 3 + 100, 32 + 4_120 * 3 + 200)
    expect(outboxSalvage.damageOf(file)).toMatch(/log/)
    mended(file)
    const after = contentsOf(file)
    const kept = [...after.rows.keys()].filter(key => !contents.rows.has(key)).length
    expect(kept).toBeGreaterThan(more / 2)
    expect([...contents.rows.keys()].filter(key => !after.rows.has(key))).toEqual([])
  })

  it('is one whose log is garbage: what was stored before is there, and it is said', async () => {
    const { file, contents } = sound()
    await withLog(file)
    overwrite(`${file}-wal`)
    expect(mended(file)?.reason).toMatch(/log/)
    const after = contentsOf(file)
    expect([...after.rows.keys()].sort()).toEqual([...contents.rows.keys()].sort())
  })
})

describe('what a salvage knows of blocks and of the past', () => {
  const damagedEnd = 100

  /** Changes an outbox, damages its header, and saves it. */
  async function saved(file: string, change: (outbox: SqliteOutbox) => Promise<unknown>): Promise<SqliteOutbox> {
    const outbox = new SqliteOutbox(file)
    await change(outbox)
    outbox.close()
    overwrite(file, 0, damagedEnd)
    const opened = openSalvaged(file, openDeps(file))
    onTestFinished(() => opened.outbox.close())
    expect(flawsOf(file)).toEqual([])
    return opened.outbox
  }

  it('brings pins through, but not what only spares a search, nor a correction under way', async () => {
    const { file } = sound()
    const [metric] = metrics(1)
    if (!metric) throw new Error('one')
    const outcome = {
      collector: 'vault/c0',
      hour: anHour,
      acceptedValues: [{ metric }],
      pins: [aPin(7), aPin(8, 'b', 10)],
    }
    const outbox = await saved(file, async before => {
      await before.intake.record(outcome, 1)
      const accepted = [{ metric: { ...metric, value: 99 } }]
      await before.intake.record({ ...outcome, acceptedValues: accepted, mode: 'correct' }, 1)
      void before.intake.finalBlocks(1).keep([{ hour: anHour, block: aBlock(7) }])
    })
    const own = (await outbox.intake.pinnedHours(1, anHour, 999)).filter(
      ({ hour, collector }) => hour === anHour && collector === 'vault/c0',
    )
    expect(own).toEqual([{ hour: anHour, collector: 'vault/c0', block: aBlock(7) }])
    expect(await outbox.intake.pinnedHours(10, anHour, 9)).toMatchObject([{ block: aBlock(8, 'b') }])
    expect(await outbox.intake.finalBlocks(1).of(anHour)).toBeUndefined()
    expect((await outbox.delivery.sentBefore([metric]))[0] === 'corrected').toBe(false)
    expect(await storedValue(outbox, metric.id, anHour)).toEqual({ value: 99, state: 'due' })
  })

  it('finds pins on a page that nothing leads to any more', async () => {
    const { file } = sound()
    const before = new SqliteOutbox(file)
    const hours = Array.from({ length: 200 }, (_, index) => hourAfter(anHour, index + 1))
    await expectHours(before, 'vault/c0', anHour)
    for (const [index, hour] of hours.entries()) {
      const accepted = metrics(1, hour).map(metric => ({ metric }))
      await before.intake.record({ collector: 'vault/c0', hour, acceptedValues: accepted, pins: [aPin(index + 1)] }, 1)
    }
    before.close()
    const root = rootOf(file, 'pin')
    overwrite(file, (root - 1) * pageBytes, root * pageBytes)
    const later = { ...openDeps(file), nowMs: hourAfter(anHour, 200) }
    const { outbox } = openSalvaged(file, later, 'a test')
    onTestFinished(() => outbox.close())
    const found = (await outbox.intake.pinnedHours(1, hourAfter(anHour, 200), 999)).filter(({ hour }) => hour > anHour)
    expect(found.length).toBeGreaterThan(150)
    for (const { hour, block } of found) expect(block).toEqual(aBlock((hour - anHour) / hourMs))
  })

  it('does not take pruned values for lost ones, nor hours between those of a backfill', async () => {
    const { file } = sound()
    const old = hourAfter(anHour, -30 * 24)
    let before: unknown
    const outbox = await saved(file, async outbox => {
      for (const back of [0, 100, 200]) {
        const accepted = metrics(3, hourAfter(old, back)).map(metric => ({ metric }))
        const outcome = {
          collector: 'vault/c0',
          hour: hourAfter(old, back),
          acceptedValues: accepted,
          unexpected: true,
        }
        await outbox.intake.record(outcome, nowMs)
      }
      const all = await outbox.delivery.due({ protocolIds: ['vault'], newestFirstFrom: anHour, latest: anHour }, 1_000)
      const [dead, ...delivered] = all.filter(({ hour }) => hour === old)
      await outbox.delivery.recordVerdicts(
        { delivered, dead: dead ? [{ metric: dead, reason: 'no', attempts: 1 }] : [], warnings: [] },
        1,
      )
      expect(delivered).toHaveLength(2)
      while (await outbox.pruneSome(hourAfter(old, 50)));
      before = atOnce(outbox, () => rowsBetween(hourAfter(old, -50), anHour))
    })
    expect(atOnce(outbox, () => rowsBetween(hourAfter(old, -50), anHour))).toEqual(before)
    expect(await outbox.operators.metrics(old, old)).toMatchObject([{ state: 'dead', reason: 'no' }])
  })

  it('finds the start of a collector that is lost, whatever a backfill has brought from before it', async () => {
    const { file } = sound()
    const outbox = new SqliteOutbox(file)
    for (let count = 0; count < 80; count += 1) {
      const hour = hourAfter(anHour, -100 - 3 * count)
      const accepted = metrics(3, hour).map(metric => ({ metric }))
      await outbox.intake.record({ collector: 'vault/c0', hour, acceptedValues: accepted, unexpected: true }, nowMs)
    }
    outbox.close()
    const before = contentsOf(file)
    const root = rootOf(file, 'collector')
    overwrite(file, (root - 1) * pageBytes, root * pageBytes, 0)
    mended(file, 'a test')
    expect(betrayals(before, contentsOf(file))).toEqual([])
  })

  it('makes hours of a backfill due again whose values are lost, however old they are', async () => {
    const { file } = sound()
    const old = hourAfter(anHour, -9_000)
    const outbox = new SqliteOutbox(file)
    for (let count = 0; count < 300; count += 1) {
      const hour = hourAfter(old, 2 * count)
      const accepted = metrics(3, hour).map(metric => ({ metric }))
      await outbox.intake.record({ collector: 'vault/c0', hour, acceptedValues: accepted, unexpected: true }, nowMs)
    }
    outbox.close()
    const before = contentsOf(file)
    const page = leafOf(file, 'outbox', 1)
    overwrite(file, (page - 1) * pageBytes, page * pageBytes)
    expect(mended(file, 'a test')?.lostHours).toMatchObject([
      { collector: 'vault/c0', hours: expect.toSatisfy(isMany) },
    ])
    expect(betrayals(before, contentsOf(file))).toEqual([])
  })
})

describe('putting the new outbox in its place', () => {
  it.each([
    ['before anything was moved', ['', '-wal']],
    ['when the log had been moved', ['']],
    ['when both had been moved', []],
  ])('goes on after a crash %s', (_, left) => {
    const { file, contents } = sound()
    renameSync(file, `${file}.salvaged-20261120T130000Z`)
    for (const part of left) writeFileSync(`${file}${part}`, 'damaged')
    expect(mended(file), 'it is not saved a second time').toBeUndefined()
    expect(contentsOf(file)).toEqual(contents)
    expect(asideOf(file)).toEqual(left.length > 0 ? ['outbox.db.corrupt-20261120T130000Z'] : [])
    expect(existsSync(`${file}.salvaged-20261120T130000Z`)).toBe(false)
  })

  it('is not begun by a file that is not finished', () => {
    const { file, contents } = sound()
    writeFileSync(`${file}.salvaging`, 'half a file')
    expect(mended(file)).toBeUndefined()
    expect(contentsOf(file).rows.size).toBe(contents.rows.size)
  })
})

describe('a command next to the daemon', () => {
  it('mends a damaged outbox where no daemon runs, and gives the role back', async () => {
    const { file, contents } = sound()
    overwrite(file, 0, 100)
    const { outbox, salvaged } = await openForCommand(openDeps(file))
    await outbox.close()
    expect(salvaged?.aside).toContain('.corrupt-')
    expect(contentsOf(file).rows.size).toBe(contents.rows.size)
    takeDeliveryRole(dirname(file), 'other.yaml', nowMs).release()
  })

  it('leaves it to the daemon that runs', async () => {
    const { file } = sound()
    overwrite(file, 0, 100)
    const role = takeDeliveryRole(dirname(file), 'other.yaml', nowMs)
    onTestFinished(() => role.release())
    await expect(openForCommand(openDeps(file))).rejects.toMatchObject({ code: 'outbox-corrupt' })
    expect(asideOf(file)).toEqual([])
  })

  it('does not store anything in a file that was moved aside meanwhile', async () => {
    const { file } = sound()
    const outbox = new SqliteOutbox(file)
    onTestFinished(() => outbox.close())
    for (const part of ['', '-wal', '-shm']) renameSync(`${file}${part}`, `${file}.corrupt-by-hand${part}`)
    new SqliteOutbox(file).close()
    const stored = outbox.intake.record({ collector: 'vault/c0', hour: anHour, acceptedValues: [] }, 1)
    await expect(stored).rejects.toMatchObject({ code: 'outbox-moved' })
    expect((await outbox.disk.broken).kind).toBe('moved')
  })
})

it('the first error of a damaged page is reported to the disk', async () => {
  const { file } = sound()
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  const root = rootOfOpen(file)
  overwrite(file, (root - 1) * pageBytes, root * pageBytes)
  await expect(outbox.operators.metrics(hourAfter(anHour, -100), anHour)).rejects.toThrow(
    expect.toSatisfy((error: unknown) => outbox.disk.recover(error) === 'broken'),
  )
  expect((await outbox.disk.broken).kind).toBe('damaged')
})

/** Without a second connection of this process, whose end would free the first one's locks. */
function rootOfOpen(file: string): number {
  copyFileSync(file, `${file}.copy`)
  return rootOf(`${file}.copy`, 'outbox')
}

/** Stores some more and leaves it in the log, as a killed process does. @returns how many metrics */
async function withLog(file: string): Promise<number> {
  const folder = temporaryFolder()
  const copy = join(folder, basename(file))
  copyFileSync(file, copy)
  const outbox = new SqliteOutbox(copy)
  const hours = 30
  await expectHours(outbox, 'vault/c0', anHour)
  for (let hour = 1; hour <= hours; hour += 1) {
    const at = hourAfter(anHour, hour)
    await expectEach(outbox, 'vault/c0', [at])
    const accepted = metrics(2, at).map(metric => ({ metric }))
    await outbox.intake.record({ collector: 'vault/c0', hour: at, acceptedValues: accepted }, 1)
  }
  copyFileSync(copy, file)
  copyFileSync(`${copy}-wal`, `${file}-wal`)
  outbox.close()
  return hours * 2
}

function emptied(file: string): void {
  truncateSync(file, 0)
  utimesSync(file, Date.now() / 1000, Date.now() / 1000 + 5)
}
