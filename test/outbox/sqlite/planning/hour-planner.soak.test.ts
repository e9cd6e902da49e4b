import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { hourPlanOf } from '../../../../src/intake/due-hours.ts'
import { Fault } from '../../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../../src/model/hour.ts'
import { commitRowsMax, hourMs } from '../../../../src/model/limits.ts'
import type { HourPlan } from '../../../../src/outbox/contract/hours.ts'
import { HourPlanner } from '../../../../src/outbox/sqlite/planning/hour-planner.ts'
import { planHours } from '../../../../src/outbox/sqlite/planning/plan-hours.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour } from '../../../support/metrics.ts'
import { repetitions } from '../../../support/soak.ts'

function opened(): SqliteOutbox {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  return outbox
}

const catchUpMs = 4 * hourMs
const refused = new Fault('chain-state-missing', 'no state')

function plansOf(collectors: readonly string[], current: Hour): HourPlan[] {
  return collectors.flatMap(id => hourPlanOf({ collector: { id }, history: true, current, catchUpMs }) ?? [])
}

/** Enough for them to be planned together. */
const ids = Array.from({ length: 30 }, (_, index) => `vault/${index}`)
/** Events of a collector before, or between, its hours being planned; hours count from `anHour`. */
const event = fc.record({
  id: fc.constantFrom(...ids.slice(0, 3), ...ids.slice(-2)),
  kind: fc.constantFrom('collect', 'gap', 'backfill', 'nothing'),
  at: fc.integer({ min: 0, max: 12 }),
})
const round = fc.record({
  at: fc.oneof({ weight: 3, arbitrary: fc.constant('next' as const) }, fc.integer({ min: 0, max: 12 })),
  events: fc.array(event, { maxLength: 4 }),
  since: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
  history: fc.boolean(),
})

function happen({ expectedHours }: SqliteOutbox, { id, kind, at }: { id: string; kind: string; at: number }): void {
  const hour = hourAfter(anHour, at)
  if (kind === 'collect') expectedHours.markCollected(id, hour)
  if (kind === 'gap') expectedHours.markGap(id, hour, refused)
  if (kind === 'backfill') {
    expectedHours.addUnscheduled(id, hour)
    expectedHours.markCollected(id, hour)
  }
}

function all({ expectedHours }: SqliteOutbox) {
  const starts = ids.map(id => [expectedHours.since(id), expectedHours.lastWithoutHole(id)])
  return [starts, expectedHours.between(hourAfter(anHour, -20), hourAfter(anHour, 40))]
}

it('plans many collectors together as it would plan each alone, whatever has become of their hours', async () => {
  const rounds = fc.array(round, { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(rounds, async each => {
      const [together, alone] = [opened(), opened()]
      const planner = new HourPlanner(together)
      let at = 0
      for (const { at: next, events, since, history } of each) {
        at = next === 'next' ? at + 1 : next
        const current = hourAfter(anHour, at)
        for (const done of events) for (const outbox of [together, alone]) happen(outbox, done)
        const plans = ids.flatMap(id => {
          const own = since !== undefined && id === ids[1] ? { since: hourAfter(anHour, since) } : {}
          return hourPlanOf({ collector: { id, ...own }, history: history || id !== ids[2], current, catchUpMs }) ?? []
        })
        const gaps = await Promise.all(plans.map(plan => planner.plan(plan)))
        expect(gaps).toEqual(await Promise.all(plans.map(plan => planHours(alone, plan))))
        expect(all(together)).toEqual(all(alone))
      }
    }),
    { numRuns: repetitions({ test: 10, soak: 100 }) },
  )
})

it('writes the next hour of a thousand collectors with a few statements, and looks at none of them alone', async () => {
  const outbox = opened()
  const planner = new HourPlanner(outbox)
  const thousand = Array.from({ length: 1_000 }, (_, index) => `p${index}/c`)
  const planAt = (current: Hour) => {
    return Promise.all(plansOf(thousand, current).map(plan => planner.plan(plan)))
  }
  await planAt(anHour)
  const adding = vi.spyOn(outbox.nextHours, 'add')
  const alone = vi.spyOn(outbox.expectedHours, 'expect')
  await planAt(hourAfter(anHour, 1))
  expect(adding.mock.calls.length).toBeLessThanOrEqual(4)
  expect(alone).not.toHaveBeenCalled()
  expect(outbox.expectedHours.between(hourAfter(anHour, 1), hourAfter(anHour, 1))).toHaveLength(1_000)
})

it('tells each of them when nothing can be written', async () => {
  const outbox = opened()
  const planner = new HourPlanner(outbox)
  const full = new Fault('disk-full', 'no room')
  outbox.writer.commit = () => Promise.reject(full)
  const ends = await Promise.allSettled(plansOf(ids, anHour).map(plan => planner.plan(plan)))
  expect(ends.map(end => end.status === 'rejected' && end.reason)).toEqual(ids.map(() => full))
})

it('writes the hours of years in commits of bounded size', async () => {
  const outbox = opened()
  const expecting = vi.spyOn(outbox.expectedHours, 'expect')
  const years = 2 * 365 * 24
  for (const current of [anHour, hourAfter(anHour, years)]) {
    await Promise.all(plansOf(['vault/a'], current).map(plan => outbox.intake.planHours(plan)))
  }
  const sizes = expecting.mock.calls.map(([, hours]) => hours.length)
  expect(Math.max(...sizes)).toBe(commitRowsMax)
  expect(sizes.reduce((a, b) => a + b)).toBe(years + 1)
})
