import type { Scrape } from '../scrape.ts'
import { daemonFamilies } from './daemon.ts'
import { deliveryFamilies } from './delivery.ts'
import { endpointFamilies } from './endpoints.ts'
import { hourFamilies } from './hours.ts'
import type { ProcessMetrics } from './process-metrics.ts'
import { type Family, familyText } from './text.ts'

/** The metrics of a snapshot, under names that begin with `tidegauge_`. An unknown value has no sample, rather than a 0. */
export function snapshotFamilies(scrape: Scrape): Family[] {
  return [...daemonFamilies(scrape), ...deliveryFamilies(scrape), ...endpointFamilies(scrape), ...hourFamilies(scrape)]
}

/** All metrics of the daemon, and of its process: what `/metrics` shows and OTLP sends. @param snapshot called at each reading */
export function metricFamilies(
  snapshot: () => Promise<Scrape> | Scrape,
  ofProcess: ProcessMetrics,
): () => Promise<readonly Family[]> {
  return async () => [...snapshotFamilies(await snapshot()), ...(await ofProcess.families())]
}

/** Metrics in the Prometheus text format 0.0.4. */
export function exposition(families: readonly Family[]): string {
  return families.map(familyText).join('')
}
