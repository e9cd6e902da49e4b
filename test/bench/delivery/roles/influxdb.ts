/** The same with InfluxDB's client, in memory: `node influxdb.ts URL METRICS at-once|by-the-hour`. Prints `Sent`. */
import { Agent } from 'node:http'
import { InfluxDB, Point } from '@influxdata/influxdb-client'
import { bench, inFlight, metricsOf } from '../metrics.ts'
import { type Pace, send } from './send.ts'

const [url = '', metrics = '0', pace] = process.argv.slice(2)

// As it comes it opens a connection for each batch.
const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
const influx = new InfluxDB({ url, token: 'bench-key', transportOptions: { agent } })
let [taken, acknowledged] = [0, 0]
let allAcknowledged = () => {}
const writer = influx.getWriteApi('bench', 'bench', 'ms', {
  batchSize: 100,
  maxBufferLines: Number(metrics),
  // As the others: nothing is compressed.
  gzipThreshold: Number.POSITIVE_INFINITY,
  writeSuccess(lines) {
    acknowledged += lines.length
    if (acknowledged === taken) allAcknowledged()
  },
})

function take(number: number): void {
  for (const { id, protocolId, hour, value, unit = '' } of metricsOf(bench, number)) {
    const point = new Point('metric').tag('id', id).tag('protocolId', protocolId).tag('unit', unit)
    writer.writePoint(point.floatField('value', value).timestamp(hour))
    taken += 1
  }
}

/** Its own `flush` waits for the last batch alone. */
async function flush(): Promise<void> {
  const all = new Promise<void>(resolve => {
    allAcknowledged = resolve
  })
  await writer.flush()
  if (acknowledged < taken) await all
}

await send({ take, flush }, Number(metrics), pace as Pace)
await writer.close()
agent.destroy()
