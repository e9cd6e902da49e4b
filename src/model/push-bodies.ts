import { type Batch, pushedMetric } from './batch.ts'
import { type Hour, hourText } from './hour.ts'
import { batchMetricsMax } from './limits.ts'
import type { Metric } from './metric.ts'
import { sentPush } from './wire.ts'

/** Metric ids whose JSON is remembered, at most: about 20 MB. */
const knownMax = 50_000

/** The JSON of a metric apart from its value and its hour. */
interface KnownJson {
  readonly protocolId: string
  readonly unit: string | undefined
  readonly module: string | undefined
  /** Up to the value. */
  readonly start: string
  /** From the value to the timestamp's text. */
  readonly middle: string
}

/**
 * Writes the bodies of pushes, each metric checked as the interface wants it. A metric's id, protocol, unit and module are
 * checked and written once and remembered, which halves the cost of a body.
 */
export class PushBodies {
  readonly #known = new Map<string, KnownJson>()

  /**
   * The body of a push.
   *
   * @throws ZodError when a metric does not fit the interface; that is a defect here, since metrics are validated when
   * collected
   */
  of(batch: Batch): string {
    if (batch.length > batchMetricsMax) sentPush.parse({ metrics: batch.map(pushedMetric) })
    // Most batches are of one hour, and formatting an hour costs as much as writing a metric.
    let [hour, time]: [Hour | undefined, string] = [undefined, '']
    let body = '{"metrics":['
    let separator = ''
    for (const metric of batch) {
      if (metric.hour !== hour) [hour, time] = [metric.hour, hourText(metric.hour)]
      const { start, middle } = this.#jsonOf(metric)
      body += `${separator}${start}${numberOf(metric)}${middle}${time}"}`
      separator = ','
    }
    return `${body}]}`
  }

  #jsonOf(metric: Metric): KnownJson {
    const known = this.#known.get(metric.id)
    const isSame =
      known?.protocolId === metric.protocolId && known.unit === metric.unit && known.module === metric.module
    return known && isSame ? known : this.#write(metric)
  }

  #write(metric: Metric): KnownJson {
    const { id, protocolId, unit, module } = metric
    sentPush.parse({ metrics: [pushedMetric(metric)] })
    const start = `{"id":${JSON.stringify(id)},"value":`
    // The schema's own order of fields.
    const middle = `,${JSON.stringify({ protocolId, unit, module }).slice(1, -1)},"timestamp":"`
    const known = { protocolId, unit, module, start, middle }
    if (this.#known.size >= knownMax) this.#known.clear()
    this.#known.set(id, known)
    return known
  }
}

function numberOf(metric: Metric): number {
  const { value } = metric
  if (!Number.isFinite(value)) sentPush.parse({ metrics: [pushedMetric(metric)] })
  return value
}
