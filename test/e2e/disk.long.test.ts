import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { takeDaemonRole } from '../../src/outbox/roles.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { listening } from '../support/listening.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import {
  configured,
  hostYaml,
  type RunningDaemon,
  startDaemon,
  tidegauge,
  untilNextLook,
} from '../support/tidegauge.ts'

const pageBytes = 4_096
const env = { METRICS_KEY: 'a-key-nobody-may-see' }

/** A service that takes everything, or answers 503 while it is down. */
async function service(): Promise<{ url: string; isDown: boolean; readonly taken: Set<string> }> {
  const taken = new Set<string>()
  const state = { url: '', isDown: false, taken }
  state.url = await listening((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', text => {
      body += text
    })
    request.on('end', () => {
      if (state.isDown) return void response.writeHead(503).end()
      const { metrics } = JSON.parse(body || '{"metrics":[]}') as { metrics: { id: string; timestamp: string }[] }
      for (const { id, timestamp } of metrics) taken.add(`${timestamp} ${id}`)
      response.end(JSON.stringify({ success: true, processed: metrics.length, errors: [], warnings: [] }))
    })
  })
  return state
}

/** 40 metrics of each hour of the last days, and more of them with each collector. */
const many = `import { defineCollector, z } from 'tidegauge'
const labels = Array.from({ length: 40 }, (_, index) => 'M' + index)
export default defineCollector({
  options: z.strictObject({}),
  metrics: Object.fromEntries(labels.map(label => [label, {}])),
  history: true,
  collect: async ({ hour }) => Object.fromEntries(labels.map((label, index) => [label, hour / 3_600_000 + index])),
})
`

function yamlOf(url: string, more = ''): string {
  const since = new Date(Math.floor(Date.now() / 3_600_000 - 48) * 3_600_000).toISOString().replace('.000', '')
  return `service: { url: "${url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
delivery: { pace: 200 }
${more}protocols:
  - id: vault
    name: Vault
    collectors:
      - { use: ./many.ts, since: ${since} }
`
}

const ready = async ({ url }: RunningDaemon) =>
  (await (await fetch(`${url}/readyz`)).json()) as { ready: boolean; reasons: string[] }

/** The daemon after a new start, with another port. */
async function again(daemon: RunningDaemon): Promise<string> {
  return String((await daemon.logged('running', 2))['page']).replace(/\/$/, '')
}

async function statusAt(url: string, fits: (status: StatusJson) => boolean): Promise<StatusJson> {
  for (;;) {
    const status = (await (await fetch(`${url}/status.json`)).json()) as StatusJson
    if (fits(status)) return status
    await untilNextLook()
  }
}

const allDelivered = ({ balance }: StatusJson) => balance.enqueued > 0 && balance.due === 0
const asideIn = (folder: string) => readdirSync(folder).filter(name => /\.corrupt-[^-]*$/.test(name))

describe.skipIf(!mayMount)('the daemon on a full disk (needs the right to mount one)', () => {
  it('delivers what is due, collects nothing, is red, and goes on automatically when there is room', async () => {
    const disk = smallDisk(64)
    const metricsService = await service()
    metricsService.isDown = true
    const { config } = configured(yamlOf(metricsService.url, `data: ${disk.folder}/data\n`), { 'many.ts': many })
    const daemon = await startDaemon(config, env)
    const { balance } = await daemon.status<StatusJson>(({ balance }) => balance.due === 49 * 40)
    while (!readdirSync(join(disk.folder, 'data')).includes('ballast')) await untilNextLook()
    await daemon.logged('delivery waits')
    disk.fill()
    metricsService.isDown = false
    await daemon.logged('the disk is full: collecting waits')
    await daemon.status<StatusJson>(allDelivered)
    expect(metricsService.taken.size).toBe(balance.due)
    const { ready: isReady, reasons } = await ready(daemon)
    expect(isReady).toBe(false)
    expect(reasons[0]).toMatch(/^The disk is full: nothing new is collected until 32 MiB are free in /)
    disk.empty()
    await daemon.logged('new values can be stored again: collecting goes on')
    expect((await ready(daemon)).ready).toBe(true)
    expect(readdirSync(join(disk.folder, 'data'))).toContain('ballast')
    expect(daemon.log.filter(line => line.includes('the disk is full'))).toHaveLength(1)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('starts on one, delivers, and collects the hours it missed when there is room', async () => {
    const disk = smallDisk(64)
    const metricsService = await service()
    const { config } = configured(yamlOf(metricsService.url, `data: ${disk.folder}/data\n`), { 'many.ts': many })
    disk.fill()
    rmSync(join(disk.folder, 'filler'))
    writeFileSync(join(disk.folder, 'filler'), Buffer.alloc(40 * 1_048_576, 0x66))
    const daemon = await startDaemon(config, env)
    await daemon.logged('the disk is full: collecting waits')
    expect((await daemon.status<StatusJson>(() => true)).balance.enqueued).toBe(0)
    disk.empty()
    const { balance } = await daemon.status<StatusJson>(({ balance }) => balance.delivered === 49 * 40)
    expect(balance.due).toBe(0)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})

describe('the daemon with a damaged outbox', () => {
  it('saves at its start what can be read, says so, and collects again what was lost', async () => {
    const metricsService = await service()
    const { config, folder } = configured(yamlOf(metricsService.url), { 'many.ts': many })
    const first = await startDaemon(config, env)
    await first.status<StatusJson>(({ balance }) => balance.delivered === 49 * 40)
    await first.kill('SIGTERM')
    const file = join(folder, 'data', 'outbox.db')
    const bytes = readFileSync(file)
    for (let page = 20; page < bytes.length / pageBytes; page += 3)
      bytes.fill(0, page * pageBytes, (page + 1) * pageBytes)
    writeFileSync(file, bytes)
    const second = await startDaemon(config, env)
    const said = await second.logged('the outbox was damaged: everything readable is in a new one')
    expect(readFileSync(String(said['aside'])).equals(bytes)).toBe(true)
    expect(await second.logged('hours with lost values: they are due again')).toMatchObject({
      collector: 'vault/many',
    })
    await second.status<StatusJson>(
      status =>
        status.balance.due === 0 && status.hours.rows[0]?.cells.every(({ state }) => state === 'delivered') === true,
    )
    expect(metricsService.taken.size).toBe(49 * 40)
    expect(await second.kill('SIGTERM')).toBe(0)
  })

  it('meets the damage while it runs, mends it and goes on, as the same process', async () => {
    const metricsService = await service()
    const { config, folder } = configured(yamlOf(metricsService.url), { 'many.ts': many })
    const daemon = await startDaemon(config, env)
    await daemon.status<StatusJson>(({ balance }) => balance.delivered === 49 * 40)
    process.kill(daemon.pid, 'SIGSTOP')
    const file = join(folder, 'data', 'outbox.db')
    // Somebody else writes: the daemon forgets what it has read.
    const other = new SqliteOutbox(file)
    await other.delivery.saveDestination('other', { notBeforeMs: 0, probeAtMs: 0, failures: 0 })
    other.close()
    for (const name of [file, `${file}-wal`]) spoil(name)
    process.kill(daemon.pid, 'SIGCONT')
    await Promise.race([daemon.logged('the outbox cannot be used: reopening it'), asking(daemon)])
    const url = await again(daemon)
    await statusAt(url, allDelivered)
    expect(asideIn(join(folder, 'data'))).toHaveLength(1)
    expect(daemon.log.length, 'it does not tell the same thing without end').toBeLessThan(400)
    expect(daemon.log.join('\n'), 'it goes on').not.toContain('"stopping"')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('gives way when its lock is taken away and another one has it', async () => {
    const { config, folder } = configured(hostYaml)
    const daemon = await startDaemon(config)
    const dataFolder = join(folder, 'data', 'embedded')
    // It must not be the first to take the new lock.
    process.kill(daemon.pid, 'SIGSTOP')
    renameSync(join(dataFolder, 'daemon.db'), join(dataFolder, 'daemon.db.old'))
    const other = takeDaemonRole(dataFolder, 'other.yaml', 0)
    onTestFinished(() => other.release())
    process.kill(daemon.pid, 'SIGCONT')
    await daemon.logged(
      'the lock file was removed from the data folder, and another tidegauge has the lock now: this daemon ends',
    )
    await daemon.logged('stopped')
    expect(await daemon.ended, 'its last line is one of the log').toBe(75)
  })

  it('is mended by a command, where no daemon runs', async () => {
    const metricsService = await service()
    const { config, folder } = configured(yamlOf(metricsService.url), { 'many.ts': many })
    expect((await tidegauge(['collect', '--config', config], env)).code).toBe(0)
    const file = join(folder, 'data', 'outbox.db')
    writeFileSync(file, readFileSync(file).fill(0x5a, 0, 100))
    const alone = await tidegauge(['collect', '--config', config], env)
    expect(alone.stderr).toContain('the outbox was damaged: everything readable is in a new one')
    expect(alone.code).toBe(0)
    expect(asideIn(join(folder, 'data'))).toHaveLength(1)
  })
})

/** Writes garbage over all but the first pages of a file, in its place. */
function spoil(file: string): void {
  const descriptor = openSync(file, 'r+')
  const from = 3 * pageBytes
  writeSync(descriptor, Buffer.alloc(Math.max(0, fstatSync(descriptor).size - from), 0x5a), 0, null, from)
  closeSync(descriptor)
}

/** Looks at the status without end: each look reads the outbox. */
async function asking({ url }: RunningDaemon): Promise<never> {
  for (;;) await fetch(`${url}/status.json`).catch(() => {})
}
