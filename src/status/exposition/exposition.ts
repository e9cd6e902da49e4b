import type { Registry } from 'prom-client'
import { z } from 'zod'
import type { Scrape } from '../observe.ts'
import { type Family, familyText, snapshotFamilies } from './families.ts'

/** All metrics of the daemon, and of its process: what `/metrics` shows. @param snapshot called at each reading */
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

/** Gauges named like counters, of what `nodejs_active_handles`, `…_requests` and `…_resources` have by type. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Metrics as prom-client gives them. Its declared types lack the names of the samples of a histogram. */
const measured = z.array(
  z.object({
    name: z.string(),
    help: z.string(),
    type: z.enum(['gauge', 'counter', 'histogram']),
    values: z.array(
      z.object({
        labels: z.record(z.string(), z.coerce.string()),
        value: z.union([z.number(), z.nan()]),
        metricName: z.string().optional(),
      }),
    ),
  }),
)

const suffixes = ['_sum', '_count', '_bucket'] as const

/**
 * Metrics of the process under prom-client's usual names (`process_…`, `nodejs_…`). They begin when they are first asked
 * for, as prom-client is loaded then: many daemons are never scraped.
 */
export class ProcessMetrics {
  #registry: Promise<Registry> | undefined

  async families(): Promise<Family[]> {
    this.#registry ??= registryOfNode()
    return measured.parse(await (await this.#registry).getMetricsAsJSON()).map(({ name, type, help, values }) => ({
      name,
      type,
      help,
      samples: values.map(({ labels, value, metricName }) => {
        const suffix = suffixes.find(end => metricName === `${name}${end}`)
        return suffix ? ([labels, value, suffix] as const) : ([labels, value] as const)
      }),
    }))
  }
}

async function registryOfNode(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const register = new Registry()
  collectDefaultMetrics({ register })
  for (const name of misnamed) register.removeSingleMetric(name)
  return register
}
