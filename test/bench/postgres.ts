/**
 * Speed of an outbox in PostgreSQL: metrics stored, 1,000 a commit, and drained in batches of 100, one statement after the
 * other on one connection, by a server on the same machine that waits for its disk. Ends with 1 when a figure is not what is
 * aimed at. `node test/bench/postgres.ts`
 */
import { Fault } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { batchMetricsMax, dueListMax } from '../../src/model/limits.ts'
import { openPostgresOutbox, type PostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { type Figure, figureHead, figureRow, isMet } from './figures.ts'

const hours = 100
const protocols = Array.from({ length: 10 }, (_, index) => `p${index}`)
const metricsEach = 100
const all = hours * protocols.length * metricsEach

/** Metrics a second of work on all of them. */
async function rate(act: () => Promise<void>): Promise<number> {
  const startMs = performance.now()
  await act()
  return (all * 1_000) / (performance.now() - startMs)
}

async function store({ intake }: PostgresOutbox): Promise<void> {
  for (let count = 0; count < hours; count += 1) {
    const hour = hourAfter(anHour, count)
    await Promise.all(
      protocols.map(protocol => {
        const accepted = metrics(metricsEach, hour, protocol).map(metric => ({ metric }))
        return intake.record({ collector: `${protocol}/c`, hour, acceptedValues: accepted }, hour)
      }),
    )
  }
}

async function drain({ delivery }: PostgresOutbox): Promise<void> {
  const wanted = { protocolIds: protocols, newestFirstFrom: anHour, latest: hourAfter(anHour, hours) }
  for (;;) {
    const page = await delivery.due(wanted, dueListMax)
    if (page.length === 0) return
    for (let at = 0; at < page.length; at += batchMetricsMax) {
      const delivered = page.slice(at, at + batchMetricsMax)
      await delivery.recordVerdicts({ delivered, dead: [], warnings: [] }, anHour)
    }
  }
}

async function* figures(server: PostgresServer): AsyncGenerator<Figure> {
  const [stored, drained]: [number[], number[]] = [[], []]
  for (const round of [1, 2, 3]) {
    await server.query(`CREATE DATABASE bench_${round}`)
    const outbox = await openPostgresOutbox(addressOf(server.address('', `bench_${round}`)))
    for (const protocol of protocols) {
      const plan = { collector: `${protocol}/c`, since: anHour, current: hourAfter(anHour, hours - 1), oldest: anHour }
      await outbox.intake.planHours({ ...plan, gapReason: new Fault('hour-too-old', 'too old') })
    }
    stored.push(await rate(() => store(outbox)))
    drained.push(await rate(() => drain(outbox)))
    await outbox.close()
  }
  yield { what: 'metrics stored a second', values: stored, target: { atLeast: 50_000 } }
  yield { what: 'metrics drained a second', values: drained, target: { atLeast: 20_000 } }
}

if (postgresPlace.kind === 'missing') throw new Error(postgresPlace.reason)
const server = await PostgresServer.started(postgresPlace.path)
try {
  console.log(figureHead)
  for await (const figure of figures(server)) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
} finally {
  await server.stop()
}
