/**
 * A process that pushes, for the benchmark: `node push.ts FOLDER URL KEY`. A line `{ way, hours }` in, `{ ms }` out:
 * `ours` delivers that many hours, stored before; `lean` does the same with nothing else around it; `bare` posts the same batches,
 * made before, with the same client's settings and no outbox. Each line takes unused hours.
 */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Agent, request } from 'undici'
import { batchesOf, pushedMetric } from '../../../../src/model/batch.ts'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { clientOf, deliverAll, deliveryOf, timeoutMs } from '../deliver.ts'
import { deliverLean } from '../lean.ts'
import { bench, inFlight, metricsOf } from '../metrics.ts'
import { openOutbox, storeHours } from '../store.ts'

/** The order. */
export interface Asked {
  readonly way: keyof typeof ways
  readonly hours: number
}

export interface Pushed {
  readonly ms: number
}

const [folder = '', url = '', key = ''] = process.argv.slice(2)
let nextHour = 0

async function ours(hours: number): Promise<number> {
  const outbox = openOutbox(join(folder, `outbox-${process.pid}-${nextHour}.db`), hours, nextHour)
  await storeHours(outbox, nextHour, hours)
  const client = clientOf(url)
  const delivery = deliveryOf(outbox, client, key)
  const startMs = performance.now()
  await deliverAll(outbox, delivery)
  const ms = performance.now() - startMs
  await client.close()
  outbox.close()
  return ms
}

async function lean(hours: number): Promise<number> {
  const file = join(folder, `lean-${process.pid}-${nextHour}.db`)
  const outbox = openOutbox(file, hours, nextHour)
  await storeHours(outbox, nextHour, hours)
  outbox.close()
  const client = clientOf(url)
  const startMs = performance.now()
  await deliverLean(file, client, key)
  const ms = performance.now() - startMs
  await client.close()
  return ms
}

async function bare(hours: number): Promise<number> {
  const numbers = Array.from({ length: hours }, (_, hour) => nextHour + hour)
  const batches = numbers.flatMap(hour => batchesOf(metricsOf(bench, hour), batchMetricsMax))
  const bodies = batches.map(batch => JSON.stringify({ metrics: batch.map(pushedMetric) }))
  const settings = { connections: inFlight + 1, pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  const dispatcher = new Agent(settings)
  const headers = { accept: 'application/json', authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const left = bodies.values()
  const lane = async () => {
    for (const body of left) {
      const answer = await request(`${url}/api/metrics`, { method: 'POST', headers, body, dispatcher })
      const { processed } = (await answer.body.json()) as { processed?: number }
      if (processed !== batchMetricsMax) throw new Error(`${answer.statusCode}: ${processed} processed`)
    }
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: inFlight }, lane))
  const ms = performance.now() - startMs
  await dispatcher.close()
  return ms
}

const ways = { ours, lean, bare }

for await (const line of createInterface({ input: process.stdin })) {
  const { way, hours } = JSON.parse(line) as Asked
  const ms = await ways[way](hours)
  nextHour += hours
  process.stdout.write(`${JSON.stringify({ ms } satisfies Pushed)}\n`)
}
