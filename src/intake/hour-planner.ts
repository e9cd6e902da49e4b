import type { Hour } from '../model/hour.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { NextHour } from '../outbox/tables/next-hours.ts'
import { oldestCollected } from './can-collect.ts'
import { type Planned, type PlannedIn, planHours } from './plan-hours.ts'

/** A caller that waits for a collector's hours to be planned. */
interface PendingPlan {
  readonly planning: Planned
  readonly done: (gaps: Promise<number>) => void
}

/** Collectors planned together: a few milliseconds of the event loop for the usual one hour of each. */
const togetherMax = 250

/** Collectors planned one by one, in a commit that they share. */
const alikeMax = 25

/**
 * Plans the hours that are requested in the same event-loop turn together: at a full hour nearly every collector needs
 * one more row, and a thousand rows take a few statements. Other cases are left to `planHours`.
 */
export class HourPlanner {
  readonly #outbox: PlannedIn & Pick<Outbox, 'nextHours'>
  #waiting: PendingPlan[] = []

  constructor(outbox: PlannedIn & Pick<Outbox, 'nextHours'>) {
    this.#outbox = outbox
  }

  /** As `planHours`. @returns how many became gaps */
  plan(planning: Planned): Promise<number> {
    // In a microtask, so that due hours are started in the meantime.
    if (this.#waiting.length === 0) queueMicrotask(() => void this.#planAll())
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#waiting.push({ planning, done: resolve })
    return promise
  }

  async #planAll(): Promise<void> {
    const all = this.#waiting
    this.#waiting = []
    for (const [current, same] of Map.groupBy(all, ({ planning }) => planning.current)) {
      for (let at = 0; at < same.length; at += togetherMax) {
        await this.#planTogether(same.slice(at, at + togetherMax), current)
      }
    }
  }

  async #planTogether(some: readonly PendingPlan[], current: Hour): Promise<void> {
    // For a few collectors another commit saves nothing.
    if (some.length <= alikeMax) return this.#planEach(some)
    const next = some.flatMap(({ planning }) => nextHourOf(planning) ?? [])
    const adding = this.#outbox.commit(() => this.#outbox.nextHours.add(next, current), next.length)
    const added = await adding.catch((error: unknown) => error)
    const isAdded = ({ planning }: PendingPlan) => added instanceof Set && added.has(planning.collector.id)
    const rest = some.filter(one => !isAdded(one))
    for (const one of some) if (isAdded(one)) one.done(Promise.resolve(0))
    for (let at = 0; at < rest.length; at += alikeMax) await this.#planEach(rest.slice(at, at + alikeMax))
  }

  /** Plans each collector. A failure of the set is met, and reported, again by each of them. */
  async #planEach(some: readonly PendingPlan[]): Promise<void> {
    const planned = some.map(({ planning, done }) => {
      const gaps = planHours(this.#outbox, planning)
      done(gaps)
      return gaps
    })
    await Promise.allSettled(planned)
  }
}

/** Input for planning the next hour of a collector; `undefined` for one that is expected only later. */
function nextHourOf(planning: Planned): NextHour | undefined {
  const { collector, history, current, catchUpMs } = planning
  const { id, since } = collector
  if (since !== undefined && since > current) return undefined
  return { id, oldest: oldestCollected(current, planning, catchUpMs), since: history ? since : undefined }
}
