import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { version } from '../../src/edge/version.ts'
import { hourAfter } from '../../src/model/hour.ts'
import type { Outbox } from '../../src/outbox/contract/outbox.ts'
import { moveOutbox } from '../../src/outbox/move.ts'
import { openForCommand } from '../../src/outbox/open.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { openReadOnly } from '../../src/sqlite/database.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import {
  balanceOf,
  changed,
  collector,
  correct,
  deliver,
  dueOf,
  held,
  nowMs,
  plan,
  record,
  refuse,
} from './contract/steps.ts'
import { aPin } from './support/blocks.ts'

/** Outboxes that released versions made, as SQL: for each store, `VERSION.sqlite.sql` and `VERSION.postgres.sql`. */
const folder = fileURLToPath(new URL('released', import.meta.url))
const versions = readdirSync(folder).flatMap(name =>
  name.endsWith('.sqlite.sql') ? [name.slice(0, -'.sqlite.sql'.length)] : [],
)
const dumpOf = (of: string, store: 'sqlite' | 'postgres') => readFileSync(join(folder, `${of}.${store}.sql`), 'utf8')

/** The content of every dump: a delivered and corrected hour, one with a dead and a held metric, one that is due. */
const expected = { enqueued: 10, delivered: 4, dead: 1, held: 2, due: 3 }

async function fill(outbox: Outbox): Promise<void> {
  const [first, second] = [hourAfter(anHour, -2), hourAfter(anHour, -1)]
  for (const current of [first, second, anHour]) await plan(outbox, { current })
  const provenance = { version, code: 'c', options: 'o', hosts: { 1: 'node.example.com' } }
  await record(outbox, metrics(4, first), { provenance, pins: [aPin(1)] })
  await deliver(outbox, metrics(4, first))
  await correct(outbox, changed(metrics(1, first)))
  await deliver(outbox, changed(metrics(1, first)))
  const [dead, ...rest] = metrics(3, second)
  await record(outbox, [...(dead ? [dead] : []), ...held(rest)])
  await refuse(outbox, dead ? [dead] : [])
  await record(outbox, metrics(3))
  await outbox.intake.setInputs('vault/d', [{ id: 'vault___M0', hours: 24 }])
  await outbox.delivery.saveDestination('service', {
    ...{ notBeforeMs: nowMs, probeAtMs: 0, failures: 2, waiting: 'it answers 503' },
    lastPush: { atMs: nowMs, verdict: 'transient' },
  })
  await outbox.reports.save('notify', '{"told":[]}')
}

/** @throws unless the outbox has what was stored, and works */
async function requireWorking(outbox: Outbox): Promise<void> {
  expect(await balanceOf(outbox)).toMatchObject(expected)
  expect(await outbox.reports.read('notify')).toBe('{"told":[]}')
  expect(await dueOf(outbox)).toEqual(metrics(3))
  await deliver(outbox, metrics(3))
  const next = hourAfter(anHour, 1)
  await plan(outbox, { current: next })
  await record(outbox, metrics(2, next))
  expect(await balanceOf(outbox)).toMatchObject({ enqueued: 12, delivered: 7, due: 2 })
}

const opening = { config: 'tidegauge.yaml', keepMs: 1e12, collectors: [collector], nowMs }

/** Columns of all tables of a file. */
function columnsOf(file: string): unknown[] {
  const database = openReadOnly(file)
  try {
    const text = `SELECT t.name || '.' || c.name || ' ' || c.type AS name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type IN ('table', 'view') ORDER BY 1`
    return database.prepare<[], string>(text).pluck().all()
  } finally {
    database.close()
  }
}

describe.each(versions)('an outbox of the release %s', of => {
  it('is opened as a file, brought up to date, and works', async () => {
    const [data, fresh] = [temporaryFolder(), join(temporaryFolder(), 'outbox.db')]
    const file = new Database(join(data, 'outbox.db'))
    file.exec(dumpOf(of, 'sqlite'))
    file.close()
    const { outbox } = await openForCommand({ ...opening, place: { kind: 'folder', folder: data } })
    onTestFinished(() => outbox.close())
    await requireWorking(outbox)
    await new SqliteOutbox(fresh).close()
    expect(columnsOf(join(data, 'outbox.db'))).toEqual(columnsOf(fresh))
  })
})

describe.skipIf(postgresPlace.kind === 'missing')('in PostgreSQL (needs the program initdb)', () => {
  const databases = useTestDatabases()

  const columns = (database: string) =>
    databases.server.query(
      `SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'tidegauge' ORDER BY 1, 2`,
      [],
      database,
    )

  it.each(versions)('an outbox of the release %s is opened, brought up to date, and works', async of => {
    const [address, fresh] = [addressOf(await databases.empty()), addressOf(await databases.empty())]
    await databases.server.query(dumpOf(of, 'postgres'), [], address.database)
    const { outbox } = await openForCommand({ ...opening, place: { kind: 'postgres', address } })
    onTestFinished(() => outbox.close())
    await requireWorking(outbox)
    const made = await openForCommand({ ...opening, place: { kind: 'postgres', address: fresh } })
    await made.outbox.close()
    expect(await columns(address.database)).toEqual(await columns(fresh.database))
  })

  // Not skipped but absent: a test of CI is never skipped.
  if (process.env['DUMP_RELEASE'] === '1')
    it('writes the dumps of this version, once it is released', async () => {
      const data = temporaryFolder()
      const file = join(data, 'outbox.db')
      const outbox = new SqliteOutbox(file)
      await fill(outbox)
      await outbox.close()
      const target = addressOf(await databases.empty())
      await moveOutbox({
        folder: data,
        config: 'tidegauge.yaml',
        target,
        service: { name: 'service', digest: Buffer.of(7) },
        nowMs,
      })
      const userVersion = execFileSync('sqlite3', [file, 'PRAGMA user_version']).toString().trim()
      const sqlite = execFileSync('sqlite3', [file, '.dump']).toString()
      writeFileSync(join(folder, `${version}.sqlite.sql`), `${sqlite}PRAGMA user_version = ${userVersion};\n`)
      const url = databases.server.address('', target.database)
      const postgres = execFileSync('pg_dump', [
        '--schema=tidegauge',
        '--inserts',
        '--no-owner',
        '--no-privileges',
        url,
      ]).toString()
      const plain = postgres.split('\n').filter(line => !/^(\\|--|SET |SELECT pg_catalog\.set_config|$)/.test(line))
      writeFileSync(join(folder, `${version}.postgres.sql`), `${plain.join('\n')}\n`)
    })
})
