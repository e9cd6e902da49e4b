import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tablesVersion } from '../../src/outbox/store/schema.ts'
import { openReadOnly, schemaVersion } from '../../src/sqlite/database.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import {
  allDelivered,
  configured,
  hostYaml,
  says,
  source,
  start,
  startDaemon,
  tidegauge,
  untilNextLook,
} from '../support/tidegauge.ts'

/** Makes a command that of a later version, whose tables have a column more; see the file. */
const next = { NODE_OPTIONS: `--import ${new URL('../support/next-version.ts', import.meta.url).href}` }
/** The same, with a migration that never ends. */
const endless = { ...next, MIGRATION_WAITS: '1' }
const nextTables = tablesVersion + 1

const env = { METRICS_KEY: 'a-key-nobody-may-see' }

async function statusOf(config: string, more: Readonly<Record<string, string>> = {}): Promise<StatusJson> {
  const { code, stdout, stderr } = await tidegauge(
    ['status', '--json', '--config', config],
    { ...env, ...more },
    source,
  )
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as StatusJson
}

function versionOf(file: string): number {
  const database = openReadOnly(file)
  try {
    return schemaVersion(database)
  } finally {
    database.close()
  }
}

/** An outbox in a folder, with the values of an hour. */
async function collected(parent?: string) {
  const { folder, config } = configured(parent === undefined ? hostYaml : `data: ${parent}\n${hostYaml}`)
  expect((await tidegauge(['collect', '--config', config])).code).toBe(0)
  const data = join(parent ?? join(folder, 'data'), 'embedded')
  const [file, backup] = ['outbox.db', `outbox.db.before-${nextTables}`].map(name => join(data, name)) as [
    string,
    string,
  ]
  return { config, data, file, backup, balance: (await statusOf(config)).balance }
}

describe('the file of an older version', () => {
  it('is as it was after a kill in the middle, then brought up to date, and back again', async () => {
    const { config, file, backup, balance } = await collected()
    const killed = start(['status', '--config', config], endless, source)
    while (!existsSync(backup)) await untilNextLook()
    killed.kill('SIGKILL')
    expect(versionOf(file)).toBe(tablesVersion)
    expect((await statusOf(config)).balance).toEqual(balance)

    expect((await statusOf(config, next)).balance).toEqual(balance)
    expect([versionOf(file), versionOf(backup)]).toEqual([nextTables, tablesVersion])
    const refused = await tidegauge(['collect', '--config', config])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(
      /schema version \d+, made by tidegauge 9\.9\.9; .*\n.*run tidegauge 9\.9\.9 or newer; to go back, .* rename outbox\.db\.before-\d+ to outbox\.db$/m,
    )
    for (const part of ['-wal', '-shm', '']) rmSync(`${file}${part}`, { force: true })
    renameSync(backup, file)
    expect((await statusOf(config)).balance).toEqual(balance)
  })

  it('is left alone while an older daemon works on it', async () => {
    const { folder, config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    const { balance } = await daemon.status<StatusJson>(allDelivered)
    const refused = await tidegauge(['collect', '--config', config], next, source)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(/schema version \d+.*\n.*stop the older tidegauge/)
    expect(readdirSync(join(folder, 'data', 'embedded')).filter(name => name.includes('before'))).toEqual([])
    expect((await daemon.status<StatusJson>(() => true)).balance).toEqual(balance)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it.skipIf(!mayMount)('stays as it is on a full disk (needs to mount)', async () => {
    const disk = smallDisk(48)
    const { config, data, file, backup, balance } = await collected(disk.folder)
    // Even what is kept in reserve is used up.
    rmSync(join(data, 'ballast'), { force: true })
    disk.fill()
    const refused = await tidegauge(['status', '--config', config], next, source)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/no room|is full/)])
    disk.empty()
    expect([versionOf(file), existsSync(backup)]).toEqual([tablesVersion, false])
    expect(readdirSync(data).filter(name => name.includes('part'))).toEqual([])
    expect((await statusOf(config)).balance).toEqual(balance)
    expect((await statusOf(config, next)).balance).toEqual(balance)
  })
})

const fleetYaml = (name: string) => `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
protocols: [{ id: this-machine, name: This machine, collectors: [{ use: host }] }]
`

describe.skipIf(postgresPlace.kind === 'missing')('the database of an older version (needs the program initdb)', () => {
  const databases = useTestDatabases()

  it('is brought up to date by a daemon, and the older daemons stop; two renames lead back', async () => {
    const address = await databases.empty()
    const database = new URL(address).pathname.slice(1)
    const query = (text: string) => databases.server.query(text, [], database)
    const own = { ...env, DATABASE_URL: address }
    const [{ config: first }, { config: second }] = [configured(fleetYaml('eu-1')), configured(fleetYaml('eu-2'))]
    const older = await startDaemon(first, own)
    const { balance } = await older.status<StatusJson>(({ balance: { enqueued } }) => enqueued > 0)

    const command = await tidegauge(['status', '--config', second], { ...own, ...next }, source)
    expect([command.code, command.stderr]).toEqual([
      78,
      expect.stringMatching(/the daemon eu-1 of tidegauge .*\n.*start a daemon of this version/),
    ])

    const killed = start(['run', '--config', second], { ...own, ...endless }, source)
    const asleep = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(3600)' AND wait_event = 'PgSleep'`
    while ((await query(asleep)).length === 0) await untilNextLook()
    killed.kill('SIGKILL')
    await query(`SELECT pg_terminate_backend(pid) FROM (${asleep}) AS found`)
    expect(await query('SELECT version FROM tidegauge.version')).toEqual([{ version: tablesVersion }])
    expect(await query(`SELECT 1 FROM pg_namespace WHERE nspname LIKE 'tidegauge_before%'`)).toEqual([])

    const newer = await startDaemon(second, { ...own, ...next }, source)
    const ready = async () => (await fetch(`${older.url}/readyz`)).text()
    while (!(await ready()).includes(`version ${nextTables}`)) await untilNextLook()
    expect((await newer.status<StatusJson>(() => true)).balance.enqueued).toBeGreaterThanOrEqual(balance.enqueued)
    const refused = await tidegauge(['status', '--config', first], own)
    expect([refused.code, refused.stderr]).toEqual([78, expect.stringMatching(/made by tidegauge 9\.9\.9/)])
    expect([await older.kill('SIGTERM'), await newer.kill('SIGTERM')]).toEqual([0, 0])

    await query('ALTER SCHEMA tidegauge RENAME TO tidegauge_newer')
    await query(`ALTER SCHEMA tidegauge_before_${nextTables} RENAME TO tidegauge`)
    const again = await startDaemon(first, own)
    expect((await again.status<StatusJson>(() => true)).balance).toEqual(balance)
    expect(await again.kill('SIGTERM')).toBe(0)
    await query('DROP SCHEMA tidegauge_newer CASCADE')
  })

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
    const seen = async () => (await query(`SELECT seen::text FROM tidegauge.daemon WHERE name = 'eu-1'`))[0]?.['seen']
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
