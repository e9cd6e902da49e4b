import type { Registry } from 'prom-client'
import type { Scrape } from '../scrape.ts'
import { daemonFamilies } from './daemon.ts'
import { deliveryFamilies } from './delivery.ts'
import { endpointFamilies } from './endpoints.ts'
import { hourFamilies } from './hours.ts'
import { familyText } from './text.ts'

/**
 * Metrics in the Prometheus text format 0.0.4: the snapshot's under names that begin with `tidegauge_`, the process's
 * under prom-client's usual names (`process_…`, `nodejs_…`). Those begin at the first scrape, as prom-client is loaded
 * then: many daemons are never scraped.
 *
 * @param snapshot called at each scrape
 */
export function startExposition(snapshot: () => Promise<Scrape> | Scrape): () => Promise<string> {
  let ofProcess: Promise<Registry> | undefined
  return async () => {
    ofProcess ??= registryOfNode()
    const own = snapshotExposition(await snapshot())
    return `${own}${withNaN(await (await ofProcess).metrics())}`
  }
}

/** Gauges named like counters, of what `nodejs_active_handles`, `…_requests` and `…_resources` have by type. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

async function registryOfNode(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const name of misnamed) register.removeSingleMetric(name)
  return register
}

/** Replaces prom-client's `Nan` by the format's `NaN`: an event-loop lag that was not measured yet. */
function withNaN(text: string): string {
  return text.replace(/ Nan$/gm, ' NaN')
}

/** The snapshot as text. An unknown value has no line, rather than a 0. */
export function snapshotExposition(scrape: Scrape): string {
  return [daemonFamilies, deliveryFamilies, endpointFamilies, hourFamilies]
    .flatMap(families => families(scrape))
    .map(familyText)
    .join('')
}
