/**
 * Cost of three daemons of a fleet with nothing to do for their database: 1,000 protocols with ten collectors each, an hour of
 * which is collected and delivered. Ends with 1 when a figure is not what is aimed at. `node test/bench/fleet.ts`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deliveryMaker } from '../../src/app/delivering.ts'
import { joinFleet } from '../../src/app/fleet-member.ts'
import { EndpointMemory } from '../../src/app/open-chains.ts'
import { type CollectorConfig, type Config, protocolCollectors } from '../../src/config/config.ts'
import { destinationsOf } from '../../src/delivery/destination.ts'
import { systemTime } from '../../src/edge/time.ts'
import { SharedTime } from '../../src/fleet/shared-time.ts'
import { WatchedClock } from '../../src/intake/hour-clock.ts'
import { Intake } from '../../src/intake/intake.ts'
import { hourAt } from '../../src/model/hour.ts'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { pipelineOn } from '../support/collectors.ts'
import { silentLog } from '../support/log.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { type Figure, figureHead, figureRow, isMet } from './figures.ts'

const [protocols, collectorsEach, daemons] = [1_000, 10, 3]
const measuredMs = 60_000
const dayMs = 86_400_000
const addressVariable = 'BENCH_DATABASE'
const place = { file: 'tidegauge.yaml', line: 1, column: 1 }

/** Each collector of a protocol has a metric of its own. */
const labelOf = ({ id }: Pick<CollectorConfig, 'id'>) => `Level-${id.split('-').at(-1)}`

const runner: Runner = {
  describe: async collector => ({ kind: 'usable', metrics: { [labelOf(collector)]: {} }, history: true }),
  collect: async collector => ({ readings: { [labelOf(collector)]: 7 }, failures: {}, pins: [] }),
  stop: async () => {},
}

const accepted = (body: string) => {
  const { metrics } = JSON.parse(body) as { metrics: unknown[] }
  const answer = { success: true, processed: metrics.length, errors: [], warnings: [] }
  return { kind: 'answered', status: 200, body: answer } as const
}

const client = {
  host: 'metrics.example',
  push: async (body: string) => accepted(body),
  register: async () => ({ kind: 'answered', status: 200, body: {} }) as const,
  validateKey: async () => ({ kind: 'answered', status: 200, body: { valid: true } }) as const,
  stored: async () => ({ kind: 'answered', status: 200, body: {} }) as const,
  latest: async () => ({ kind: 'answered', status: 200, body: {} }) as const,
  widget: async () => [],
  close: async () => {},
}

function configOf(name: string, keptIn: string): Config {
  const since = hourAt(systemTime.nowMs())
  return {
    ...{ file: place.file, includes: [], digest: 'd1', chains: [], prices: [], lists: [], notify: [] },
    service: { kind: 'remote', url: 'https://metrics.example' },
    data: { kind: 'postgres', address: { kind: 'env', name: addressVariable, place }, keptIn },
    fleet: { name, lanes: ['web'] },
    collect: { deadlineMs: 60_000, catchUpMs: dayMs },
    delivery: { timeoutMs: 30_000, inFlight: 4, pacePerSecond: 20 },
    outbox: { keepMs: 90 * dayMs },
    status: { host: '127.0.0.1', port: 0, hosts: [], ready: 'late' },
    log: { level: 'error' },
    protocols: Array.from({ length: protocols }, (_, number) => {
      const id = `protocol-${number}`
      const collectors = Array.from({ length: collectorsEach }, (_, own) => ({
        ...{ id: `${id}/collector-${own}`, protocolId: id, use: 'bench', options: {}, since, place },
        placeOf: () => place,
      }))
      return { id, name: id, register: false, collectors, place }
    }),
  }
}

async function startMember(name: string, address: string, folder: string, stack: AsyncDisposableStack): Promise<void> {
  const config = configOf(name, join(folder, name))
  const sharedTime = new SharedTime(systemTime)
  const clock = new WatchedClock(sharedTime)
  const outbox = await openPostgresOutbox(addressOf(address), clock)
  stack.defer(() => outbox.close())
  await sharedTime.ask(() => outbox.sharedOutbox.store.nowMs())
  clock.setWitnesses({ service: true, chains: false })
  const context = { config, time: clock, clock, log: silentLog, redactor: new Redactor() }
  const destinations = destinationsOf(
    config,
    () => 'service key',
    () => 'KEY',
  )
  const daemon = {
    ...{
      context,
      outbox,
      connection: { client, destinations },
      chains: {},
      endpointMemory: new EndpointMemory(context),
    },
    make: () => deliveryMaker({ client }, outbox.delivery, context),
    readPresent: () => {
      throw new Error('nothing is reported')
    },
  }
  const { own } = await joinFleet(daemon, sharedTime, stack)
  const pipeline = pipelineOn(runner, clock, { clock })
  const parts = { outbox: own, pipeline, collectors: protocolCollectors(config), chains: [], time: clock, clock }
  const intake = new Intake({ ...parts, log: silentLog, catchUpMs: dayMs })
  stack.defer(() => intake.stop())
}

async function* figures(server: PostgresServer, folder: string): AsyncGenerator<Figure> {
  await server.query('CREATE DATABASE fleet')
  const address = server.address('', 'fleet')
  process.env[addressVariable] = address
  await using stack = new AsyncDisposableStack()
  const number = async (text: string) => Number((await server.query(text, [], 'fleet'))[0]?.['n'])
  for (let daemon = 1; daemon <= daemons; daemon += 1) await startMember(`eu-${daemon}`, address, folder, stack)
  const delivered = 'SELECT coalesce(sum(metrics), 0) AS n FROM tidegauge.tally WHERE state = 1'
  while ((await number(delivered)) < protocols * collectorsEach) await systemTime.sleep(1_000)
  // The rest of the work of an hour is done by then.
  await systemTime.sleep(70_000)
  const look = async () => ({
    transactions: await number(`SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = 'fleet'`),
    wal: await number(`SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS n`),
    atMs: systemTime.steadyMs(),
  })
  const before = await look()
  await systemTime.sleep(measuredMs)
  const after = await look()
  const seconds = (after.atMs - before.atMs) / 1_000
  const transactions = (after.transactions - before.transactions) / seconds
  yield { what: 'transactions a second, three idle daemons', values: [transactions], target: { atMost: 5 } }
  const megabytes = ((after.wal - before.wal) / seconds) * (dayMs / 1_000) * 1e-6
  yield { what: 'WAL a day, three idle daemons', values: [megabytes], unit: ' MB', target: { atMost: 100 } }
}

if (postgresPlace.kind === 'missing') throw new Error(postgresPlace.reason)
const server = await PostgresServer.started(postgresPlace.path)
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'))
try {
  console.log(figureHead)
  for await (const figure of figures(server, folder)) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true })
}
