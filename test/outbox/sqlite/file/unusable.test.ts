import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../../src/model/fault.ts'
import { type OpenDeps, type Opened, openForCommand, openForDaemon } from '../../../../src/outbox/open.ts'
import { deliveryHolder, takeDeliveryRole } from '../../../../src/outbox/roles.ts'
import { Disk } from '../../../../src/outbox/sqlite/file/disk.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { troubleFix, troubleOf, troubleWords } from '../../../../src/sqlite/trouble.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { dueOf, plan, record } from '../../contract/steps.ts'

const context = (folder: string): OpenDeps => ({
  place: { kind: 'folder', folder },
  config: 'tidegauge.yaml',
  keepMs: 35 * 24 * 3_600_000,
  collectors: [],
  nowMs: anHour,
})

/** As the daemon opens it, and as a command does; what was thrown. */
async function thrownBy(folder: string): Promise<readonly unknown[]> {
  const daemon = async () => {
    const role = takeDeliveryRole(folder, 'tidegauge.yaml', anHour)
    try {
      await closed(openForDaemon(context(folder), { hasRole: true }))
    } finally {
      role.release()
    }
  }
  const command = () => closed(openForCommand(context(folder)))
  const thrown = []
  for (const open of [daemon, command]) {
    thrown.push(
      await open().then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
  }
  return thrown
}

async function closed(opening: Promise<Opened>): Promise<void> {
  const { outbox } = await opening
  await outbox.close()
}

/** Both say what is wrong, with the file, and what to do. */
async function expectFaults(folder: string, words: RegExp, path = join(folder, 'outbox.db')): Promise<void> {
  for (const error of await thrownBy(folder)) {
    expect(error).toBeInstanceOf(Fault)
    const { code, message, fix } = error as Fault
    expect(code).toBe('outbox-unusable')
    expect(message).toMatch(words)
    expect(message).toContain(path)
    expect(message).not.toMatch(/SQLITE|unable to open|disk I\/O/)
    expect(fix).toBeTruthy()
  }
}

describe('an outbox’s file that cannot be used is reported with its path and a fix:', () => {
  it.each([
    ['a folder', /a folder is/, (file: string) => mkdirSync(file)],
    ['links in a circle', /symbolic links lead in a circle/, (file: string) => symlinkSync('outbox.db', file)],
    ['a link to nowhere', /does not exist/, (file: string) => symlinkSync('no/where.db', file)],
    ['a folder in the log’s place', /a folder is/, (file: string) => madeWith(file, () => mkdirSync(`${file}-wal`))],
  ])('%s', async (_, words, make) => {
    const folder = temporaryFolder()
    make(join(folder, 'outbox.db'))
    await expectFaults(folder, words)
  })

  it('a file in the place of the data folder', async () => {
    const folder = join(temporaryFolder(), 'data')
    writeFileSync(folder, 'a file')
    await expectFaults(folder, /a file is expected where a folder is, or a folder/, folder)
  })

  it.each([
    ['garbage', Buffer.alloc(8_192, 0x5a)],
    ['too short', Buffer.from('SQLite format 3\0, and then')],
  ])('%s is saved and begun again by the daemon', async (_, bytes) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'outbox.db'), bytes)
    expect(await thrownBy(folder)).toEqual([undefined, undefined])
  })
})

describe('an outbox’s file whose creation was cut short by a kill', () => {
  it.each([
    ['a daemon', (folder: string) => openForDaemon(context(folder), { hasRole: true })],
    ['a command', (folder: string) => openForCommand(context(folder))],
  ])('is created by %s, and nothing is said to be damaged', async (_, open) => {
    const folder = temporaryFolder()
    cutShort(join(folder, 'outbox.db'))
    const { outbox, salvaged } = await open(folder)
    onTestFinished(() => outbox.close())
    expect(salvaged).toBeUndefined()
    await plan(outbox, { current: anHour })
    await record(outbox, metrics(3))
    expect(await dueOf(outbox)).toEqual(metrics(3))
  })
})

/** Leaves what a process leaves that is killed after it has written a file’s first pages, and before these are in force. */
function cutShort(file: string): void {
  const being = join(temporaryFolder(), 'being-created.db')
  const database = new Database(being)
  // A transaction that has no place in memory is written to the file before it ends.
  database.pragma('cache_size = 1')
  database.exec('BEGIN IMMEDIATE; CREATE TABLE filler (bytes)')
  const fill = database.prepare('INSERT INTO filler VALUES (zeroblob(3000))')
  for (let row = 0; row < 20; row += 1) fill.run()
  for (const part of ['', '-journal']) copyFileSync(`${being}${part}`, `${file}${part}`)
  database.close()
  expect(statSync(file).size, 'pages that are not in force').toBeGreaterThan(0)
}

function madeWith(file: string, make: () => void): void {
  new SqliteOutbox(file).close()
  make()
}

describe('the lock’s file', () => {
  it.each([
    ['garbage', (file: string) => writeFileSync(file, Buffer.alloc(4_096, 0x5a))],
    ['a database with a log', (file: string) => openDatabase(file, outboxSchema).close()],
    ['a few bytes', (file: string) => writeFileSync(file, 'hello')],
  ])('that holds %s means nothing: it is a lock again', (_, fill) => {
    const folder = temporaryFolder()
    const file = join(folder, 'lock.db')
    fill(file)
    expect(deliveryHolder(folder), 'it is free').toBeUndefined()
    const role = takeDeliveryRole(folder, 'tidegauge.yaml', anHour)
    onTestFinished(() => role.release())
    expect(readFileSync(file)).toHaveLength(0)
    expect(deliveryHolder(folder)).toMatchObject({ pid: process.pid })
    expect(() => takeDeliveryRole(folder, 'other.yaml', anHour)).toThrow(
      expect.objectContaining({ code: 'outbox-held' }),
    )
  })

  it('that is held stays held whatever is written into it', () => {
    const folder = temporaryFolder()
    const role = takeDeliveryRole(folder, 'tidegauge.yaml', anHour)
    onTestFinished(() => role.release())
    execFileSync('sh', ['-c', `head -c 4096 /dev/urandom > '${join(folder, 'lock.db')}'`])
    expect(deliveryHolder(folder)).toMatchObject({ pid: process.pid })
    expect(() => takeDeliveryRole(folder, 'other.yaml', anHour)).toThrow(
      expect.objectContaining({ code: 'outbox-held' }),
    )
  })

  it('that is a folder is reported with its path', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'lock.db'))
    await expectFaults(folder, /a folder is/, join(folder, 'lock.db'))
  })
})

describe('what keeps a file from being used', () => {
  const file = '/data/outbox.db'
  const coded = (code: string) => Object.assign(new Error('disk I/O error'), { code })

  it.each([
    ['EROFS', 'read-only'],
    ['EACCES', 'denied'],
    ['EPERM', 'denied'],
    ['EDQUOT', 'no-room'],
    ['EIO', 'failing'],
    ['ESTALE', 'failing'],
    ['EMFILE', 'too-many-files'],
    ['ENFILE', 'too-many-files'],
    ['ENOLCK', 'no-locks'],
    ['SQLITE_FULL', 'no-room'],
    ['SQLITE_IOERR_SHMSIZE', 'no-room'],
    ['SQLITE_IOERR_LOCK', 'no-locks'],
    ['SQLITE_IOERR_SHMMAP', 'no-locks'],
    ['SQLITE_PROTOCOL', 'no-locks'],
    ['SQLITE_NO_SHARED_MEMORY', 'no-locks'],
    ['SQLITE_BUSY', 'busy'],
  ] as const)('%s means %s', (code, kind) => {
    const trouble = troubleOf(file, coded(code))
    expect(trouble).toEqual({ kind, path: file })
    expect(troubleWords[kind]).toBeTruthy()
    expect(troubleFix(trouble)).toBeTruthy()
  })

  it('is asked of the file system where SQLite’s words leave it open, and not guessed', () => {
    const folder = temporaryFolder()
    const here = join(folder, 'outbox.db')
    expect(troubleOf(here, coded('SQLITE_IOERR_WRITE')), 'a quota').toMatchObject({ kind: 'no-room' })
    expect(troubleOf(here, coded('SQLITE_IOERR_FSYNC'))).toMatchObject({ kind: 'failing' })
    expect(troubleOf(here, coded('SQLITE_CANTOPEN'))).toMatchObject({ kind: 'other' })
    expect(troubleOf(here, coded('SQLITE_READONLY'))).toMatchObject({ kind: 'read-only' })
    expect(troubleOf(here, coded('SQLITE_READONLY_ROLLBACK')), 'no word of the disk').toMatchObject({ kind: 'other' })
    mkdirSync(`${here}-shm`)
    expect(troubleOf(here, coded('SQLITE_CANTOPEN'))).toEqual({ kind: 'not-a-file', path: `${here}-shm` })
    expect(existsSync(join(folder, '.probe')), 'nothing is left behind').toBe(false)
  })

  it('ends no daemon for a passing trouble', () => {
    const disk = new Disk(join(temporaryFolder(), 'outbox.db'))
    expect(disk.recover(coded('SQLITE_BUSY'))).toBe('other')
    expect(disk.recover(coded('EMFILE'))).toBe('other')
    expect(disk.recover(new TypeError('a mistake of ours'))).toBe('other')
    expect(disk.explain(coded('SQLITE_BUSY'))).toMatchObject({ code: 'outbox-unusable' })
  })
})
