import type { AppContext } from '../app/context.ts'
import { openOfflineRunner } from '../app/open-runner.ts'
import type { CollectorConfig } from '../config/config.ts'
import { optionMistakes } from '../config/explain.ts'
import type { PlacedMistake } from '../config/mistakes.ts'
import { asFault } from '../intake/validate.ts'
import type { Fault } from '../model/fault.ts'
import { metricId } from '../model/metric.ts'
import type { CollectorDescription } from '../runner/runner.ts'

/** Configured collectors, and the sources of prices, loaded and with their options parsed. */
export interface Checked {
  /** Collectors that can run, each with its description. */
  readonly usable: readonly { readonly collector: CollectorConfig; readonly description: CollectorDescription }[]
  /** Collectors that cannot run, each with the reason. */
  readonly unusable: readonly { readonly collector: CollectorConfig; readonly fault: Fault }[]
  /** Mistakes in options, by place in the configuration. */
  readonly mistakes: readonly PlacedMistake[]
  /** Those that read a price and no metric. */
  readonly prices: Checked['usable']
}

/**
 * Loads every configured collector and parses its options, and the sources of every price. Offline.
 *
 * @param deadlineMs for loading one
 * @param stopping ends it early; collectors not loaded by then are unusable with Fault `stopped`
 */
export async function checkCollectors(
  context: AppContext,
  deadlineMs: number = context.config.collect.deadlineMs,
  stopping?: AbortSignal,
): Promise<Checked> {
  const { protocols, prices } = context.config
  const collectors = [...prices.map(({ collector }) => collector), ...protocols.flatMap(({ collectors }) => collectors)]
  const checked = await checkEach(collectors, context, deadlineMs, stopping)
  return { ...checked, mistakes: [...checked.mistakes, ...sharedMetrics(checked.usable)] }
}

/** As `checkCollectors`, for some collectors of a file that may have mistakes elsewhere. */
export async function checkEach(
  collectors: readonly CollectorConfig[],
  edge: Pick<AppContext, 'time' | 'log' | 'redactor' | 'warm'> & Partial<Pick<AppContext, 'config'>>,
  deadlineMs: number,
  stopping?: AbortSignal,
): Promise<Checked> {
  await using stack = new AsyncDisposableStack()
  const runner = openOfflineRunner(edge, deadlineMs, stack)
  stopping?.addEventListener('abort', () => void runner.stop())
  const results = await Promise.all(
    collectors.map(async collector => {
      try {
        return { collector, description: await runner.describe(collector) }
      } catch (error) {
        return { collector, fault: asFault(error) }
      }
    }),
  )
  const usable = results.flatMap(({ collector, description }) =>
    description?.kind === 'usable' ? [{ collector, description }] : [],
  )
  const ofPrices = new Set(edge.config?.prices.map(({ collector }) => collector))
  return {
    usable: usable.filter(({ collector }) => !ofPrices.has(collector)),
    prices: usable.filter(({ collector }) => ofPrices.has(collector)),
    unusable: results.flatMap(({ collector, fault }) => (fault ? [{ collector, fault }] : [])),
    mistakes: results.flatMap(({ collector, description }) =>
      description?.kind === 'mistaken' ? optionMistakes(collector, description.mistakes) : [],
    ),
  }
}

/** Mistakes of collectors that give the same metric as an earlier one of the protocol: the first to run would win. */
function sharedMetrics(usable: Checked['usable']): PlacedMistake[] {
  const ownerOf = new Map<string, string>()
  return usable.flatMap(({ collector, description }) =>
    Object.keys(description.metrics).flatMap(label => {
      const id = metricId(collector.protocolId, label)
      const owner = ownerOf.get(id)
      if (owner === undefined) ownerOf.set(id, collector.id)
      if (owner === undefined) return []
      const message = `${collector.id} gives the metric ${id}, which ${owner} gives already`
      return [
        { place: collector.place, message, fix: 'give one of them another label, or put it under another protocol' },
      ]
    }),
  )
}

/** All mistakes: a collector that cannot be loaded is a mistake of the entry that uses it. */
export function mistakesOf({ mistakes, unusable }: Checked): PlacedMistake[] {
  const unloadable = unusable.map(({ collector, fault }) => ({
    place: collector.place,
    message: fault.facts['at'] === undefined ? fault.message : `${fault.message} (${fault.facts['at']})`,
    ...(fault.fix === undefined ? {} : { fix: fault.fix }),
  }))
  return [...mistakes, ...unloadable]
}
