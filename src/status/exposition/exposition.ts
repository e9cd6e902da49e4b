import { setImmediate } from 'node:timers/promises'
import type { Scrape } from '../scrape.ts'
import { daemonFamilies } from './daemon.ts'
import { deliveryFamilies } from './delivery.ts'
import { endpointFamilies } from './endpoints.ts'
import { hourFamilies } from './hours.ts'
import type { ProcessMetrics } from './process-metrics.ts'
import { type Family, familyText } from './text.ts'

/** The metrics of a snapshot, under names that begin with `tidegauge_`. An unknown value has no sample, rather than a 0. */
const ofScrape = [daemonFamilies, deliveryFamilies, endpointFamilies, hourFamilies]

/** Samples written before the event loop gets a turn. */
const samplesATurn = 2_000

/** All metrics of the daemon, and of its process: what `/metrics` shows and OTLP sends. @param snapshot called at each reading */
export function metricFamilies(
  snapshot: () => Promise<Scrape> | Scrape,
  ofProcess: ProcessMetrics,
): () => Promise<readonly Family[]> {
  return async () => {
    const scrape = await snapshot()
    const all: Family[] = []
    for (const families of ofScrape) {
      await setImmediate()
      all.push(...families(scrape))
    }
    return [...all, ...(await ofProcess.families())]
  }
}

/** The metrics of a snapshot as text. */
export function snapshotExposition(scrape: Scrape): string {
  return ofScrape
    .flatMap(families => families(scrape))
    .map(familyText)
    .join('')
}

/** Metrics in the Prometheus text format 0.0.4; the event loop gets turns meanwhile. */
export async function exposition(families: readonly Family[]): Promise<string> {
  let [text, samples] = ['', 0]
  for (const family of families) {
    samples += family.samples.length
    if (samples > samplesATurn) {
      await setImmediate()
      samples = family.samples.length
    }
    text += familyText(family)
  }
  return text
}
