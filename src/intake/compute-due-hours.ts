import type { Time } from '../edge/time.ts'
import type { Hour } from '../model/hour.ts'
import { recollectCapMs } from '../model/limits.ts'
import type { DueHour } from '../outbox/contract/hours.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { HourPipeline, HourResult, HourStore, HourToCollect } from './collect-hours.ts'
import { due } from './hour-outcome.ts'
import type { HourToRead, PastStore } from './validate.ts'

interface ComputeDueDeps {
  readonly intake: HourStore & PastStore & Pick<IntakeStore, 'dueHours'>
  readonly pipeline: HourPipeline
  /** Derived collectors. */
  readonly collectors: readonly Pick<HourToRead, 'collector' | 'description'>[]
  readonly current: Hour
  readonly time: Pick<Time, 'nowMs'>
}

/** Computations of one hour: an input of it may be derived by another collector, and come later. */
const passesMax = 4

/** Hours computed together: their windows are read once. */
const hoursTogether = 500

/**
 * Computes and stores the due hours of derived collectors whose attempt has come, those that it makes due included. For
 * commands: the daemon does it as hours become due.
 *
 * @param isWanted whether an hour is computed; others stay due
 * @returns the last result of each hour
 */
export async function computeDueHours(
  deps: ComputeDueDeps,
  isWanted: (due: DueHour) => boolean,
): Promise<readonly (HourToCollect & HourResult)[]> {
  const { intake, pipeline, collectors, current, time } = deps
  const results = new Map<string, HourToCollect & HourResult>()
  const passes = new Map<string, number>()
  const isLeft = (hour: DueHour) => isWanted(hour) && (passes.get(keyOf(hour)) ?? 0) < passesMax
  const ids = collectors.map(({ collector }) => collector.id)
  for (;;) {
    // One that waits for its next attempt is tried once, too: this may be the only run for hours.
    const nowMs = time.nowMs() + (passes.size === 0 ? recollectCapMs : 0)
    const wanted = { collectors: ids, current, nowMs, limit: hoursTogether }
    const left = ids.length === 0 ? [] : (await intake.dueHours(wanted)).filter(isLeft)
    if (left.length === 0) return [...results.values()]
    const dueRuns = left.flatMap(hour => {
      const described = collectors.find(({ collector }) => collector.id === hour.collector)
      return described ? [{ ...hour, ...described }] : []
    })
    for (const end of await pipeline.collect(dueRuns, due, intake, neverStopped)) {
      const key = keyOf({ ...end, collector: end.collector.id })
      results.set(key, end)
      passes.set(key, (passes.get(key) ?? 0) + 1)
    }
  }
}

const neverStopped = new AbortController().signal

const keyOf = ({ collector, hour }: Pick<DueHour, 'collector' | 'hour'>) => `${hour} ${collector}`
