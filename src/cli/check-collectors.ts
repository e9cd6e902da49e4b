import { availableParallelism, loadavg } from 'node:os'
import type { AppContext } from '../app/context.ts'
import { openOfflineRunner } from '../app/open-runner.ts'
import { allCollectors, type CollectorConfig, ConfigError } from '../config/config.ts'
import { optionMistakes } from '../config/explain.ts'
import { configFiles } from '../config/include.ts'
import type { PlacedMistake } from '../config/mistakes.ts'
import { inOrder } from '../config/mistakes.ts'
import type { Time } from '../edge/time.ts'
import { derivedMistakes } from '../intake/derived/derived-mistakes.ts'
import { DerivedOrder } from '../intake/derived/derived-order.ts'
import { isDerived } from '../intake/derived/derived-values.ts'
import { asFault } from '../intake/validate.ts'
import type { Fault } from '../model/fault.ts'
import { isPermanent } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { labelCharsAdvised } from '../model/limits.ts'
import { labelOf, type Metric, type MetricId, metricId } from '../model/metric.ts'
import type { MetricState, Past } from '../outbox/contract/metrics.ts'
import type { Units } from '../outbox/contract/operator-store.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { endIncomplete } from './exit.ts'
import { selectCollectors } from './selection.ts'
import { onceAborted, type Signals } from './signals.ts'
import { counted, note } from './terminal.ts'

/** Longest load of one collector while the daemon starts; after that the daemon starts without it. */
export const startLoadMsMax = 10_000

/** Configured collectors, and what reads prices and lists, loaded and with their options parsed. */
export interface Checked {
  /** Collectors that can run, each with its description. */
  readonly usable: readonly { readonly collector: CollectorConfig; readonly description: CollectorDescription }[]
  /** Collectors that cannot run, each with the reason. */
  readonly unusable: readonly { readonly collector: CollectorConfig; readonly fault: Fault }[]
  /** Mistakes in options, by place in the configuration. */
  readonly mistakes: readonly PlacedMistake[]
  /** Those that read a price or a list, and no metric. */
  readonly named: Checked['usable']
}

/**
 * Loads every configured collector and parses its options, and what reads every price and list. Offline.
 *
 * @param deadlineMs for loading one
 * @param stopSignal ends it early; collectors not loaded by then are unusable with Fault `stopped`
 * @param progress takes a sentence each ten seconds. Default: it is printed on stderr
 */
export async function checkCollectors(
  context: AppContext,
  deadlineMs: number = context.config.collect.deadlineMs,
  stopSignal?: AbortSignal,
  progress?: (sentence: string) => void,
): Promise<Checked> {
  const checked = await checkEach(allCollectors(context.config), context, deadlineMs, stopSignal, progress)
  const derived = derivedMistakes(checked.usable, context.config)
  return { ...checked, mistakes: [...checked.mistakes, ...sharedMetrics(checked.usable), ...derived] }
}

/** As `checkCollectors`, for some collectors of a file that may have mistakes elsewhere. */
export async function checkEach(
  collectors: readonly CollectorConfig[],
  edge: Pick<AppContext, 'time' | 'log' | 'redactor' | 'warm'> & Partial<Pick<AppContext, 'config'>>,
  deadlineMs: number,
  stopSignal?: AbortSignal,
  progress: (sentence: string) => void = note,
): Promise<Checked> {
  await using stack = new AsyncDisposableStack()
  const runner = openOfflineRunner(edge, deadlineMs, stack)
  onceAborted(stopSignal, () => void runner.stop())
  let loadedCount = 0
  const load = async (collector: CollectorConfig) => {
    try {
      return { collector, description: await runner.describe(collector) }
    } catch (error) {
      return { collector, fault: asFault(error) }
    } finally {
      loadedCount += 1
    }
  }
  const results = await whileReported(
    edge.time,
    () => progress(`loaded so far: ${loadedCount} of ${counted(collectors.length, 'collector')}${busyWords()}`),
    Promise.all(collectors.map(load)),
  )
  const loadedCollectors = results.flatMap(({ collector, description }) =>
    description?.kind === 'usable' ? [{ collector, description }] : [],
  )
  const { prices = [], lists = [] } = edge.config ?? {}
  const namedCollectors = new Set([...prices, ...lists].map(({ collector }) => collector))
  return {
    usable: loadedCollectors.filter(({ collector }) => !namedCollectors.has(collector)),
    named: loadedCollectors.filter(({ collector }) => namedCollectors.has(collector)),
    unusable: results.flatMap(({ collector, fault }) => (fault ? [{ collector, fault }] : [])),
    mistakes: results.flatMap(({ collector, description }) =>
      description?.kind === 'mistaken' ? optionMistakes(collector, description.mistakes) : [],
    ),
  }
}

/** Says that others wait for a processor, too, where many do. */
function busyWords(): string {
  const [load = 0] = loadavg()
  const processors = availableParallelism()
  return load > 2 * processors
    ? `; this machine is busy (load ${load.toFixed(1)} on ${counted(processors, 'processor')})`
    : ''
}

/** Interval of telling how far a start is, which takes less on most machines. */
const progressMs = 10_000

/** Waits for work, and reports how far it is while it takes long. */
async function whileReported<T>(time: Pick<Time, 'sleep'>, report: () => void, work: Promise<T>): Promise<T> {
  const workDone = new AbortController()
  const keepReporting = async () => {
    for (;;) {
      await time.sleep(progressMs, workDone.signal)
      report()
    }
  }
  keepReporting().catch(() => {})
  try {
    return await work
  } finally {
    workDone.abort(new Error('the work is done'))
  }
}

/** Mistakes of collectors that give the same metric as an earlier one of the protocol: the first to run would win. */
function sharedMetrics(loadedCollectors: Checked['usable']): PlacedMistake[] {
  const ownerOf = new Map<string, string>()
  return loadedCollectors.flatMap(({ collector, description }) =>
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

/** The fault of a machine that was too busy to load a collector, which says nothing about the configuration. */
export function machineBusy({ unusable }: Checked): Fault | undefined {
  return unusable.map(({ fault }) => fault).find(({ code }) => code === 'machine-busy')
}

/** All mistakes: a collector that cannot be loaded is a mistake of the entry that uses it, unless the machine was too busy. */
export function mistakesOf({ mistakes, unusable }: Checked): PlacedMistake[] {
  const mistaken = unusable.filter(({ fault }) => fault.code !== 'machine-busy')
  const unloadable = mistaken.map(({ collector, fault }) => ({
    place: collector.place,
    message: fault.facts['at'] === undefined ? fault.message : `${fault.message} (${fault.facts['at']})`,
    ...(fault.fix === undefined ? {} : { fix: fault.fix }),
  }))
  return [...mistakes, ...unloadable]
}

/** A collector that is loaded, with its description. */
export type UsableCollector = Checked['usable'][number]

/** The collectors of a selection. */
export interface SelectedCollectors {
  readonly selectedCollectors: readonly UsableCollector[]
  /** Collectors that were not selected, and that give inputs of derived ones that were. */
  readonly inputs: readonly UsableCollector[]
  /** All that are derived, selected or not. */
  readonly allDerivedCollectors: readonly UsableCollector[]
}

/**
 * Loads all collectors and gives those of a selection. A collector that cannot be loaded is reported and left out, and the
 * command ends with 1.
 *
 * @param names ids that are selected. Default: all
 * @throws ConfigError when options are mistaken
 */
export async function usableCollectors(
  context: AppContext,
  names: readonly string[] | undefined,
  { stopSignal }: Pick<Signals, 'stopSignal'>,
): Promise<SelectedCollectors> {
  const { config } = context
  const selection = selectCollectors(config, names)
  const check = await checkCollectors(context, config.collect.deadlineMs, stopSignal)
  const { usable: loadedCollectors, unusable, mistakes } = check
  // Collectors that were stopped are not unusable.
  stopSignal.throwIfAborted()
  if (mistakes.length > 0) throw new ConfigError(config.file, mistakes)
  const isMeant = ({ collector }: { readonly collector: CollectorConfig }) => selection.includes(collector)
  for (const { collector, fault } of unusable.filter(isMeant)) {
    note(`${collector.id} is left out: ${fault.message}${fault.fix === undefined ? '' : ` – ${fault.fix}`}`)
  }
  const collectors = loadedCollectors.filter(isMeant)
  if (collectors.length < selection.length) endIncomplete()
  const order = new DerivedOrder(loadedCollectors.map(({ collector }) => collector))
  for (const { collector, description } of loadedCollectors) order.described(collector, description)
  const givers = order.allGivers(collectors.map(({ collector }) => collector))
  return {
    selectedCollectors: collectors,
    inputs: loadedCollectors.filter(one => givers.includes(one.collector) && !collectors.includes(one)),
    allDerivedCollectors: loadedCollectors.filter(({ collector }) => isDerived(collector)),
  }
}

/**
 * Refuses what `check` refuses: mistakes in options, and unusable collectors. A collector that may be usable later (its
 * process was slow, or was stopped) is accepted.
 *
 * @throws ConfigError
 */
export async function checkOptions(context: AppContext, { stopSignal }: Signals): Promise<void> {
  const deadlineMs = Math.min(startLoadMsMax, context.config.collect.deadlineMs)
  const progress = (sentence: string) => {
    context.log.info(sentence)
    context.earlyPort?.progress.reach(sentence)
  }
  const check = await checkCollectors(context, deadlineMs, stopSignal, progress)
  const lasting = check.unusable.filter(({ fault }) => isPermanent(fault))
  const mistakes = inOrder(mistakesOf({ ...check, unusable: lasting }), configFiles(context.config))
  if (mistakes.length > 0) throw new ConfigError(context.config.file, mistakes)
  for (const { collector, fault } of check.unusable) {
    const { message: reason, fix } = fault
    if (fault.code !== 'stopped')
      context.log.error({ collector: collector.id, reason, fix }, 'collector cannot be loaded')
  }
}

/** A warning that can be given before anything is sent. */
export interface Foreseen {
  readonly metric: MetricId
  /** The kind that `warningKind` gives for the service's words; `event-not-seen` is our own. */
  readonly kind: 'label-long' | 'unit-changed' | 'already-exists' | 'event-not-seen'
  /** A sentence without the metric's id, so that one line can stand for many metrics. */
  readonly text: string
}

/** A metric to be sent, with what is stored of it. */
export interface Sighted extends Pick<Metric, 'id' | 'protocolId' | 'unit'> {
  readonly hour: Hour
  /** Stored values of its id; absent for an id that is not in the outbox. */
  readonly past?: Past | undefined
  /** State of that hour's value; absent when there is none yet. */
  readonly state?: MetricState | undefined
  readonly units: Units
  /** Whether it is never sent. Default: no. */
  readonly isPrivate?: boolean
}

/** Predicts the service's warnings, and what we do about them. Pure. */
export function foreseen(metric: Sighted): Foreseen[] {
  const texts = [
    ['label-long', metric.isPrivate ? undefined : longLabel(metric)],
    ['unit-changed', otherUnit(metric)],
    ['already-exists', again(metric)],
  ] as const
  return texts.flatMap(([kind, text]) => (text === undefined ? [] : [{ metric: metric.id, kind, text }]))
}

function longLabel(metric: Sighted): string | undefined {
  const { length } = [...labelOf(metric)]
  if (length <= labelCharsAdvised) return undefined
  return `the label has ${length} characters: the service advises ${labelCharsAdvised} at most, and warns`
}

function otherUnit({ unit, past, state, units }: Sighted): string | undefined {
  if (!past || past.unit === unit) return undefined
  const change = `the unit changes from ${past.unit ?? 'none'} to ${unit ?? 'none'}`
  const isSettled = state !== undefined && state !== 'held'
  // Whether later hours are held is judged with them: the change may be allowed already.
  if (units === 'locked' && isSettled) return `${change} after this hour, whose value stands`
  if (units === 'locked')
    return `${change}: its values are held and not sent; if that is meant, collect once with --allow-unit-change`
  return `${change}${isSettled ? ' after this hour' : ''}: the service wants one unit for each metric id, and may warn`
}

function again({ state, hour }: Sighted): string | undefined {
  if (state !== 'delivered') return undefined
  return `delivered already for ${hourText(hour)}: the first value stands and is not posted a second time`
}

/** Metrics named in one line; further ones are counted. */
const namedMax = 3

/** Prints predicted warnings on stderr: each sentence once, however many metrics it is about. */
export function noteForeseen(all: readonly Foreseen[]): void {
  for (const [text, of] of Map.groupBy(all, ({ text }) => text)) note(`warning: ${namedMetrics(of)}: ${text}`)
}

function namedMetrics(of: readonly Foreseen[]): string {
  const named = of.slice(0, namedMax).map(({ metric }) => metric)
  return [...named, ...(of.length > namedMax ? [`${of.length - namedMax} more`] : [])].join(', ')
}
