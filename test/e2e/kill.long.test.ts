import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText, parseHour } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { startFaultyService } from '../support/faulty-service.ts'
import { configured, startDaemon } from '../support/tidegauge.ts'
import { gatedCollector, labels, startGatedSource, truth } from './gated-source.ts'
import { type Death, liveAndDie } from './lives.ts'

const kills = 50
const bothAtWorkMin = 5
const faultKindsMin = 6
const inFlight = 2
// With the labels of each protocol: 5,000 metrics.
const protocolIds = ['p0', 'p1', 'p2', 'p3', 'p4']
const hoursBack = 50

/** Rows that may be collected by the end of a life: a flood now and then, so that several pushes are under way. */
const rowsBy = (life: number) => 35 * (1 + Math.floor(life / 13)) + 2 * life

/** The order of processes is in no seed; the moments at which they are killed, and what goes wrong with pushes, are. */
const seed = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)

it(`loses nothing, sends no second value and next to nothing twice, killed ${kills} times (KILL_SEED=${seed})`, async () => {
  const key = 'the-key-of-the-kill-test'
  const chance = dice(seed)
  const service = await startFaultyService({ dice: chance, key, share: 0.4 })
  const source = await startGatedSource()
  const since = hourAfter(hourAt(Date.now()), 1 - hoursBack)
  const { folder, config } = configured(yaml(service.url, source.url, since), { 'gated.ts': gatedCollector })
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder)
  const env = { KILL_KEY: key }

  const deaths: Death[] = []
  while (deaths.length < kills) {
    deaths.push(await liveAndDie({ config, dataFolder, env, service, source, dice: chance }, rowsBy(deaths.length)))
  }
  const bothAtWork = deaths.filter(({ rowsUnderWay, pushesUnderWay }) => rowsUnderWay > 0 && pushesUnderWay > 0)
  expect(bothAtWork.length).toBeGreaterThanOrEqual(bothAtWorkMin)

  service.faultless()
  const daemon = await startDaemon(config, env)
  source.serve(daemon.pid)
  source.allow(Number.POSITIVE_INFINITY)
  // The status shows fewer hours than there are, so all of them are counted.
  const status = await daemon.status<StatusJson>(
    shown => isAllDelivered(shown) && shown.balance.delivered >= metricsIn(since, shown),
  )
  expect(await daemon.kill('SIGTERM')).toBe(0)

  const hours = hoursOf(since, status)
  const expected = hours.flatMap(truthOf)
  expect(expected.length).toBeGreaterThanOrEqual(5_000)
  const arrived = [...service.arrivals].map(([name, { values }]) => [name, ...[...values].map(Math.floor)])
  expect(arrived.sort()).toEqual(expected.sort())
  expect([...service.arrivals.values()].every(({ isStored }) => isStored)).toBe(true)
  expect(service.mistakes).toEqual([])
  expect(Math.max(...service.batchSizes)).toBe(100)
  expect(service.faults.size).toBeGreaterThanOrEqual(faultKindsMin)
  for (const { acknowledged, ...death } of deaths) {
    const resent = acknowledged.filter(push => service.resent.has(push))
    expect(resent.length, JSON.stringify(death)).toBeLessThanOrEqual(inFlight)
  }
  const outbox = new SqliteOutbox(join(dataFolder, 'outbox.db'))
  const total = expected.length
  expect((await outbox.delivery.backlog()).balance).toMatchObject({
    enqueued: total,
    delivered: total,
    due: 0,
    dead: 0,
    held: 0,
  })
  outbox.close()
})

function yaml(serviceUrl: string, sourceUrl: string, since: Hour): string {
  const protocols = protocolIds.map(
    id => `
  - id: ${id}
    name: Protocol ${id}
    register: true
    collectors:
      - use: ./gated.ts
        since: "${hourText(since)}"
        options: { source: "${sourceUrl}", protocol: ${id} }`,
  )
  return `service: { url: "${serviceUrl}", key: { env: KILL_KEY } }
status: { listen: "127.0.0.1:0" }
log: { level: debug }
delivery: { pace: 1000, timeout: 60s, inFlight: ${inFlight} }
protocols:${protocols.join('')}
`
}

function isAllDelivered({ balance, hours }: StatusJson): boolean {
  return balance.due === 0 && hours.rows.every(({ cells }) => cells.every(({ state }) => state === 'delivered'))
}

/** The hours that are expected, up to the newest one shown. */
function hoursOf(since: Hour, { hours }: StatusJson): readonly Hour[] {
  return hoursFrom(since, parseHour(hours.hours.at(-1) ?? ''))
}

function metricsIn(since: Hour, status: StatusJson): number {
  return hoursOf(since, status).length * protocolIds.length * labels.length
}

/** Metrics of an hour that must have arrived, with the whole part of its one value. */
function truthOf(hour: Hour): (string | number)[][] {
  return protocolIds.flatMap(id =>
    labels.map(label => [`${metricId(id, label)} ${hourText(hour)}`, truth(id, label, hour)]),
  )
}
