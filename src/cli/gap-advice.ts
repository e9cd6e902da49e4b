import { hourText } from '../model/hour.ts'
import { shellWord } from '../model/text.ts'
import type { CollectorHourRange } from '../outbox/contract/hours.ts'
import { asTyped, type ConfigOption } from './configured-command.ts'

/**
 * The hours a gap's collector can read: any, only the present, none because it cannot be loaded, or unknown because it
 * is no longer configured.
 */
export type Mendable = 'past' | 'now' | 'unusable' | 'unknown'

/** Advice about a gap. Pure. */
export function gapAdvice(
  { collector, from, to, fault }: CollectorHourRange,
  mendable: Mendable,
  options: ConfigOption,
): string {
  if (mendable === 'unknown') return 'nothing: the collector is no longer configured'
  if (mendable === 'now') return 'nothing: it can only read “now”'
  if (mendable === 'unusable') return `repair the collector: ${asTyped('check', options)}`
  if (fault?.code === 'chain-before-first-block') return 'nothing: the chain had no block yet'
  const backfill = asTyped(
    `backfill --from ${hourText(from)} --to ${hourText(to)} --only ${shellWord(collector)}`,
    options,
  )
  if (fault?.code === 'chain-state-missing') return `with an endpoint that has the state of then: ${backfill}`
  return backfill
}
