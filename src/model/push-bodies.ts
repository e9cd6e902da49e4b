import { type Batch, pushedMetric } from './batch.ts'
import { type BodyRun, bodyBytes } from './body-bytes.ts'
import { type Hour, hourText } from './hour.ts'
import { batchMetricsMax, inFlightMax } from './limits.ts'
import type { MetricSeries } from './metric.ts'
import { runsOf } from './metric-list.ts'
import type { MetricRun } from './metric-run.ts'
import { SpareMemory } from './spare-memory.ts'
import { sentPush } from './wire.ts'

/** Metric ids whose JSON is remembered, at most: about 25 MB. */
const knownMax = 50_000

/** Runs whose JSON is remembered, at most. Of one that was cut it is remembered for nothing. */
const knownRunsMax = 2_000

/** Memory is taken in multiples of so many bytes, so that the next body, slightly longer, fits as well. */
const stepBytes = 4_096

/** The JSON of a series, which stands after hour and value. */
interface KnownJson extends Pick<MetricSeries, 'id' | 'protocolId'> {
  readonly unit: string | undefined
  readonly module: string | undefined
  /** From the comma after the value on, in UTF-8. */
  readonly rest: Uint8Array
}

/** The JSON of the series of a run. */
interface KnownRun extends Omit<BodyRun, 'start'> {
  readonly series: readonly MetricSeries[]
}

/**
 * Writes the bodies of pushes, each metric checked as the interface wants it. A metric's id, protocol, unit and module are
 * checked and written once and remembered, which halves the cost of a body.
 */
export class PushBodies {
  readonly #known = new Map<string, KnownJson>()
  /** By the first metric id: a run mostly comes again every hour, with the same list of series. */
  readonly #runs = new Map<string, KnownRun>()
  /** JSON up to the value, of the hour that was written last: most batches are of one, and the next one is, too. */
  #start: { readonly hour: Hour; readonly json: Uint8Array } | undefined

  /** The last batch that was checked as a whole. */
  #checked: Batch | undefined
  /**
   * Bodies written before they were asked for, the oldest first, as many as may be under way. An array: what a `WeakMap`
   * lets go survives a collection of garbage, and so do the old tables of a `Map`; a body is large, and there are many.
   */
  readonly #prepared: { readonly batch: Batch; readonly body: Uint8Array<ArrayBuffer> }[] = []

  readonly #memory = new SpareMemory(inFlightMax)
  readonly #bufferOf = (bytes: number) => this.#memory.take(Math.ceil(bytes / stepBytes) * stepBytes)

  /** Writes the body of a batch before it is asked for. @throws ZodError as `of` */
  prepare(batch: Batch): void {
    // Batches that are never sent are forgotten.
    if (this.#prepared.length >= inFlightMax) this.#prepared.shift()
    this.#prepared.push({ batch, body: this.#write(batch) })
  }

  /**
   * The body of a push, in UTF-8; one that was prepared is handed out once, and then written again.
   *
   * @throws ZodError when a metric does not fit the interface; that is a defect here, since metrics are validated when
   * collected
   */
  of(batch: Batch): Uint8Array<ArrayBuffer> {
    const place = this.#prepared.findIndex(prepared => prepared.batch === batch)
    const [prepared] = place < 0 ? [] : this.#prepared.splice(place, 1)
    return prepared?.body ?? this.#write(batch)
  }

  /**
   * Takes back a body that was read to its end, for another to be written over it: to get new memory costs a twentieth of
   * a whole push. The caller must not use the body any more.
   */
  reuse(body: Uint8Array<ArrayBuffer>): void {
    this.#memory.give(body)
  }

  #write(batch: Batch): Uint8Array<ArrayBuffer> {
    if (batch.length > batchMetricsMax) sentPush.parse({ metrics: batch.map(pushedMetric) })
    const runs = runsOf(batch)
    const values = valuesOf(runs)
    if (!values.every(Number.isFinite)) sentPush.parse({ metrics: batch.map(pushedMetric) })
    const written = runs.map(run => {
      const { rests, restBytes } = this.#knownRun(run, batch)
      return { start: this.#startOf(run.hour), rests, restBytes }
    })
    return bodyBytes(written, values, this.#bufferOf)
  }

  #startOf(hour: Hour): Uint8Array {
    if (this.#start?.hour !== hour) {
      this.#start = { hour, json: Buffer.from(`,{"timestamp":"${hourText(hour)}","value":`) }
    }
    return this.#start.json
  }

  #knownRun({ series, place }: MetricRun, batch: Batch): KnownRun {
    const id = series[0]?.id ?? ''
    const known = this.#runs.get(id)
    if (known?.series === series) return known
    const rests = series.map(one => this.#jsonOf(one, batch).rest)
    const run = { series, rests, restBytes: rests.reduce((sum, { length }) => sum + length, 0) }
    // The list of a run from elsewhere never comes again.
    if (place) {
      if (this.#runs.size >= knownRunsMax) this.#runs.clear()
      this.#runs.set(id, run)
    }
    return run
  }

  #jsonOf(series: MetricSeries, batch: Batch): KnownJson {
    const known = this.#known.get(series.id)
    return known && isOf(known, series) ? known : this.#remember(series, batch)
  }

  #remember({ id, protocolId, unit, module }: MetricSeries, batch: Batch): KnownJson {
    // Mostly all of a batch are new, or none is.
    if (this.#checked !== batch) sentPush.parse({ metrics: batch.map(pushedMetric) })
    this.#checked = batch
    const rest = Buffer.from(`,${JSON.stringify({ id, protocolId, unit, module }).slice(1)}`)
    const known = { id, protocolId, unit, module, rest }
    if (this.#known.size >= knownMax) this.#known.clear()
    this.#known.set(id, known)
    return known
  }
}

function isOf({ id, protocolId, unit, module }: KnownJson, series: MetricSeries): boolean {
  return id === series.id && protocolId === series.protocolId && unit === series.unit && module === series.module
}

function valuesOf(runs: readonly MetricRun[]): readonly number[] {
  const [only] = runs
  return only && runs.length === 1 ? only.values : runs.flatMap(({ values }) => values)
}
