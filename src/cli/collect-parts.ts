import type { AppContext } from '../app/context.ts'
import { openChains, openContractLook } from '../app/open-chains.ts'
import { openHourReader } from '../app/open-runner.ts'
import { LogList } from '../chain/log-list.ts'
import type { RecentEvents } from '../chain/read/node-questions.ts'
import type { ChainConfig, CollectorConfig } from '../config/config.ts'
import { asFault, type Collected, holdOf, noPasts, nothing, usable } from '../intake/validate.ts'
import type { LogFilter } from '../model/block.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { Accepted, MetricState } from '../outbox/contract/metrics.ts'
import type { Units } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { createLog } from '../telemetry/log.ts'
import { type Foreseen, foreseen } from './check-collectors.ts'
import { counted } from './terminal.ts'

/**
 * Runs collectors for one hour and predicts how outbox and service will treat the result. Stores nothing.
 *
 * @param outbox absent when nothing was ever collected
 * @param stopping ends it early: collectors that have not answered by then have Fault `stopped`. Default: nothing does
 */
export async function collectParts(
  context: AppContext,
  outbox: Pick<Outbox, 'intake' | 'operators'> | undefined,
  collectors: readonly CollectorConfig[],
  hour: Hour,
  units: Units,
  stopping?: AbortSignal,
): Promise<CollectedReport> {
  await using stack = new AsyncDisposableStack()
  // The person who runs this sees the collectors' log.
  const log = createLog(context.config.log.level, context.redactor)
  const loud = { ...context, log }
  const chains = openChains(loud, stack, { store: outbox?.intake })
  const reader = openHourReader(loud, chains, stack)
  stopping?.addEventListener('abort', () => void reader.stop())
  const parts = await Promise.all(
    collectors.map(async (collector): Promise<CollectedPart> => {
      try {
        const description = usable(collector, await reader.describe(collector))
        const collected = await reader.collect({ collector, description, hour }, outbox?.intake ?? noPasts)
        const accepted = collected.accepted.map(entry => withUnits(entry, description, units))
        return { collector, ...collected, accepted }
      } catch (error) {
        return { collector, ...nothing(asFault(error)) }
      }
    }),
  )
  const metrics = parts.flatMap(({ accepted }) => accepted.map(({ metric }) => metric))
  const keys = metrics.map(({ id }) => ({ id, hour }))
  const entries = (await outbox?.operators.stored(keys)) ?? []
  const pasts = (await outbox?.intake.pasts(keys)) ?? []
  const stored = new Map(metrics.flatMap(({ id }, place) => (entries[place] ? [[id, entries[place]] as const] : [])))
  const warnings = metrics.flatMap((metric, place): Foreseen[] =>
    foreseen({ ...metric, past: pasts[place], state: stored.get(metric.id)?.state, units }),
  )
  return { hour, parts, stored, warnings }
}

/**
 * Checks a value whose changed unit is allowed against its other bounds. There is no earlier value to compare it with.
 * An implausible one is held with its unit.
 */
function withUnits(entry: Accepted, { metrics }: CollectorDescription, units: Units): Accepted {
  const { metric, hold } = entry
  if (units === 'locked' || hold?.kind !== 'unit') return entry
  const other = holdOf(metric, metrics[labelOf(metric)] ?? {}, undefined)
  return other ? { metric, hold: { kind: 'unit', reason: `${other.reason}; ${hold.reason}` } } : { metric }
}

/** The result of one collector for the hour. */
export interface CollectedPart extends Collected {
  readonly collector: CollectorConfig
}

/** An hour as it was collected, and how outbox and service will treat it. */
export interface CollectedReport {
  readonly hour: Hour
  readonly parts: readonly CollectedPart[]
  /** Earlier values of the hour in the outbox, by metric id: the first value stands. */
  readonly stored: ReadonlyMap<MetricId, { readonly value: number; readonly state: MetricState }>
  /** Warnings that the service would answer with, and of events that are not seen. */
  readonly warnings: readonly Foreseen[]
}

/** Kinds of events that are named in one sentence; further ones are counted. */
const kindsMax = 5

/**
 * Finds collectors whose events have not been emitted in the hour, nor lately: the address or the event may be wrong. The text
 * is a sentence without a capital: `no such event in the last 10,000 blocks; …`.
 */
export async function quietEvents(
  context: AppContext,
  parts: readonly CollectedPart[],
): Promise<{ readonly part: CollectedPart; readonly text: string }[]> {
  await using stack = new AsyncDisposableStack()
  const none = new LogList([]).digest
  const asked = parts.flatMap(part =>
    part.pins.flatMap(({ chainId, logs = [] }) => {
      const chain = context.config.chains.find(({ id }) => id === chainId)
      const empty = logs.filter(({ digest }) => digest === none).map(({ filter }) => filter)
      return chain ? empty.map(filter => ({ part, chain, filter })) : []
    }),
  )
  const found = await Promise.all(
    asked.map(async ({ part, chain, filter }) => {
      const text = await quietText(context, chain, filter, stack)
      return text === undefined ? [] : [{ part, text }]
    }),
  )
  return found.flat()
}

/** @returns undefined when the event was seen, or no endpoint says whether it was */
async function quietText(
  context: AppContext,
  chain: ChainConfig,
  filter: LogFilter,
  stack: AsyncDisposableStack,
): Promise<string | undefined> {
  try {
    const recent = await openContractLook(chain, context, stack).events(filter)
    if (recent.isSeen) return undefined
    const whose = Array.isArray(filter.address) ? 'these contracts' : 'this contract'
    const blocks = (count: number) => `in the last ${counted(count, 'block')}`
    const place = recent.blocks === recent.emittedBlocks ? '' : ` ${blocks(recent.emittedBlocks)}`
    return `no such event ${blocks(recent.blocks)}; ${whose} emitted ${kindsText(recent)}${place}`
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
