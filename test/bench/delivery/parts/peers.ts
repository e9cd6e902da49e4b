import { type Figure, inPairs } from '../../figures.ts'
import { Place, type Sink, startSink } from '../place.ts'
import type { Pace, Sent } from '../roles/send.ts'

const metrics = 100_000
const runs = 5

/**
 * The same work, from values in memory to a sink's yes, by others that keep all in memory. A process each time. A
 * thousand metrics at a time is what it costs to wait for the disk each time.
 */
export async function* peers(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  yield* against('opentelemetry.ts', 'OpenTelemetry', 'at-once', place, sink)
  yield* against('opentelemetry.ts', 'OpenTelemetry', 'by-the-hour', place, sink)
  yield* against('influxdb.ts', 'InfluxDB’s client', 'at-once', place, sink)
  yield* against('influxdb.ts', 'InfluxDB’s client', 'by-the-hour', place, sink)
}

const paces: Readonly<Record<Pace, string>> = { 'at-once': 'all taken at once', 'by-the-hour': '1,000 at a time' }

async function* against(script: string, name: string, pace: Pace, place: Place, sink: Sink): AsyncGenerator<Figure> {
  let files = 0
  const sent = async (sender: string, ...args: string[]): Promise<Sent> => {
    const said = await place.run<Sent>(sender, sink.url, metrics, pace, ...args)
    await sink.expect(metrics)
    return said
  }
  const pairs = await inPairs(
    runs,
    () => {
      files += 1
      return sent('ours.ts', place.file(`${script}-${pace}-${files}.db`))
    },
    () => sent(script),
  )
  const how = `${name}, ${paces[pace]}`
  yield { what: `sent a second by ${how}`, values: pairs.map(([, { ms }]) => (metrics * 1_000) / ms), unit: ' metrics' }
  const throughput = pairs.map(([ours, theirs]) => theirs.ms / ours.ms)
  yield {
    what: `stored and delivered, of ${how}`,
    values: throughput,
  }
  yield { what: `peak memory of ${how}`, values: pairs.map(([, { peakMb }]) => peakMb), unit: ' MB' }
  const memory = pairs.map(([ours, theirs]) => ours.peakMb / theirs.peakMb)
  yield { what: `peak memory, of ${how}`, values: memory }
}
