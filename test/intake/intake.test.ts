import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ChainReader } from '../../src/chain/reads.ts'
import type { CollectorConfig } from '../../src/config/config.ts'
import { Intake } from '../../src/intake/intake.ts'
import { Fault } from '../../src/model/fault.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { rowsBetween } from '../../src/outbox/store/hours.ts'
import type { Log } from '../../src/telemetry/log.ts'
import {
  collector,
  confirmed,
  one,
  pipelineOn,
  type Script,
  type Scripted,
  ScriptedRunner,
} from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { anHour } from '../support/metrics.ts'
import { addCollectorNow, atOnce, expectHours, markFailed } from '../support/stored-hours.ts'
import { untilTrue } from '../support/until-true.ts'
import { VirtualTime } from '../support/virtual-time.ts'
import { linesOf } from './support/lines.ts'

const minuteMs = 60_000

interface Stage {
  readonly outbox: SqliteOutbox
  readonly runner: ScriptedRunner
  /** Lets the intake run from an instant to another, in no time; it is stopped then. */
  run(fromMs: number, toMs: number): Promise<void>
  rows(): [collector: string, hour: string, state: string][]
}

function stage(
  collectors: readonly CollectorConfig[],
  scripts: Record<string, Scripted>,
  chains: readonly ChainReader[] = [],
  log: Log = silentLog,
): Stage {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  const runner = new ScriptedRunner(scripts)
  return {
    outbox,
    runner,
    async run(fromMs, toMs) {
      const time = new VirtualTime(fromMs)
      time.stopAt(toMs)
      const intake = new Intake({
        outbox,
        pipeline: pipelineOn(runner, time, { chains, log }),
        clock: confirmed(time),
        collectors,
        chains,
        catchUpMs: 7 * 24 * 60 * minuteMs,
        time,
        log: silentLog,
      })
      await time.sleep(toMs - fromMs)
      await intake.stop()
    },
    rows: () =>
      atOnce(outbox, () => rowsBetween(hourAfter(anHour, -1000), hourAfter(anHour, 1000))).map(
        ({ collector, hour, state }) => [collector, hourText(hour), state],
      ),
  }
}

describe('intake', () => {
  it('collects the current hour at once, then each full hour', async () => {
    const { runner, run, outbox } = stage([collector('a')], { 'vault/a': { script: one, history: true } })
    await run(anHour + 42 * minuteMs, anHour + 190 * minuteMs)
    expect(runner.asked.map(({ hour }) => hourText(hour))).toEqual([
      '2026-11-20T13:00:00Z',
      '2026-11-20T14:00:00Z',
      '2026-11-20T15:00:00Z',
      '2026-11-20T16:00:00Z',
    ])
    expect((await outbox.delivery.backlog()).balance.due).toBe(4)
  })

  it('catches up missed hours after downtime, newest first, once each', async () => {
    const { runner, run } = stage([collector('a')], { 'vault/a': { script: one, history: true } })
    await run(anHour, anHour + minuteMs)
    await run(hourAfter(anHour, 10), hourAfter(anHour, 10) + minuteMs)
    const offsets = runner.asked.map(({ hour }) => (hour - anHour) / 3_600_000)
    expect(offsets.slice(0, 2)).toEqual([0, 10])
    expect(new Set(offsets).size).toBe(11)
    expect(offsets).toHaveLength(11)
  })

  it('misses the hours of an outage though a backfill has brought later ones, and makes gaps of those that are too old', async () => {
    const { run, rows, outbox } = stage([collector('a')], { 'vault/a': { script: one, history: true } })
    await run(anHour, anHour + minuteMs)
    const [days, recent] = [24, hourAfter(anHour, 10 * 24 - 2)]
    const backfilled = { collector: 'vault/a', hour: recent, acceptedValues: [], unexpected: true, pins: [] }
    await outbox.intake.record(backfilled, recent)
    await run(hourAfter(anHour, 10 * days), hourAfter(anHour, 10 * days) + 5 * minuteMs)
    const states = rows().map(([, , state]) => state)
    expect(states).toHaveLength(10 * days + 1)
    expect(states.filter(state => state === 'gap')).toHaveLength(3 * days - 1)
    expect(states.filter(state => state === 'due')).toEqual([])
  })

  it('makes a gap of a past hour whose state no endpoint has, after some tries, but not of the current one', async () => {
    const pruned: Script = () => new Fault('chain-state-missing', 'no endpoint has the state of that block any more')
    const { run, rows, outbox } = stage([collector('a')], { 'vault/a': { script: pruned, history: true } })
    await run(anHour, anHour + 59 * minuteMs)
    expect(rows().map(([, , state]) => state)).toEqual(['due'])
    await run(hourAfter(anHour, 1), hourAfter(anHour, 1) + 59 * minuteMs)
    expect(rows().map(([, , state]) => state)).toEqual(['gap', 'due'])
    expect((await outbox.operators.hourRanges('gap')).map(({ fault }) => fault?.code)).toEqual(['chain-state-missing'])
  })

  it('makes no gap of an hour that failed for other reasons and then once for its state', async () => {
    const passing: Script = (_, attempt) =>
      attempt === 5
        ? new Fault('chain-state-missing', 'no state')
        : attempt > 5
          ? one(anHour, attempt)
          : new Fault('chain-unreachable', 'down')
    const { run, rows } = stage([collector('a')], { 'vault/a': { script: passing, history: true } })
    await run(anHour, anHour + 30_000)
    await run(hourAfter(anHour, 1), hourAfter(anHour, 1) + 59 * minuteMs)
    expect(rows().map(([, , state]) => state)).toEqual(['collected', 'collected'])
  })

  it('starts where the configuration says, for a collector that can read the past', async () => {
    const since = hourAfter(anHour, -5)
    const collectors = [collector('a', { since }), collector('now', { since })]
    const { run, rows } = stage(collectors, {
      'vault/a': { script: one, history: true },
      'vault/now': { script: one, history: false },
    })
    await run(anHour, anHour + minuteMs)
    expect(rows().filter(([id]) => id === 'vault/a')).toHaveLength(6)
    expect(rows().filter(([id]) => id === 'vault/now')).toEqual([['vault/now', '2026-11-20T13:00:00Z', 'collected']])
  })

  it('expects all hours since the one the configuration says: those too old to be caught up are gaps, also when it is moved back', async () => {
    const daysAgo = (days: number) => hourAfter(anHour, -24 * days)
    const states = (each: Stage) => Map.groupBy(each.rows(), ([, , state]) => state)
    const first = stage([collector('a', { since: daysAgo(10) })], { 'vault/a': { script: one, history: true } })
    await first.run(anHour, anHour + 5 * minuteMs)
    expect([...states(first)].map(([state, rows]) => [state, rows.length])).toEqual([
      ['gap', 3 * 24],
      ['collected', 7 * 24 + 1],
    ])
    const moved = stage([collector('a', { since: daysAgo(1) })], { 'vault/a': { script: one, history: true } })
    await moved.run(anHour, anHour + 2 * minuteMs)
    addCollectorNow(moved.outbox, 'vault/a', daysAgo(9))
    await moved.run(hourAfter(anHour, 1), hourAfter(anHour, 1) + 5 * minuteMs)
    expect(states(moved).get('gap')).toHaveLength(2 * 24 + 1)
    expect(states(moved).get('collected')).toHaveLength(7 * 24 + 1)
  })

  it('expects nothing before the hour the configuration says, also when that is yet to come', async () => {
    const { run, rows } = stage([collector('a', { since: hourAfter(anHour, 2) })], {
      'vault/a': { script: one, history: true },
    })
    await run(anHour, anHour + 190 * minuteMs)
    expect(rows().map(([, hour]) => hour)).toEqual(['2026-11-20T15:00:00Z', '2026-11-20T16:00:00Z'])
  })

  it('makes gaps of missed hours that cannot be read any more, and never asks for them', async () => {
    const { runner, run, rows } = stage([collector('now')], { 'vault/now': { script: one, history: false } })
    await run(anHour, anHour + minuteMs)
    await run(hourAfter(anHour, 3), hourAfter(anHour, 3) + minuteMs)
    expect(rows().map(([, , state]) => state)).toEqual(['collected', 'gap', 'gap', 'collected'])
    expect(runner.asked.map(({ hour }) => (hour - anHour) / 3_600_000)).toEqual([0, 3])
  })

  it('lists hours beyond the horizon as gaps', async () => {
    const { run, rows } = stage([collector('a')], { 'vault/a': { script: one, history: true } })
    await run(anHour, anHour + minuteMs)
    await run(hourAfter(anHour, 200), hourAfter(anHour, 200) + minuteMs)
    const states = rows().map(([, , state]) => state)
    expect(states.filter(state => state === 'gap')).toHaveLength(200 - 168 - 1)
    expect(states.filter(state => state === 'collected')).toHaveLength(170)
  })

  it('tries a failed hour again until it is there', async () => {
    const failsTwice: Script = (hour, attempt) =>
      attempt < 3 ? new Fault('chain-unreachable', 'no') : one(hour, attempt)
    const { runner, run, rows } = stage([collector('a')], { 'vault/a': { script: failsTwice, history: true } })
    await run(anHour, anHour + 59 * minuteMs)
    expect(runner.asked).toHaveLength(3)
    expect(rows()).toEqual([['vault/a', '2026-11-20T13:00:00Z', 'collected']])
  })

  it('tries a failed hour at once when something was mended and after a start, also one that is under way then', async () => {
    let pending = Promise.resolve()
    const script: Script = async () => {
      await pending
      return new Fault('secret-missing', 'no file')
    }
    const { runner, outbox } = stage([collector('a')], { 'vault/a': { script, history: true } })
    const time = new VirtualTime(anHour)
    const end = anHour + 5 * minuteMs
    time.stopAt(end)
    const parts = { outbox, pipeline: pipelineOn(runner, time), collectors: [collector('a')], chains: [] }
    const start = () => new Intake({ ...parts, clock: confirmed(time), catchUpMs: minuteMs, time, log: silentLog })
    const attempts = async () => (await outbox.status.reasons(anHour, anHour, 1)).failed[0]?.attempts ?? 0
    const untilFailed = (count: number) => untilTrue(async () => (await attempts()) === count)

    const first = start()
    await untilTrue(() => time.nowMs() === end)
    const before = await attempts()
    expect(await outbox.intake.nextAttemptMs(end), 'it waits').toBeGreaterThan(end)
    // The time stands still from here on.
    first.retry()
    await untilFailed(before + 1)
    await first.stop()
    const { promise, resolve } = Promise.withResolvers<void>()
    pending = promise
    const second = start()
    onTestFinished(() => second.stop())
    await untilTrue(() => runner.asked.length === before + 2)
    second.retry()
    resolve()
    await untilFailed(before + 3)
    expect(await outbox.intake.nextAttemptMs(end), 'and no longer than that').toBeGreaterThan(end)
  })

  it('keeps the labels that have a value when another fails, and tries the other again', async () => {
    const halfFirst: Script = (_, attempt) =>
      attempt === 1
        ? {
            readings: { TVL: 7 },
            failures: { Price: { code: 'chain-call-reverted', message: 'reverted', facts: {} } },
            pins: [],
          }
        : { readings: { TVL: 7, Price: 3 }, failures: {}, pins: [] }
    const metrics = { TVL: { unit: 'USD' }, Price: { unit: 'USD' } }
    const { run, outbox, rows } = stage([collector('a')], { 'vault/a': { script: halfFirst, history: true, metrics } })
    await run(anHour, anHour + 59 * minuteMs)
    expect((await outbox.operators.metrics(anHour, anHour)).map(({ id, value }) => [id, value])).toEqual([
      ['vault___TVL', 7],
      ['vault___Price', 3],
    ])
    expect(rows()[0]?.[2]).toBe('collected')
  })

  it('lets a collector that never answers hold up no other, this hour nor the next', async () => {
    const never: Script = () => new Promise(() => {})
    const { runner, run } = stage([collector('stuck'), collector('fine')], {
      'vault/stuck': { script: never, history: true },
      'vault/fine': { script: one, history: true },
    })
    // A run that never ends would keep stop() waiting: the real runner ends it, this one has no threads.
    void run(anHour, anHour + 200 * minuteMs)
    while (runner.asked.filter(({ id }) => id === 'vault/fine').length < 4) await new Promise(setImmediate)
    const hours = runner.asked.filter(({ id }) => id === 'vault/fine').map(({ hour }) => (hour - anHour) / 3_600_000)
    expect(hours).toEqual([0, 1, 2, 3])
  })

  it('lets a collector whose file hangs while it is loaded delay no other', async () => {
    const { runner, run } = stage([collector('stuck'), collector('fine')], {
      'vault/stuck': { script: one, history: true },
      'vault/fine': { script: one, history: true },
    })
    const describe = runner.describe.bind(runner)
    runner.describe = config => (config.id === 'vault/stuck' ? new Promise(() => {}) : describe(config))
    void run(anHour, anHour + 61 * minuteMs)
    while (runner.asked.length < 2) await new Promise(setImmediate)
    expect(runner.asked.map(({ id, hour }) => [id, hour])).toEqual([
      ['vault/fine', anHour],
      ['vault/fine', hourAfter(anHour, 1)],
    ])
  })

  it('holds a value outside its declared bounds', async () => {
    const negative: Script = () => ({ readings: { TVL: -1 }, failures: {}, pins: [] })
    const { run, outbox } = stage([collector('a')], { 'vault/a': { script: negative, history: true } })
    await run(anHour, anHour + minuteMs)
    expect((await outbox.delivery.backlog()).balance).toMatchObject({ held: 1, due: 0 })
  })

  it('logs a value that is held once, however often the rest of its hour is tried', async () => {
    const reverted = { code: 'chain-call-reverted', message: 'reverted', facts: {} } as const
    const halfHeld: Script = () => ({ readings: { TVL: -1 }, failures: { Price: reverted }, pins: [] })
    const metrics = { TVL: { min: 0 }, Price: {} }
    const lines: string[] = []
    const scripts = { 'vault/a': { script: halfHeld, history: true, metrics } }
    const { runner, run } = stage([collector('a')], scripts, [], linesOf(lines))
    await run(anHour, anHour + 30 * minuteMs)
    expect(runner.asked.length).toBeGreaterThan(2)
    expect(lines.filter(line => line.startsWith('metric held'))).toHaveLength(1)
  })

  it('waits for a chain without a block past the hour, in short steps', async () => {
    const lateChain: Script = (hour, attempt) =>
      attempt < 4 ? new Fault('chain-behind', 'no block yet') : one(hour, attempt)
    const { run, rows } = stage([collector('a')], { 'vault/a': { script: lateChain, history: true } })
    await run(anHour, anHour + minuteMs)
    expect(rows()).toEqual([['vault/a', '2026-11-20T13:00:00Z', 'collected']])
  })

  it('starts nothing while the disk is full, and misses nothing when there is room again', async () => {
    const { runner, run, outbox, rows } = stage([collector('a')], { 'vault/a': { script: one, history: true } })
    await run(anHour, anHour + minuteMs)
    let isFull = true
    Object.defineProperty(outbox.disk, 'isFull', { get: () => isFull })
    await run(hourAfter(anHour, 1), hourAfter(anHour, 3))
    expect(runner.asked).toHaveLength(1)
    isFull = false
    await run(hourAfter(anHour, 3), hourAfter(anHour, 3) + minuteMs)
    expect(rows().map(([, , state]) => state)).toEqual(['collected', 'collected', 'collected', 'collected'])
  })

  it('collects again what was lost with a damaged outbox, or makes a gap that says so', async () => {
    const { run, outbox } = stage([collector('a'), collector('now')], {
      'vault/a': { script: one, history: true },
      'vault/now': { script: one, history: false },
    })
    const lost = hourAfter(anHour, -2)
    for (const id of ['vault/a', 'vault/now']) {
      await expectHours(outbox, id, lost)
      await markFailed(outbox, id, lost, new Fault('hour-lost', 'lost in a damaged outbox'), 0)
    }
    await run(anHour, anHour + minuteMs)
    expect(atOnce(outbox, () => rowsBetween(lost, lost))).toMatchObject([
      { collector: 'vault/a', state: 'collected' },
      { collector: 'vault/now', state: 'gap', fault: { code: 'hour-lost' } },
    ])
  })
})
