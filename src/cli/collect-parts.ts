import type { AppContext } from '../app/context.ts'
import { openChains } from '../app/open-chains.ts'
import { openHourReader } from '../app/open-runner.ts'
import type { CollectorConfig } from '../config/config.ts'
import { asFault, holdOf, noPasts, nothing, usable } from '../intake/validate.ts'
import type { Hour } from '../model/hour.ts'
import { labelOf } from '../model/metric.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { Units } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import { createLog } from '../telemetry/log.ts'
import type { CollectedPart, CollectedReport } from './collected-report.ts'
import { type Foreseen, foreseen } from './foreseen.ts'

/** Dependencies of collecting one hour by hand; the outbox is absent when nothing was ever collected. */
export interface CollectDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'intake' | 'operators'> | undefined
  readonly hour: Hour
  readonly units: Units
  /** Ends it early: collectors that have not answered by then have Fault `stopped`. Default: nothing does. */
  readonly stopping?: AbortSignal | undefined
}

/** Runs collectors for one hour and predicts how outbox and service will treat the result. Stores nothing. */
export async function collectParts(
  occasion: CollectDeps,
  collectors: readonly CollectorConfig[],
): Promise<CollectedReport> {
  const { context, outbox, hour } = occasion
  await using stack = new AsyncDisposableStack()
  // The person who runs this sees the collectors' log; delivery is reported in other words below.
  const log = createLog(context.config.log.level, context.redactor)
  const loud = { ...context, log }
  const chains = openChains(loud, stack, { store: outbox?.intake })
  const reader = openHourReader(loud, chains, stack)
  occasion.stopping?.addEventListener('abort', () => void reader.stop())
  const parts = await Promise.all(
    collectors.map(async (collector): Promise<CollectedPart> => {
      try {
        const description = usable(collector, await reader.describe(collector))
        const collected = await reader.collect({ collector, description, hour }, outbox?.intake ?? noPasts)
        const accepted = collected.accepted.map(entry => withUnits(entry, description, occasion.units))
        return { collector, ...collected, accepted }
      } catch (error) {
        return { collector, ...nothing(asFault(error)) }
      }
    }),
  )
  return { hour, parts, ...(await known(parts, occasion)) }
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

async function known(
  parts: readonly CollectedPart[],
  { outbox, hour, units }: CollectDeps,
): Promise<Pick<CollectedReport, 'stored' | 'warnings'>> {
  const metrics = parts.flatMap(({ accepted }) => accepted.map(({ metric }) => metric))
  const keys = metrics.map(({ id }) => ({ id, hour }))
  const entries = (await outbox?.operators.stored(keys)) ?? []
  const pasts = (await outbox?.intake.pasts(keys)) ?? []
  const stored = new Map(metrics.flatMap(({ id }, place) => (entries[place] ? [[id, entries[place]] as const] : [])))
  const warnings = metrics.flatMap((metric, place): Foreseen[] =>
    foreseen({ ...metric, past: pasts[place], state: stored.get(metric.id)?.state, units }),
  )
  return { stored, warnings }
}
