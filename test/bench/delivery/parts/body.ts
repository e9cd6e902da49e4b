import { batchesOf, pushedMetric } from '../../../../src/model/batch.ts'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { PushBodies } from '../../../../src/model/push-bodies.ts'
import { type Figure, inPairs } from '../../figures.ts'
import { bench, metricsOf } from '../metrics.ts'

const runs = 9
const rounds = 30
const hours = 10

/** Validation and serialisation together, against serialisation alone. */
export async function* body(): AsyncGenerator<Figure> {
  const numbers = Array.from({ length: hours }, (_, hour) => hour)
  const batches = numbers.flatMap(hour => batchesOf(metricsOf(bench, hour), batchMetricsMax))
  const pushes = batches.map(batch => ({ metrics: batch.map(pushedMetric) }))
  const bodies = new PushBodies()
  const timed = async (work: () => number) => {
    const startMs = performance.now()
    let chars = 0
    for (let round = 0; round < rounds; round += 1) chars += work()
    if (chars === 0) throw new Error('nothing was written')
    return ((performance.now() - startMs) * 1_000) / (rounds * batches.length * batchMetricsMax)
  }
  const pairs = await inPairs(
    runs,
    () => timed(() => batches.reduce((sum, batch) => sum + bodies.of(batch).length, 0)),
    () => timed(() => pushes.reduce((sum, push) => sum + JSON.stringify(push).length, 0)),
  )
  yield { what: 'JSON.stringify alone, a metric', values: pairs.map(([, alone]) => alone), unit: ' µs' }
  const values = pairs.map(([ours, alone]) => ours / alone)
  yield { what: 'validated and written, of JSON.stringify alone', values, target: { atMost: 2.2 } }
}
