import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openHourReader } from '../../app/open-runner.ts'
import type { CollectorConfig, OptionMistake } from '../../config/config.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { asFault, usable } from '../../intake/validate.ts'
import { faultLine } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { catchUpConcurrency } from '../../model/limits.ts'
import { labelOf, type MetricId, type Provenance } from '../../model/metric.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { ProvenanceSource } from '../../runner/daemon/process-runner.ts'
import type { CollectorDescription } from '../../runner/runner.ts'
import { loud } from '../open-context.ts'

/** Provenance of a collector's values that would be read now. */
export function presentOf({ id, use, options, place }: CollectorConfig): Omit<Provenance, 'hosts'> {
  return new ProvenanceSource({}).present({ id, use, options, configFile: place.file })
}

/** A metric of a delivered hour whose value is not the same when it is read again. */
export interface ValueChange {
  readonly metric: MetricId
  readonly hour: Hour
  /** The delivered value; absent when there is none. */
  readonly stored?: number
  /** The value read now; absent when there is none. */
  readonly again?: number
  /** Why there is no value now; absent when there is one. */
  readonly reason?: string
}

/** A delivered hour that was read again. */
export interface HourAgain {
  /** Number of values that are the same, bit for bit. */
  readonly equal: number
  readonly changes: readonly ValueChange[]
}

/** A collector whose past hours can be read again. */
interface ReadableCollector {
  readonly collector: CollectorConfig
  readonly description: CollectorDescription
}

/** Reads hours with no cached as-of block, and logs at the configured level; it is closed with the stack. */
export function openLoggedReader(context: AppContext, stack: AsyncDisposableStack): HourReader {
  const own = loud(context)
  return openHourReader(own, openChains(own, stack), stack)
}

/**
 * Whether the past hours of a collector can be read again, and if not, why.
 *
 * @param reasonOf words mistakes in its options. Default: the first, and that `check` shows them
 */
export async function describeReadable(
  reader: HourReader,
  collector: CollectorConfig,
  reasonOf?: (mistakes: readonly OptionMistake[]) => string,
) {
  try {
    const result = await reader.describe(collector)
    if (reasonOf && result.kind === 'mistaken')
      return { kind: 'unread', unread: { of: collector.id, reason: reasonOf(result.mistakes) } } as const
    const description = usable(collector, result)
    if (!description.history) return { kind: 'left-out', collector } as const
    return { kind: 'readable', collector, description } as const
  } catch (error) {
    return { kind: 'unread', unread: { of: collector.id, reason: faultLine(asFault(error)) } } as const
  }
}

/**
 * Reads a delivered hour again and compares, bit for bit.
 *
 * @param absenceReason why a metric has no value that the collector does not return
 */
export async function hourAgain(
  reader: HourReader,
  { operators, intake }: Pick<Outbox, 'operators' | 'intake'>,
  run: ReadableCollector & { readonly hour: Hour },
  absenceReason: string,
): Promise<HourAgain> {
  const { collector, hour } = run
  const metrics = (await operators.metrics(hour, hour)).filter(
    metric => metric.collector === collector.id && metric.state === 'delivered',
  )
  const { acceptedValues, failures, fault } = await reader.collect(run, intake)
  const now = new Map(acceptedValues.map(({ metric: { id, value } }) => [id, value]))
  const deliveredIds = new Set(metrics.map(({ id }) => id))
  const changes = metrics.flatMap((metric): ValueChange[] => {
    const { id, value } = metric
    const newValue = now.get(id)
    if (Object.is(newValue, value)) return []
    const seen = { metric: id, hour, stored: value }
    if (newValue !== undefined) return [{ ...seen, again: newValue }]
    return [{ ...seen, reason: failures[labelOf(metric)]?.message ?? fault?.message ?? absenceReason }]
  })
  const added = [...now].flatMap(([id, again]) => (deliveredIds.has(id) ? [] : [{ metric: id, hour, again }]))
  return { equal: metrics.length - changes.length, changes: [...changes, ...added] }
}

/** Runs a few at a time; the results are in the order of `all`. */
export async function fewAtATime<T, R>(items: readonly T[], act: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const entries = items.entries()
  const worker = async () => {
    for (const [place, one] of entries) results[place] = await act(one)
  }
  await Promise.all(Array.from({ length: catchUpConcurrency }, worker))
  return results
}
