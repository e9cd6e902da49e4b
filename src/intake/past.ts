import type { Hour } from '../model/hour.ts'
import type { MetricId } from '../model/metric.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { MetricKey, Past } from '../outbox/contract/metrics.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'

/** History of a metric id at an hour; `undefined` for a new one. */
export type PastOf = (id: MetricId, hour: Hour) => Past | undefined

/** The part of the outbox that knows the history of metrics. */
export type PastStore = Pick<IntakeStore, 'pasts'>

/** The history of metrics; an error is reported to the outbox, as it is not the collector's failure. */
export function reportedPasts({ intake, health }: IntakeOutbox): PastStore {
  return {
    pasts: async metrics => {
      try {
        return await intake.pasts(metrics)
      } catch (error) {
        health.recover(error)
        throw error
      }
    },
  }
}

/**
 * Reads the history of metrics at once, to judge their new values by.
 *
 * @param store absent where nothing is stored, or where it must not count
 */
export async function readPasts(store: PastStore | undefined, metrics: readonly MetricKey[]): Promise<PastOf> {
  const pasts = store && metrics.length > 0 ? await store.pasts(metrics) : []
  const known = new Map(metrics.map((metric, place) => [keyOf(metric.id, metric.hour), pasts[place]]))
  return (id, hour) => known.get(keyOf(id, hour))
}

function keyOf(id: MetricId, hour: Hour): string {
  return `${hour} ${id}`
}
