import type { AppContext } from '../app/context.ts'
import { openChains } from '../app/open-chains.ts'
import { openHourReader } from '../app/open-runner.ts'
import type { CollectorConfig } from '../config/config.ts'
import type { HourReader } from '../intake/hour-reader.ts'
import { asFault, usable } from '../intake/validate.ts'
import { faultLine } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { catchUpConcurrency } from '../model/limits.ts'
import type { StoredMetric } from '../outbox/contract/metrics.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import { createLog } from '../telemetry/log.ts'

/** A metric's value at an hour, or a whole collector, that could not be read again. */
export interface Unread {
  readonly of: string
  /** Absent when the whole collector could not be read. */
  readonly hour?: Hour
  readonly reason: string
}

/** Reads hours with no cached as-of block, and logs at the configured level; it is closed with the stack. */
export function openLoggedReader(context: AppContext, stack: AsyncDisposableStack): HourReader {
  const loud = { ...context, log: createLog(context.config.log.level, context.redactor) }
  return openHourReader(loud, openChains(loud, stack), stack)
}

/** Whether the past hours of a collector can be read again, and if not, why. */
export async function describeReadable(reader: HourReader, collector: CollectorConfig) {
  try {
    const description = usable(collector, await reader.describe(collector))
    if (!description.history) return { kind: 'left-out', collector } as const
    return { kind: 'readable', collector, description } as const
  } catch (error) {
    return { kind: 'unread', unread: { of: collector.id, reason: faultLine(asFault(error)) } } as const
  }
}

/** The delivered metrics of a collector and hour. */
export async function deliveredOf(
  store: Pick<OperatorStore, 'metrics'>,
  collector: string,
  hour: Hour,
): Promise<StoredMetric[]> {
  const stored = await store.metrics(hour, hour)
  return stored.filter(metric => metric.collector === collector && metric.state === 'delivered')
}

/** Runs a few at a time; the results are in the order of `all`. */
export async function inLanes<T, R>(all: readonly T[], act: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const entries = all.entries()
  const lane = async () => {
    for (const [place, one] of entries) results[place] = await act(one)
  }
  await Promise.all(Array.from({ length: catchUpConcurrency }, lane))
  return results
}
