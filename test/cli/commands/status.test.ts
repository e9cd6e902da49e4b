import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { Fault } from '../../../src/model/fault.ts'
import { hourAfter, hourAt } from '../../../src/model/hour.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { statusJson } from '../../../src/status/json.ts'
import type { Snapshot } from '../../../src/status/snapshot.ts'
import { command } from '../../support/command.ts'
import { answering } from '../../support/listening.ts'
import { metrics } from '../../support/metrics.ts'
import { richSnapshot } from '../../support/snapshot.ts'
import { expectEach } from '../../support/stored-hours.ts'
import { configured, hostYaml } from '../../support/tidegauge.ts'

const pageBytes = 4_096

it('status salvages an outbox with damaged pages when it meets them, and reads again', async () => {
  const { folder, config } = configured(hostYaml)
  await command(['collect', '--config', config])
  const data = join(folder, 'data', 'embedded')
  const file = join(data, 'outbox.db')
  const bytes = readFileSync(file)
  bytes.fill(0x5a, pageBytes)
  writeFileSync(file, bytes)
  const { stdout, stderr } = await command(['status', '--config', config])
  expect(readdirSync(data)).toContainEqual(expect.stringMatching(/^outbox\.db\.corrupt-/))
  expect(stderr).toContain('"aside":')
  expect(stdout).toContain('this-machine/host')
})

it('status makes no data folder: a volume may be mounted there again', async () => {
  const { folder, config } = configured(hostYaml)
  expect((await command(['status', '--config', config])).stdout).toContain('this-machine/host')
  expect(existsSync(join(folder, 'data'))).toBe(false)
})

/** Answers as a daemon that runs on a configuration, which is returned. */
async function answeringDaemon(shown: (file: string) => Snapshot, yaml = hostYaml): Promise<string> {
  const { port } = new URL(await answering(() => ({ body: statusJson(shown(config)) })))
  const { config } = configured(`${yaml.replace(/^status: .*\n/m, '')}\nstatus: { listen: "127.0.0.1:${port}" }\n`)
  return config
}

it('status says once why deliveries wait, and when they are tried next', async () => {
  const why = 'The service answers 503. Nothing is lost; next try 13:20:04 UTC.'
  const config = await answeringDaemon(file => ({
    ...richSnapshot,
    configuration: { file, digest: 'd1', inForceSinceMs: 0, refused: { atMs: 0, reason: 'a mistake' } },
    ready: { ok: false, reasons: [`7 metrics are not delivered. ${why}`] },
    service: {
      ...richSnapshot.service,
      waiting: `${why} Metrics of old-farm are not delivered.`,
      nextAttemptMs: Date.parse('2026-11-20T13:20:04Z'),
      gates: [{ destination: 'service', waiting: why, failures: 1 }],
    },
  }))
  const { stdout } = await command(['status', '--config', config])
  expect(stdout.match(/answers 503|13:20:04/g)).toEqual(['answers 503', '13:20:04'])
  expect(stdout).toMatch(
    /\n {2}waiting: Metrics of protocols that are no longer configured are not delivered: 5 due of old-farm\./,
  )
})

it('status says why deliveries wait, and hours fail, where it does not know what the daemon says', async () => {
  const starting = { startsSince: '2026-11-20T13:00:00Z', ready: { ok: false, reasons: ['Tidegauge is starting.'] } }
  const { port } = new URL(await answering(() => ({ body: starting })))
  const { folder, config } = configured(
    hostYaml
      .replace('embedded', '{ url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }')
      .replace('127.0.0.1:0', `127.0.0.1:${port}`),
  )
  const outbox = new SqliteOutbox(join(folder, 'data', 'outbox.db'))
  const hour = hourAfter(hourAt(systemTime.nowMs()), -2)
  const collector = 'this-machine/host'
  const failure = { fault: new Fault('collector-threw', 'odd'), nextAttemptMs: 0 }
  const accepted = metrics(1, hour, 'this-machine').map(metric => ({ metric }))
  await expectEach(outbox, collector, [hour])
  await outbox.intake.record({ collector, hour, acceptedValues: accepted, failure }, 0)
  const state = { notBeforeMs: 0, probeAtMs: 0, failures: 1, waiting: 'The service answers 503' }
  await outbox.delivery.saveDestination('service', state)
  await outbox.close()
  const { stdout } = await command(['status', '--config', config], { METRICS_KEY: 'k' })
  expect(stdout).toContain('waiting: The service answers 503')
  expect(stdout).toMatch(/this-machine\/host.*odd/)
})

it('status says once why hours of a collector fail, and what fails otherwise', async () => {
  const hours = richSnapshot.hours.hours.slice(-3)
  const row = (collector: string, ...faults: readonly string[]): Snapshot['hours']['rows'][number] => ({
    ...{ collector, protocolId: 'p' },
    cells: faults.map(message => {
      if (message === '') return { state: 'delivered', attempts: 1 }
      return { state: 'due', attempts: 1, fault: { code: 'http-unreachable', message, facts: {} } }
    }),
  })
  const rows = [
    row('p/late', 'away', 'away', 'away'),
    row('p/turned', 'away', 'away', 'odd'),
    row('p/new', '', '', 'away'),
  ]
  const config = await answeringDaemon(file => ({
    ...richSnapshot,
    configuration: { file, digest: 'd1', inForceSinceMs: 0, refused: { atMs: 0, reason: 'a mistake' } },
    ready: { ok: false, reasons: ['p/late is late: away.', 'p/turned is late: away.'] },
    hours: { hours, rows },
  }))
  const { stdout } = await command(['status', '--config', config])
  expect(stdout.match(/^ {2}p\/\w+ (?:is late|has not collected the hour).*?: \w+/gm)).toEqual([
    '  p/late is late: away',
    '  p/turned is late: away',
    '  p/turned has not collected the hour 2026-11-20T13:00:00Z yet: odd',
    '  p/new has not collected the hour 2026-11-20T13:00:00Z yet: away',
  ])
})

it.each([
  ['a collector that there is not', hostYaml.replace('use: host', 'use: hosst'), true],
  ['an unknown key', hostYaml.replace('protocols:', 'protocolls:'), false],
])('status judges by the configuration in force while the file has %s', async (_, broken, isNoticed) => {
  const inForce = {
    ...richSnapshot,
    configuration: { file: '', digest: 'd1', inForceSinceMs: richSnapshot.startedAtMs },
  }
  const refused = { atMs: richSnapshot.nowMs, reason: 'a mistake' }
  const shown = (file: string) => ({
    ...inForce,
    configuration: { ...inForce.configuration, file, ...(isNoticed && { refused }) },
  })
  const config = await answeringDaemon(shown, broken)
  const { code, stdout } = await command(['status', '--config', config])
  expect(stdout).toContain(`NOT READY\n  ${richSnapshot.ready.reasons[0]}`)
  expect(stdout).toContain('daemon  runs on its configuration of ')
  expect(stdout).not.toMatch(/hosst|not even planned/)
  expect(code).toBe(1)
  const json = JSON.parse((await command(['status', '--json', '--config', config])).stdout)
  expect(json.hours.rows).toEqual(richSnapshot.hours.rows)
})
