/**
 * A process that pushes, for the benchmark: `node push.ts FOLDER URL KEY`. A line `{ way, from, hours, bodyHours }` in, `{ ms }` out:
 * `ours` delivers that many hours, stored before; `bare` posts as many batches,
 * made before, with the same client's settings and no outbox.
 */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Agent, request } from 'undici'
import { batchesOf, pushedMetric } from '../../../../src/model/batch.ts'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { clientOf, deliverAll, deliveryOf, timeoutMs } from '../deliver.ts'
import { bench, inFlight, metricsAnHour, metricsOf } from '../metrics.ts'
import { openOutbox, storeHours } from '../store.ts'

/** The order. */
export interface Asked {
  readonly way: keyof typeof ways
  /** Number of the first hour. */
  readonly from: number
  readonly hours: number
  /**
   * `bare` makes the bodies of so many hours, and posts them again and again. The bodies of all hours would be collected as
   * garbage in the time of a later run, which is no work of undici's.
   */
  readonly bodyHours: number
}

export interface Pushed {
  readonly ms: number
}

const [folder = '', url = '', key = ''] = process.argv.slice(2)
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as (options: { type: 'minor' }) => void

/** Promotes what was made before a run out of the young generation, so that it is not copied in the run's time. */
function promote(): void {
  collectGarbage({ type: 'minor' })
  collectGarbage({ type: 'minor' })
}

/** One for all runs, as in a daemon: at the eleventh V8 throws away code that it compiled for the others. */
const client = clientOf(url)
const dispatcher = new Agent({
  connections: inFlight + 1,
  pipelining: 1,
  headersTimeout: timeoutMs,
  bodyTimeout: timeoutMs,
})

async function ours(from: number, hours: number): Promise<number> {
  const outbox = openOutbox(join(folder, `outbox-${process.pid}-${from}.db`), hours, from)
  await storeHours(outbox, from, hours)
  const delivery = deliveryOf(outbox, client, key)
  promote()
  const startMs = performance.now()
  await deliverAll(outbox, delivery)
  const ms = performance.now() - startMs
  outbox.close()
  return ms
}

async function bare(from: number, hours: number, bodyHours: number): Promise<number> {
  const bodies = Array.from({ length: bodyHours }, (_, hour) => bodiesOf(from + hour)).flat()
  const pushes = (hours * metricsAnHour) / batchMetricsMax
  const headers = { accept: 'application/json', authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let posted = 0
  const lane = async () => {
    while (posted < pushes) {
      const body = bodies[posted % bodies.length] ?? ''
      posted += 1
      const answer = await request(`${url}/api/metrics`, { method: 'POST', headers, body, dispatcher })
      const { processed } = (await answer.body.json()) as { processed?: number }
      if (processed !== batchMetricsMax) throw new Error(`${answer.statusCode}: ${processed} processed`)
    }
  }
  promote()
  const startMs = performance.now()
  await Promise.all(Array.from({ length: inFlight }, lane))
  const ms = performance.now() - startMs
  return ms
}

function bodiesOf(hour: number): string[] {
  return batchesOf(metricsOf(bench, hour), batchMetricsMax).map(batch =>
    JSON.stringify({ metrics: batch.map(pushedMetric) }),
  )
}

const ways = { ours, bare }

for await (const line of createInterface({ input: process.stdin })) {
  const { way, from, hours, bodyHours } = JSON.parse(line) as Asked
  const ms = await ways[way](from, hours, bodyHours)
  process.stdout.write(`${JSON.stringify({ ms } satisfies Pushed)}\n`)
}
