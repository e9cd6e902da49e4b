import { hourText } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import type { Recording } from '../../testing/recording.ts'
import { redactor } from '../terminal.ts'
import { decodedText } from './decoded.ts'
import type { Explanation } from './explanation.ts'
import { pricesIn } from './prices-in.ts'
import { answerWords, readWords, rpcLine } from './rpc-line.ts'

/** An explanation as JSON: instants as text, blocks by number. */
export function explanationJson(found: Explanation) {
  const { id, hour, collector, entry, origin, unread, configured, present, flushes, warnings } = found
  return {
    id,
    hour: hourText(hour),
    collector,
    state: entry?.state ?? origin?.state ?? 'unexpected',
    ...valueJson(found),
    ...(unread && { fault: unread }),
    ...(origin && {
      attempts: origin.attempts,
      failedAttempts: origin.failed.map(({ atMs, reason }) => ({ at: instant(atMs), reason: redactor.redact(reason) })),
      ...(origin.fault && { fault: origin.fault }),
    }),
    blocks: blocksJson(origin),
    ...(origin?.provenance && { provenance: origin.provenance }),
    ...(present && { present }),
    ...(configured && { configuration: configurationJson(configured) }),
    notAccepted: flushes.map(({ firstMs, lastMs, flushes: count, reason }) => ({
      from: instant(firstMs),
      to: instant(lastMs),
      flushes: count,
      reason: redactor.redact(reason),
    })),
    warnings: warnings.map(({ kind, text, count }) => ({ kind, text, count })),
    again: againJson(found),
  }
}

function valueJson({ entry, detained }: Explanation) {
  return {
    ...(entry && {
      value: entry.value,
      ...(entry.unit !== undefined && { unit: entry.unit }),
      collected: instant(entry.collectedMs),
      ...(entry.deliveredMs !== undefined && { delivered: instant(entry.deliveredMs) }),
      corrections: entry.earlier.map(({ value, untilMs }) => ({ from: value, at: instant(untilMs) })),
    }),
    ...(detained && {
      reason: detained.reason,
      since: instant(detained.sinceMs),
      ...(detained.status !== undefined && { status: detained.status }),
      ...(detained.attempts !== undefined && { pushes: detained.attempts }),
    }),
  }
}

function blocksJson(origin: Explanation['origin']) {
  return (origin?.blocks ?? []).map(({ chainId, block, isFinal }) => {
    const host = origin?.provenance?.hosts[String(chainId)]
    return {
      chainId,
      number: Number(block.number),
      hash: block.hash,
      timestamp: instant(block.timestampSeconds * 1000),
      isFinal,
      ...(host !== undefined && { host }),
    }
  })
}

function configurationJson({ place, use, options }: NonNullable<Explanation['configured']>) {
  return { file: place.file, line: place.line, use, options }
}

function againJson({ again: { value, failure, contradicted, reads, prices = {} }, entry }: Explanation) {
  return {
    ...(value !== undefined && { value }),
    ...(value !== undefined && entry && { isSame: Object.is(value, entry.value) }),
    ...(failure !== undefined && { failure }),
    ...(contradicted && { contradicted }),
    ...(reads && {
      ...readsJson(reads),
      prices: Object.fromEntries(pricesIn(reads, prices).map(([name, price, own]) => [name, priceJson(price, own)])),
    }),
  }
}

function priceJson(price: Recording['prices'][string], own: Recording | undefined) {
  return { ...price, ...(own && { ...readsJson(own), prices: Object.keys(own.prices) }) }
}

function readsJson(recording: Recording) {
  const reads = recording.reads.map(read => {
    const [decoded, request] = [decodedText(read), rpcLine(read, recording)]
    return {
      chain: read.chain,
      what: readWords(read),
      answer: answerWords(read),
      ...(decoded !== undefined && { decoded }),
      ...('logs' in read && { logs: read.answer }),
      ...(request !== undefined && { request: jsonOf(request) }),
    }
  })
  return { reads, http: recording.http }
}

function instant(ms: number): string {
  return new Date(ms).toISOString()
}
