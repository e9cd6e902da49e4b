import type { ChainReader } from '../chain/reads.ts'
import type { CollectorConfig } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import { faultLine } from '../model/fault.ts'
import { notFinal } from '../model/finality.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import type { Log } from '../telemetry/log.ts'
import { oldestCollected } from './can-collect.ts'
import type { Changed } from './finality.ts'
import type { HourReader } from './hour-reader.ts'
import type { PastStore } from './past.ts'

/** Dependencies of `recollectHour`. */
export interface RecollectDeps {
  readonly outbox: Pick<Outbox, 'intake'>
  readonly reader: HourReader
  readonly collectors: readonly CollectorConfig[]
  readonly chains: readonly ChainReader[]
  /** History of metrics. */
  readonly pasts: PastStore
  /** @throws Fault when it cannot be loaded */
  readonly describe: (collector: CollectorConfig) => Promise<CollectorDescription>
  /** Age up to which hours are read again, in milliseconds; older ones keep their values. */
  readonly catchUpMs: number
  readonly time: Time
  readonly log: Log
}

const words: Readonly<Record<Changed, { readonly is: string; readonly after: string }>> = {
  block: { is: 'its block was replaced', after: 'after a reorg' },
  logs: { is: 'its logs have changed', after: 'as its logs have changed' },
}

/**
 * Reads an hour again whose block was replaced or whose logs differ; changed values become due again. Rejects to be
 * called again later.
 */
export async function recollectHour(deps: RecollectDeps, id: string, hour: Hour, because: Changed): Promise<void> {
  const { outbox, reader, collectors, chains, pasts, describe, catchUpMs, time, log } = deps
  const { intake } = outbox
  const collector = collectors.find(entry => entry.id === id)
  const description = collector && (await describe(collector))
  const { is, after } = words[because]
  const staysAsItIs = `${is}, and it cannot be read again: its values stay as they are`
  const facts = { collector: id, hour: hourText(hour) }
  if (!collector || !description?.history) {
    await intake.forgetPins(id, hour)
    log.error(facts, staysAsItIs)
    return
  }
  const startedMs = time.nowMs()
  const { accepted, pins, provenance, fault } = await reader.collect({ collector, description, hour }, pasts)
  if (fault) {
    if (hour >= oldestCollected(hourAt(startedMs), description, catchUpMs)) throw fault
    await intake.forgetPins(id, hour)
    log.error({ ...facts, fault: faultLine(fault) }, staysAsItIs)
    return
  }
  const open = notFinal(pins, hour, chains, startedMs)
  const outcome = {
    collector: id,
    hour,
    accepted,
    pins: open,
    mode: 'correct',
    ...(provenance && { provenance }),
  } as const
  const { corrected } = await intake.record(outcome, time.nowMs())
  const end =
    corrected > 0 ? `${corrected} of ${accepted.length} values differ and are pushed again` : 'the same values'
  log.warn({ ...facts, corrected }, `read again ${after}: ${end}`)
}
