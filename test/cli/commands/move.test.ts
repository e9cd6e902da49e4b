import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { metricId } from '../../../src/model/metric.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { takeDaemonRole } from '../../../src/outbox/roles.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { changed, tooOld } from '../../outbox/contract/steps.ts'
import { flawsOf } from '../../outbox/support/contents.ts'
import { collectorIds, fill } from '../../outbox/support/filled.ts'
import { anHour } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { postgresPassword } from '../../support/postgres/server.ts'
import { configured, tidegauge } from '../../support/tidegauge.ts'

const yaml = `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
protocols: [{ id: vault, name: Vault, collectors: [{ use: host }] }]
`

const hours = 120
const first = hourAfter(anHour, 1 - hours)

/** A folder with an outbox of thousands of metrics in all states, corrected ones and history included. */
async function filledFolder() {
  const { folder, config } = configured(yaml)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  const outbox = new SqliteOutbox(join(data, 'outbox.db'))
  await fill(outbox, dice(3), hours)
  const delivered = (await outbox.operators.metrics(first, anHour)).filter(({ state }) => state === 'delivered')
  const [{ collector = '', hour = anHour } = {}] = delivered
  const own = delivered.filter(one => one.collector === collector && one.hour === hour)
  const accepted = changed(own).map(({ id, protocolId, value, unit }) => ({
    metric: { id, protocolId, hour, value, ...(unit !== undefined && { unit }) },
  }))
  await outbox.intake.record({ collector, hour, acceptedValues: accepted, mode: 'correct' }, 3)
  await outbox.reports.save('notify', '{"told":[]}')
  const contents = await contentsOf(outbox)
  await outbox.close()
  return { config, data, contents }
}

/** Everything that the ports of an outbox tell. */
async function contentsOf({ operators, status, intake, reports }: Outbox) {
  const collectors = collectorIds.map(id => ({ id }))
  const wanted = { collectors, protocolIds: ['vault', 'market'], destinations: ['service'], hour: anHour }
  return {
    backlog: await operators.backlog(),
    detail: await status.detail(wanted, first, anHour),
    dead: await operators.deadOrHeld({ state: 'dead' }),
    held: await operators.deadOrHeld({ state: 'held' }),
    gaps: await operators.hourRanges('gap'),
    due: await operators.due({}),
    history: await operators.history(metricId('vault', 'c1-Label0')),
    pins: await intake.pinnedHours(1, anHour, 10_000),
    final: await intake.finalBlocks(1).of(anHour),
    notify: await reports.read('notify'),
  }
}

describe.skipIf(postgresPlace.kind === 'missing')('move (needs the program initdb)', () => {
  const databases = useTestDatabases()

  async function move(config: string, url: string) {
    const ended = await tidegauge(['move', '--to', 'postgres', '--config', config], { DATABASE_URL: url })
    for (const secret of [postgresPassword, encodeURIComponent(postgresPassword)]) {
      expect(ended.stdout + ended.stderr).not.toContain(secret)
    }
    return ended
  }

  it('copies an outbox of thousands of metrics in all states, once, and keeps the folder', async () => {
    const [{ config, data, contents }, url] = [await filledFolder(), await databases.empty()]
    expect(contents.backlog.balance.enqueued).toBeGreaterThan(2_000)
    const before = readFileSync(join(data, 'outbox.db'))
    const moved = await move(config, url)
    expect(moved).toMatchObject({ code: 0, stderr: '' })
    expect(moved.stdout).toMatch(/counts and digests are the same/)
    expect(readFileSync(join(data, 'outbox.db')).equals(before)).toBe(true)
    const outbox = await openPostgresOutbox(addressOf(url))
    onTestFinished(() => outbox.close())
    expect(await contentsOf(outbox)).toEqual(contents)
    // Numbers of what is stored next go on after those of the copy.
    await outbox.intake.planHours({ collector: 'new/c', current: anHour, oldest: first, gapReason: tooOld })
    expect(await outbox.status.collectors()).toContain('new/c')

    const again = await move(config, url)
    expect(again).toMatchObject({ code: 2, stdout: '' })
    expect(again.stderr).toMatch(/the database holds rows already: collector, .*drop its schema tidegauge/s)
  })

  it('copies it back into a folder, with all that came meanwhile', async () => {
    const [{ config, contents }, url] = [await filledFolder(), await databases.empty()]
    await move(config, url)
    const outbox = await openPostgresOutbox(addressOf(url))
    onTestFinished(() => outbox.close())
    const inFleet = configured(`${yaml}data: { postgres: { env: DATABASE_URL } }\n`)
    const folder = join(inFleet.folder, 'back')
    const back = () =>
      tidegauge(['move', '--to', 'folder', '--folder', folder, '--config', inFleet.config], { DATABASE_URL: url })
    const entry = { version: '1', digest: Buffer.alloc(32), lanes: [], pid: 7, clockOffMs: 0 }
    const daemon = { ...entry, name: 'eu', host: 'eu', configFile: 'c', instance: randomUUID() }
    const holder = { daemon: 'eu', instance: daemon.instance, term: 0 }
    const { term = 0 } = await outbox.sharedOutbox.leases.renew(holder, daemon)
    expect(await back()).toMatchObject({ code: 75, stdout: '' })
    expect(existsSync(folder)).toBe(false)
    await outbox.sharedOutbox.leases.leave({ ...holder, term })

    const moved = await back()
    expect(moved).toMatchObject({ code: 0, stderr: '' })
    expect(moved.stdout).toContain(`now write data: ${folder}, remove fleet:, and start the daemon`)
    const copy = new SqliteOutbox(join(folder, 'outbox.db'))
    expect(await contentsOf(copy)).toEqual(contents)
    await copy.intake.planHours({ collector: 'new/c', current: anHour, oldest: first, gapReason: tooOld })
    await copy.close()
    expect(flawsOf(join(folder, 'outbox.db'))).toEqual([])
    expect(readdirSync(folder).filter(name => name.includes('copy'))).toEqual([])
    expect(await contentsOf(outbox)).toEqual(contents)
    expect(await back()).toMatchObject({ code: 2, stderr: expect.stringContaining('there is an outbox in') })
  })

  it('copies nothing while a daemon works on the folder, or without an address', async () => {
    const [{ config, data }, url] = [await filledFolder(), await databases.empty()]
    const role = takeDaemonRole(data, config, anHour)
    onTestFinished(() => role.release())
    expect(await move(config, url)).toMatchObject({ code: 75, stdout: '' })
    expect(await move(config, 'mysql://hunter2hunter2@db/x')).toMatchObject({ code: 78 })
    const { database } = addressOf(url)
    expect(await databases.server.query(`SELECT to_regclass('tidegauge.collector') AS is`, [], database)).toEqual([
      { is: null },
    ])
  })
})
