import { type BatchJob, BatchScheduler } from '../../../edge/batch-scheduler.ts'
import type { Hour } from '../../../model/hour.ts'
import type { HourPlan } from '../../contract/hours.ts'
import type { OutboxTables } from '../tables/outbox-tables.ts'
import { type PlannedIn, planHours } from './plan-hours.ts'

type PlanJob = BatchJob<HourPlan, number>

/** Collectors planned together: a few milliseconds of the event loop for the usual one hour of each. */
const togetherMax = 250

/** Collectors planned one by one, in a commit that they share. */
const sharedCommitMax = 25

/**
 * Plans the hours that are requested in the same event-loop turn together: at a full hour nearly every collector needs
 * one more row, and a thousand rows take a few statements. Other cases are left to `planHours`.
 */
export class HourPlanner {
  readonly #tables: PlannedIn & Pick<OutboxTables, 'nextHours'>
  readonly #scheduler: BatchScheduler<HourPlan, number>

  constructor(tables: PlannedIn & Pick<OutboxTables, 'nextHours'>) {
    this.#tables = tables
    this.#scheduler = new BatchScheduler(jobs => this.#planAll(jobs), {
      // In a microtask, so that due hours are started in the meantime.
      untilComplete: async () => {},
      sizeMax: togetherMax,
      isSerial: true,
    })
  }

  /** As `IntakeStore.planHours`. */
  plan(plan: HourPlan): Promise<number> {
    return this.#scheduler.schedule(plan)
  }

  async #planAll(jobs: readonly PlanJob[]): Promise<void> {
    for (const [current, same] of Map.groupBy(jobs, ({ request }) => request.current)) {
      await this.#planTogether(same, current)
    }
  }

  async #planTogether(some: readonly PlanJob[], current: Hour): Promise<void> {
    // For a few collectors another commit saves nothing.
    if (some.length <= sharedCommitMax) return this.#planEach(some)
    const plans = some.map(({ request }) => request)
    const adding = this.#tables.writer.commit(() => this.#tables.nextHours.add(plans, current), plans.length)
    const added = await adding.catch((error: unknown) => error)
    const isAdded = ({ request }: PlanJob) => added instanceof Set && added.has(request.collector)
    const rest = some.filter(one => !isAdded(one))
    for (const one of some) if (isAdded(one)) one.resolve(0)
    for (let at = 0; at < rest.length; at += sharedCommitMax) await this.#planEach(rest.slice(at, at + sharedCommitMax))
  }

  /** Plans each collector. A failure of the set is met, and reported, again by each of them. */
  async #planEach(some: readonly PlanJob[]): Promise<void> {
    await Promise.all(
      some.map(({ request, resolve, reject }) => planHours(this.#tables, request).then(resolve, reject)),
    )
  }
}
