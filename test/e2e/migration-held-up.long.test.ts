import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tablesVersion } from '../../src/outbox/store/schema.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, says, source, start, startDaemon, tidegauge, untilNextLook } from '../support/tidegauge.ts'
import { fleetYaml, next, nextTables } from './next-tables.ts'

const env = { METRICS_KEY: 'a-key-nobody-may-see' }

describe.skipIf(postgresPlace.kind === 'missing')('the database of an older version (needs the program initdb)', () => {
  const databases = useTestDatabases()

  it('is not brought up to date while another reads it, who is named, and holds up no older daemon; the copy has the grants', async () => {
    const address = await databases.empty()
    const database = new URL(address).pathname.slice(1)
    const query = (text: string) => databases.server.query(text, [], database)
    // Names without a schema mean these tables.
    await query(`ALTER DATABASE ${database} SET search_path = tidegauge, public`)
    const own = { ...env, DATABASE_URL: address }
    const [{ config: first }, { config: second }] = [configured(fleetYaml('eu-1')), configured(fleetYaml('eu-2'))]
    const older = await startDaemon(first, own)
    await older.status<StatusJson>(({ balance: { enqueued } }) => enqueued > 0)
    await query(`CREATE ROLE ${database}_reader`)
    onTestFinished(async () => void (await query(`DROP OWNED BY ${database}_reader; DROP ROLE ${database}_reader`)))
    await query(`GRANT USAGE ON SCHEMA tidegauge TO ${database}_reader; GRANT SELECT ON tidegauge.metric_values TO ${database}_reader;
      GRANT SELECT (name) ON tidegauge.metric TO ${database}_reader; GRANT SELECT ON tidegauge.outbox TO PUBLIC`)

    const reader = new pg.Client({ connectionString: address, application_name: 'nightly dump' })
    await reader.connect()
    await reader.query('BEGIN; SELECT count(*) FROM tidegauge.report')
    const [{ pid }] = (await reader.query('SELECT pg_backend_pid() AS pid')).rows
    const newer = startDaemon(second, { ...own, ...next }, source)
    newer.catch(() => {})
    const refused = await tidegauge(['status', '--config', second], { ...own, ...next }, source)
    expect(refused.code).not.toBe(0)
    const child = start(['run', '--config', second], { ...own, ...next }, source)
    const line = await says(child, /cannot be brought to version/)
    expect(line).toMatch(
      new RegExp(`nightly dump, pid ${pid} has a lock on them since \\d{4}-.*pg_terminate_backend\\(${pid}\\)`),
    )
    child.kill('SIGKILL')
    // Between the attempts others work on.
    const seen = async () =>
      (await query(`SELECT until::text AS seen FROM tidegauge.lease WHERE name = 'daemon/eu-1'`))[0]?.['seen']
    const before = await seen()
    while ((await seen()) === before) await untilNextLook()
    expect(await query('SELECT version FROM tidegauge.version')).toEqual([{ version: tablesVersion }])
    await reader.query('COMMIT')
    await reader.end()
    const daemon = await newer
    expect(await query('SELECT version FROM tidegauge.version')).toEqual([{ version: nextTables }])
    const copy = `tidegauge_before_${nextTables}`
    const can = async (what: string) => (await query(`SELECT ${what} AS may`))[0]
    for (const what of [
      `has_schema_privilege('${database}_reader', '${copy}', 'USAGE')`,
      `has_table_privilege('${database}_reader', '${copy}.metric_values', 'SELECT')`,
      `has_column_privilege('${database}_reader', '${copy}.metric', 'name', 'SELECT')`,
      `has_table_privilege('${database}_reader', '${copy}.outbox', 'SELECT')`,
      `NOT has_table_privilege('${database}_reader', '${copy}.metric', 'SELECT')`,
    ])
      expect(await can(what), what).toEqual({ may: true })
    const copied = `SELECT count(*)::integer AS parts FROM pg_constraint WHERE contype = 'f' AND connamespace = '${copy}'::regnamespace
      AND confrelid IN (SELECT oid FROM pg_class WHERE relnamespace = '${copy}'::regnamespace)`
    expect((await query(copied))[0]).toEqual({ parts: expect.any(Number) })
    expect(
      (await query(copied))[0]?.['parts'],
      'they refer to each other, not to the tables that were copied',
    ).toBeGreaterThan(5)
    expect([await older.kill('SIGTERM'), await daemon.kill('SIGTERM')]).toEqual([0, 0])
  })
})
