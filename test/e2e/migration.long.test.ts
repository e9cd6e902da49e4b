import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
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
  source,
  start,
  startDaemon,
  tidegauge,
  untilNextLook,
} from '../support/tidegauge.ts'
import { fleetYaml, next, nextTables } from './next-tables.ts'

/** The next version, with a migration that never ends. */
const endless = { ...next, MIGRATION_WAITS: '1' }

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
})
