import { describe, expect, it } from 'vitest'
import { overdueMs } from '../../src/model/limits.ts'
import {
  type ReadinessCause,
  type ReadinessFacts,
  type ReadinessState,
  readinessCauses,
  readinessState,
} from '../../src/status/readiness.ts'

/** A daemon that runs for long, and of which all is well. */
const well: ReadinessFacts = {
  runningMs: overdueMs,
  isConfigRefused: false,
  isClockWrong: false,
  isClockDoubted: false,
  isDiskFull: false,
  isLocked: false,
  keptLocally: 0,
  fleetTroubles: 0,
  idleLanes: 0,
  failed: 0,
  untried: 0,
  unplanned: 0,
  gaps: 0,
  undelivered: 0,
  isDeliveryWaiting: false,
  dead: 0,
  held: 0,
  isStrict: false,
}
const starting: ReadinessFacts = { ...well, runningMs: overdueMs - 1 }
const seen = (facts: ReadinessFacts) => {
  const { state, causes, warnings } = readinessState(facts)
  return { state, causes: [...causes], ...(warnings.size > 0 && { warnings: [...warnings] }) }
}

/** A fact, the cause that it is while the daemon runs for long, and the one right after a start; none where it is well. */
const table: readonly [fact: Partial<ReadinessFacts>, later: ReadinessCause | '', atStart: ReadinessCause | ''][] = [
  [{ isConfigRefused: true }, 'config-refused', 'config-refused'],
  [{ isClockWrong: true }, 'clock-wrong', 'clock-wrong'],
  [{ isClockWrong: true, isClockDoubted: true, unplanned: 3 }, 'clock-wrong', 'clock-wrong'],
  [{ isClockDoubted: true, unplanned: 3 }, '', ''],
  [{ isDiskFull: true }, 'disk-full', 'disk-full'],
  [{ isDiskFull: true, unplanned: 3 }, 'disk-full', 'disk-full'],
  [{ isLocked: true }, 'locked', 'locked'],
  [{ keptLocally: 1 }, 'kept-locally', 'kept-locally'],
  [{ fleetTroubles: 1 }, 'fleet-stuck', 'fleet-stuck'],
  [{ idleLanes: 1 }, 'no-daemon', ''],
  [{ failed: 1 }, 'not-collected', 'not-collected'],
  [{ untried: 1 }, 'not-collected', ''],
  [{ failed: 1, untried: 1 }, 'not-collected', 'not-collected'],
  [{ unplanned: 1 }, 'not-planned', ''],
  [{ gaps: 1 }, 'gap', 'gap'],
  [{ undelivered: 1 }, 'not-delivered', ''],
  [{ undelivered: 1, isDeliveryWaiting: true }, 'not-delivered', 'not-delivered'],
  [{ isDeliveryWaiting: true }, '', ''],
  [{ dead: 1, isStrict: true }, 'dead', 'dead'],
  [{ held: 1, isStrict: true }, 'held', 'held'],
]

describe('the state of a daemon', () => {
  it.each(table)('with %j is decided by that alone', (fact, later, atStart) => {
    const expected = (cause: ReadinessCause | '', otherwise: ReadinessState) =>
      cause === '' ? { state: otherwise, causes: [] } : { state: 'not-ready', causes: [cause] }
    expect(seen({ ...well, ...fact })).toEqual(expected(later, 'ready'))
    expect(seen({ ...starting, ...fact })).toEqual(expected(atStart, 'starting'))
  })

  it.each([
    [{ dead: 4 }, ['dead']],
    [{ held: 2 }, ['held']],
    [{ dead: 1, held: 7 }, ['dead', 'held']],
  ] as const)('with %j waits for a person: a warning, and nothing is late', (fact, warnings) => {
    expect(seen({ ...well, ...fact })).toEqual({ state: 'ready', causes: [], warnings })
    expect(seen({ ...well, ...fact, gaps: 1 })).toEqual({ state: 'not-ready', causes: ['gap'], warnings })
  })

  it.each([
    ['a start', starting, { runningMs: overdueMs }, 'starting', 'ready'],
    ['a start with hours to catch up', { ...starting, untried: 9 }, { untried: 0 }, 'starting', 'starting'],
    ['a catch-up that takes long', { ...starting, untried: 9 }, { runningMs: overdueMs }, 'starting', 'not-ready'],
    ['a catch-up that fails', { ...starting, untried: 9 }, { failed: 1, untried: 8 }, 'starting', 'not-ready'],
    ['a first push that fails', { ...starting, undelivered: 4 }, { isDeliveryWaiting: true }, 'starting', 'not-ready'],
    ['an outage', well, { undelivered: 4, isDeliveryWaiting: true }, 'ready', 'not-ready'],
    ['its end', { ...well, undelivered: 4 }, { undelivered: 0 }, 'not-ready', 'ready'],
    [
      'one trouble of two that ends',
      { ...well, undelivered: 1, failed: 1 },
      { undelivered: 0 },
      'not-ready',
      'not-ready',
    ],
    ['a reload, which starts again', { ...well, untried: 2 }, { runningMs: 0 }, 'not-ready', 'starting'],
    ['a reload in an outage', { ...well, failed: 1 }, { runningMs: 0 }, 'not-ready', 'not-ready'],
  ] as const)('goes on by %s', (_, before, change, from, to) => {
    expect(seen(before).state).toBe(from)
    expect(seen({ ...before, ...change }).state).toBe(to)
  })

  it('has each cause, in the order in which reasons are shown', () => {
    const all: ReadinessFacts = Object.assign({}, well, ...table.map(([fact]) => fact))
    const { causes } = seen({ ...all, isClockDoubted: false })
    expect(causes).toEqual(readinessCauses.filter(cause => cause !== 'not-planned'))
    expect(seen({ ...all, isClockDoubted: false, isDiskFull: false }).causes).toContain('not-planned')
  })
})
