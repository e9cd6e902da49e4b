/**
 * Delivers out of a backlog, for the benchmark: `node backlog.ts FILE URL PROTOCOL FROM_HOUR`. As many metrics as were
 * pushed are stored again, so that the backlog stays what it is. Prints `{ batchMs, peakMb }`.
 */
import type { ServiceClient } from '../../../../src/edge/service-client.ts'
import { median } from '../../figures.ts'
import { clientOf, deliveryOf } from '../deliver.ts'
import { bench, neighbour } from '../metrics.ts'
import { openOutbox, storeHour } from '../store.ts'
import { peakMb } from './peak.ts'

export interface Backlogged {
  /** For one batch to be taken, pushed and settled, with others under way; the middle of all hours' means. */
  readonly batchMs: number
  readonly peakMb: number
}

const batchesAnHour = 10
const warmUpHours = 15
const hours = 60

const [file = '', url = '', protocolId = '', from = '0'] = process.argv.slice(2)
const source = [bench, neighbour].find(known => known.protocolId === protocolId) ?? bench
const outbox = openOutbox(file, hours + 2, Number(from), source)
const client = clientOf(url)
const enough = new AbortController()
const hourMs: number[] = []
let [pushes, startMs] = [0, performance.now()]
let counting = Promise.resolve()

/** After each hour's worth of pushes: looks at the clock, and stores an hour while all pushes wait. */
async function count(): Promise<void> {
  pushes += 1
  if (pushes % batchesAnHour !== 0) return
  hourMs.push(performance.now() - startMs)
  const done = pushes / batchesAnHour
  if (done >= hours) enough.abort(new Error('enough'))
  else await storeHour(outbox, Number(from) + done + 1, source)
  startMs = performance.now()
}

const counted: ServiceClient = {
  ...client,
  async push(body, key, stop) {
    await counting
    const answer = await client.push(body, key, stop)
    counting = counting.then(count)
    await counting
    return answer
  },
}

await storeHour(outbox, Number(from), source)
await storeHour(outbox, Number(from) + 1, source)
startMs = performance.now()
await deliveryOf(outbox, counted, 'bench-key', source).flush('asked', enough.signal)
const batchMs = median(hourMs.slice(warmUpHours)) / batchesAnHour
process.stdout.write(`${JSON.stringify({ batchMs, peakMb: peakMb() } satisfies Backlogged)}\n`)
await client.close()
outbox.close()
