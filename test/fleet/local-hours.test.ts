import { expect, it } from 'vitest'
import { LocalHours } from '../../src/fleet/fleet-intake-store.ts'
import { Fault } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { LocalOutcomes } from '../../src/outbox/local-outcomes.ts'
import { collector } from '../outbox/contract/steps.ts'
import { temporaryFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { anHour, metrics } from '../support/metrics.ts'

it('reads a value that is there only now once, however often its hour is planned while the database is away', async () => {
  const away = new Fault('database-unreachable', 'the database cannot be reached')
  const isAway = async () => Promise.reject(away)
  const warned: unknown[] = []
  const log = Object.assign(Object.create(silentLog), { warn: (facts: unknown) => warned.push(facts) })
  const local = new LocalHours({
    intake: { record: isAway, pasts: isAway },
    store: { isDue: isAway, nowMs: isAway },
    health: { explain: error => error },
    outcomes: new LocalOutcomes(temporaryFolder()),
    works: () => true,
    log,
  })
  const plan = { collector, current: anHour, oldest: anHour } as never
  const due = () => local.dueHours({ collectors: [collector], current: anHour } as never, [])
  local.expect(plan)
  expect(await due()).toMatchObject([{ collector, hour: anHour }])
  const outcome = {
    collector,
    hour: anHour,
    acceptedValues: metrics(1).map(metric => ({ metric })),
    provenance: [],
  } as never
  await local.keep(outcome, new Fault('hour-taken-over', 'another daemon has it'))
  expect(warned).toMatchObject([{ fault: expect.stringContaining('cannot be reached') }])
  local.expect(plan)
  expect(await due()).toEqual([])
})

it('counts hours and collectors of what waits', () => {
  const outcomes = new LocalOutcomes(temporaryFolder())
  expect(outcomes.counts).toEqual({ hours: 0, collectors: 0 })
  for (const [id, hour] of [
    ['tide/a', anHour],
    ['tide/b', anHour],
    ['tide/a', hourAfter(anHour, 1)],
    ['tide/b', anHour],
  ] as const)
    outcomes.keep({ collector: id, hour, acceptedValues: [] })
  expect(outcomes.counts).toEqual({ hours: 2, collectors: 2 })
})
