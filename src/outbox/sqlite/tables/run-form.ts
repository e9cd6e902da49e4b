import { packValues, runDigest, runMetricsMax, valuesIn } from './run-values.ts'
import { type NewMetric, runsOf } from './runs-of.ts'

/** The columns of a row of `outbox`, in their order. */
export type RunColumns = [
  hour: number,
  first: number,
  protocol: number,
  state: number,
  metrics: number,
  digest: number,
  bytes: Buffer,
]

/** The row of a run. */
export function runColumns(hour: number, first: number, protocol: number, state: number, bytes: Buffer): RunColumns {
  return [hour, first, protocol, state, valuesIn(bytes), runDigest(hour, first, bytes), bytes]
}

/** Rows of metrics that are sorted by hour and number. */
export function packRuns(sorted: readonly NewMetric[]): RunColumns[] {
  return runsOf(sorted).flatMap(run => {
    const [first] = run
    const bytes = packValues(run.map(({ value }) => value))
    return first ? [runColumns(first.hour, first.number, first.protocol, first.state, bytes)] : []
  })
}

/** The metrics of a row that may be damaged; none when its numbers and values are not those that were stored. */
export function unpackRun(row: readonly unknown[]): NewMetric[] {
  const [hour, first, protocol, state, metrics, digest, content] = row
  if (!isNumber(hour) || !isNumber(first) || !isNumber(protocol) || !isNumber(state)) return []
  if (!(content instanceof Uint8Array) || valuesIn(content) !== metrics || metrics > runMetricsMax) return []
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (runDigest(hour, first, bytes) !== digest) return []
  return Array.from({ length: metrics }, (_, place) => {
    return { hour, number: first + place, protocol, state, value: bytes.readDoubleLE(8 * place) }
  })
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
