import type { AppContext } from '../app/context.ts'
import { openChains, openContractReader } from '../app/open-chains.ts'
import { openPipeline } from '../app/open-runner.ts'
import { LogList } from '../chain/log-list.ts'
import type { RecentEvents } from '../chain/read/node-questions.ts'
import type { ChainConfig, CollectorConfig } from '../config/config.ts'
import { descriptionOr, type HourPipeline, type HourReading, type HourToCollect } from '../intake/collect-hours.ts'
import { inputSpans, isDerived } from '../intake/derived/derived-values.ts'
import { withCollected } from '../intake/derived-hours.ts'
import { due } from '../intake/hour-outcome.ts'
import { type Collected, holdOf, noPasts, type PastStore, usable } from '../intake/validate.ts'
import type { LogFilter } from '../model/block.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt } from '../model/hour.ts'
import { valueAt } from '../model/json.ts'
import type { ListKeeper } from '../model/list-memory.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { Accepted, MetricState } from '../outbox/contract/metrics.ts'
import type { Units } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { type Foreseen, foreseen } from './check-collectors.ts'
import { loud } from './open-context.ts'
import { onceAborted } from './signals.ts'
import { counted, cut } from './terminal.ts'

/**
 * Runs collectors for one hour, the derived ones after the others, from their values, and predicts how outbox and service
 * will treat the result.
 *
 * @param outbox absent when nothing was ever collected
 */
export async function collectParts(
  context: AppContext,
  outbox: Pick<Outbox, 'intake' | 'operators'> | undefined,
  collectors: readonly CollectorConfig[],
  request: AskedHour,
): Promise<CollectedReport> {
  await using stack = new AsyncDisposableStack()
  const own = loud(context)
  const chains = openChains(own, stack, { store: outbox?.intake })
  const pipeline = openPipeline(own, chains, stack, request.lists)
  onceAborted(request.stopSignal, () => void pipeline.reader.stop())
  const pasts = outbox?.intake ?? noPasts
  const store = async ({ parts, storedValues }: CollectedReport) => {
    const partsToStore = parts.map(part => withoutSettled(part, storedValues))
    if (outbox && request.isStored) await storeParts(pipeline, outbox, partsToStore, hourAt(context.time.nowMs()))
  }
  // One that is slow to load keeps no other; derived ones need each other.
  const alone = collectors.filter(one => !isDerived(one)).map(one => readParts(pipeline, [one], pasts, request))
  const mainReport = await reportOf((await Promise.all(alone)).flat(), outbox, request)
  await store(mainReport)
  const collected = mainReport.parts.flatMap(({ acceptedValues }) => acceptedValues)
  const derivedParts = await readParts(pipeline, collectors.filter(isDerived), withCollected(pasts, collected), request)
  const derivedReport = await reportOf(derivedParts, outbox, request)
  await store(derivedReport)
  return {
    hour: request.hour,
    parts: [...mainReport.parts, ...derivedParts],
    storedValues: new Map([...mainReport.storedValues, ...derivedReport.storedValues]),
    warnings: [...mainReport.warnings, ...derivedReport.warnings],
  }
}

/** Results that are not stored yet, compared with the outbox. */
async function reportOf(
  parts: readonly CollectedPart[],
  outbox: Pick<Outbox, 'intake' | 'operators'> | undefined,
  { hour, units }: AskedHour,
): Promise<CollectedReport> {
  const metrics = parts.flatMap(({ acceptedValues }) => acceptedValues.map(({ metric }) => metric))
  const keys = metrics.map(({ id }) => ({ id, hour }))
  const entries = (await outbox?.operators.stored(keys)) ?? []
  const pasts = (await outbox?.intake.pasts(keys)) ?? []
  const byId = new Map(metrics.flatMap(({ id }, place) => (entries[place] ? [[id, entries[place]] as const] : [])))
  const isPrivate = new Set(
    parts.flatMap(({ acceptedValues }) => acceptedValues.filter(one => one.isPrivate)).map(one => one.metric.id),
  )
  const warnings = metrics.flatMap((metric, place): Foreseen[] => {
    const state = byId.get(metric.id)?.state
    return foreseen({ ...metric, past: pasts[place], state, units, isPrivate: isPrivate.has(metric.id) })
  })
  return { hour, parts, storedValues: byId, warnings }
}

/** Reads an hour of collectors together. One that cannot be loaded fails alone. */
async function readParts(
  pipeline: HourPipeline,
  collectors: readonly CollectorConfig[],
  pasts: PastStore,
  { hour, units }: AskedHour,
): Promise<CollectedPart[]> {
  const hours = collectors.map(async collector => {
    const described = pipeline.reader.describe(collector).then(result => usable(collector, result))
    return { collector, hour, attempts: 0, description: await descriptionOr(described) }
  })
  const readings = await pipeline.read(await Promise.all(hours), pasts)
  return readings.map(reading => {
    const { collector, result, description } = reading
    const values = result.acceptedValues.map(one =>
      description instanceof Fault ? one : withUnits(one, description, units),
    )
    return { collector, ...result, acceptedValues: values, reading }
  })
}

/** A part without values in another unit whose hour has a value already: that stands, so they are not held. */
function withoutSettled(part: CollectedPart, stored: CollectedReport['storedValues']): CollectedPart {
  const isSettled = ({ metric, hold }: Accepted) => hold?.kind === 'unit' && isSent(stored.get(metric.id)?.state)
  return { ...part, acceptedValues: part.acceptedValues.filter(entry => !isSettled(entry)) }
}

const isSent = (state: MetricState | undefined) => state === 'due' || state === 'delivered' || state === 'private'

/** Stores results of an hour, which is expected from now on. Nothing is stored of a value of the present for an hour that has passed. */
async function storeParts(
  pipeline: HourPipeline,
  { operators, intake }: Pick<Outbox, 'operators' | 'intake'>,
  parts: readonly CollectedPart[],
  current: Hour,
): Promise<void> {
  const stores = parts.map(async ({ reading, ...result }) => {
    const { collector, inputChanges, fault } = result
    if (inputChanges !== undefined) await intake.setInputs(collector.id, inputSpans(collector))
    if (fault?.code === 'hour-passed') return
    await operators.expectHour(collector.id, reading.hour, current)
    await pipeline.record({ ...reading, result }, due, intake)
  })
  await Promise.all(stores)
}

/**
 * Checks a value whose changed unit is allowed against its other bounds. There is no earlier value to compare it with.
 * An implausible one is held with its unit.
 */
function withUnits(entry: Accepted, { metrics }: CollectorDescription, units: Units): Accepted {
  const { hold, ...acceptedValue } = entry
  if (units === 'locked' || hold?.kind !== 'unit') return entry
  const other = holdOf(acceptedValue.metric, metrics[labelOf(acceptedValue.metric)] ?? {}, undefined)
  return other ? { ...acceptedValue, hold: { kind: 'unit', reason: `${other.reason}; ${hold.reason}` } } : acceptedValue
}

/** An hour that is collected by hand. */
interface AskedHour {
  readonly hour: Hour
  readonly units: Units
  /** Whether the results are stored; the hour is expected then. Default: no. */
  readonly isStored?: boolean
  /** Ends it early: collectors that have not answered by then have Fault `stopped`. Default: nothing does. */
  readonly stopSignal?: AbortSignal | undefined
  /** Memory of lists. Default: none, so that they are read from their beginning. */
  readonly lists?: ListKeeper | undefined
}

/** The result of one collector for the hour. */
export interface CollectedPart extends Collected {
  readonly collector: CollectorConfig
  /** As it was read. */
  readonly reading: HourToCollect & HourReading
}

/** An hour as it was collected, and how outbox and service will treat it. */
export interface CollectedReport {
  readonly hour: Hour
  readonly parts: readonly CollectedPart[]
  /** Earlier values of the hour in the outbox, by metric id: the first value stands. */
  readonly storedValues: ReadonlyMap<MetricId, { readonly value: number; readonly state: MetricState }>
  /** Warnings that the service would answer with, and of events that are not seen. */
  readonly warnings: readonly Foreseen[]
}

/** Longest signature of an event that is quoted. */
const eventCharsMax = 200

/** Kinds of events that are named in one sentence; further ones are counted. */
const kindsMax = 5

/**
 * Finds collectors whose events have not been emitted in the hour, nor lately: the address or the event may be wrong. All values
 * of a collector are of them (`isOfAll`) where it reads no other logs; else only its code knows which are. The text
 * is a sentence without a capital: `no event "Paid(uint8 kind)" of 0x… in the last 10,000 blocks; …`.
 */
export async function quietEvents(
  context: AppContext,
  parts: readonly CollectedPart[],
): Promise<{ readonly part: CollectedPart; readonly isOfAll: boolean; readonly text: string }[]> {
  await using stack = new AsyncDisposableStack()
  const noLogs = new LogList([]).digest
  const questions = parts.flatMap(part =>
    part.pins.flatMap(({ chainId, logs = [] }) => {
      const chain = context.config.chains.find(({ id }) => id === chainId)
      const empty = logs.filter(({ digest }) => digest === noLogs).map(({ filter }) => filter)
      return chain ? empty.map(filter => ({ part, chain, filter })) : []
    }),
  )
  const causes = await Promise.all(
    questions.map(async ({ part, chain, filter }) => {
      const text = await quietText(context, chain, filter, stack)
      const filters = part.pins.flatMap(({ logs = [] }) => logs.map(one => JSON.stringify(one.filter)))
      const isOfAll = new Set(filters).size === 1
      return text === undefined ? [] : [{ part, isOfAll, text: `no ${await eventIn(part.collector, filter)} ${text}` }]
    }),
  )
  // Two sums of one event read it once each.
  return [...new Map(causes.flat().map(each => [`${each.part.collector.id} ${each.text}`, each])).values()]
}

/** The events that options of any collector name: `event`, or an `event` of each of `events`. */
export function eventsIn(options: unknown): readonly string[] {
  const several = valueAt(options, ['events'])
  const texts = [options, ...(Array.isArray(several) ? several : [])].map(part => valueAt(part, ['event']))
  return texts.filter(event => typeof event === 'string')
}

/** The event of a filter, in words: its signature where options name it, else its topics, which are the hashes of signatures. */
async function eventIn({ options }: CollectorConfig, { topics: [topic = null] }: LogFilter): Promise<string> {
  const { isEventOf } = await import('../../collectors/values/event.ts')
  const event = eventsIn(options).find(signature => isEventOf(signature, topic))
  if (event !== undefined) return `event "${cut(event, eventCharsMax)}"`
  return topic === null ? 'event' : `event with topic ${[topic].flat().join(' or ')}`
}

/** Time for which it was not seen. @returns undefined when the event was seen, or no endpoint says whether it was */
async function quietText(
  context: AppContext,
  chain: ChainConfig,
  filter: LogFilter,
  stack: AsyncDisposableStack,
): Promise<string | undefined> {
  try {
    const recentEvents = await openContractReader(chain, context, stack).events(filter)
    if (recentEvents.isSeen) return undefined
    const [address, ...otherAddresses] = [filter.address].flat()
    const contract = `${address}${otherAddresses.length > 0 ? ` and ${counted(otherAddresses.length, 'other contract')}` : ''}`
    const blocks = (count: number) => `in the last ${counted(count, 'block')}`
    const place = recentEvents.blocks === recentEvents.emittedBlocks ? '' : ` ${blocks(recentEvents.emittedBlocks)}`
    const subject = otherAddresses.length > 0 ? 'they' : 'it'
    return `of ${contract} ${blocks(recentEvents.blocks)}; ${subject} emitted ${kindsText(recentEvents)}${place}`
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

function kindsText({ emitted }: RecentEvents): string {
  if (emitted.size === 0) return 'nothing'
  const kinds = [...emitted].sort(([, a], [, b]) => b - a)
  const shown = kinds.slice(0, kindsMax).map(([name, count]) => `${name} ×${count}`)
  return [...shown, ...(kinds.length > kindsMax ? [`${kinds.length - kindsMax} others`] : [])].join(', ')
}
