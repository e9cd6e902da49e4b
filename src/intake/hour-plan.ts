import type { CollectorConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { HourPlan } from '../outbox/contract/hours.ts'
import { hourPassed, oldestCollected } from './can-collect.ts'

/** A collector whose hours are planned. */
export interface Planned {
  readonly collector: Pick<CollectorConfig, 'id' | 'since'>
  /** Whether it can read past hours. */
  readonly history: boolean
  /** The hour of the clock that is believed. */
  readonly current: Hour
  /** Catch-up range of missed hours, in milliseconds. */
  readonly catchUpMs: number
}

/** The hours to expect of a collector; `undefined` for one that is expected only later. Pure. */
export function hourPlanOf({ collector, history, current, catchUpMs }: Planned): HourPlan | undefined {
  const { id, since } = collector
  if (since !== undefined && since > current) return undefined
  return {
    collector: id,
    ...(history && since !== undefined && { since }),
    current,
    oldest: oldestCollected(current, { history }, catchUpMs),
    gapReason: history ? tooOld(catchUpMs) : hourPassed,
  }
}

function tooOld(catchUpMs: number): Fault {
  return new Fault('hour-too-old', `older than the catch-up range of ${catchUpMs / hourMs} h`, {
    fix: 'tidegauge backfill collects it',
  })
}
