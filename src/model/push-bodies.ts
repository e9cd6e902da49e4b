import { type Batch, pushedMetric } from './batch.ts'
import { bodyBytes } from './body-bytes.ts'
import { type Hour, hourText } from './hour.ts'
import { batchMetricsMax, inFlightMax } from './limits.ts'
import type { Metric } from './metric.ts'
import { SpareMemory } from './spare-memory.ts'
import { sentPush } from './wire.ts'

/** Metric ids whose JSON is remembered, at most: about 25 MB. */
const knownMax = 50_000

/** Memory is taken in multiples of so many bytes, so that the next body, slightly longer, fits as well. */
const stepBytes = 4_096

/** The JSON of a metric apart from its hour and its value, which stand before it. */
interface KnownJson extends Pick<Metric, 'id' | 'protocolId'> {
  readonly unit: string | undefined
  readonly module: string | undefined
  /** From the comma after the value on, in UTF-8. */
  readonly rest: Uint8Array
  /** Of the metric that came after it the last time: mostly the one that does again, and needs not be looked up. */
  next?: KnownJson
}

/**
 * Writes the bodies of pushes, each metric checked as the interface wants it. A metric's id, protocol, unit and module are
 * checked and written once and remembered, which halves the cost of a body.
 */
export class PushBodies {
  readonly #known = new Map<string, KnownJson>()
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

  /** Of the body that is being written: kept, since most are as long as the last. */
  #values: number[] = []
  #pieces: Uint8Array[] = []

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
    if (this.#values.length !== batch.length) {
      this.#values = new Array<number>(batch.length)
      this.#pieces = new Array<Uint8Array>(2 * batch.length)
    }
    const [values, pieces] = [this.#values, this.#pieces]
    let known: KnownJson | undefined
    for (let place = 0; place < batch.length; place += 1) {
      const metric = batch[place] as Metric
      if (!Number.isFinite(metric.value)) sentPush.parse({ metrics: [pushedMetric(metric)] })
      known = this.#jsonOf(metric, known, batch)
      values[place] = metric.value
      pieces[2 * place] = this.#startOf(metric.hour)
      pieces[2 * place + 1] = known.rest
    }
    return bodyBytes(pieces, values, this.#bufferOf)
  }

  #startOf(hour: Hour): Uint8Array {
    if (this.#start?.hour !== hour) {
      this.#start = { hour, json: Buffer.from(`,{"timestamp":"${hourText(hour)}","value":`) }
    }
    return this.#start.json
  }

  #jsonOf(metric: Metric, before: KnownJson | undefined, batch: Batch): KnownJson {
    const likely = before?.next
    if (likely && isOf(likely, metric)) return likely
    const remembered = this.#known.get(metric.id)
    const known = remembered && isOf(remembered, metric) ? remembered : this.#remember(metric, batch)
    if (before) before.next = known
    return known
  }

  #remember(metric: Metric, batch: Batch): KnownJson {
    const { id, protocolId, unit, module } = metric
    // Mostly all of a batch are new, or none is.
    if (this.#checked !== batch) sentPush.parse({ metrics: batch.map(pushedMetric) })
    this.#checked = batch
    const known = {
      id,
      protocolId,
      unit,
      module,
      rest: Buffer.from(`,${JSON.stringify({ id, protocolId, unit, module }).slice(1)}`),
    }
    if (this.#known.size >= knownMax) this.#known.clear()
    this.#known.set(id, known)
    return known
  }
}

function isOf({ id, protocolId, unit, module }: KnownJson, metric: Metric): boolean {
  return id === metric.id && protocolId === metric.protocolId && unit === metric.unit && module === metric.module
}
