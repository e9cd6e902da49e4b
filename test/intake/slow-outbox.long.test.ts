import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { Intake } from '../../src/intake/intake.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import type { IntakeOutbox } from '../../src/outbox/contract/outbox.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { portWith, slowOutbox } from '../outbox/support/slow-outbox.ts'
import { collector, confirmed, one, pipelineOn, type Script, ScriptedRunner } from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { anHour } from '../support/metrics.ts'
import { repetitions } from '../support/soak.ts'
import { rowsBetween } from '../support/stored-hours.ts'
import { VirtualTime } from '../support/virtual-time.ts'

function opened(): SqliteOutbox {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  return outbox
}

const names = ['a', 'b', 'c']

function intakeOn(outbox: IntakeOutbox, script: Script, time: VirtualTime) {
  const runner = new ScriptedRunner(Object.fromEntries(names.map(name => [`vault/${name}`, { script, history: true }])))
  const collectors = names.map(name => collector(name))
  const options = {
    outbox,
    pipeline: pipelineOn(runner, time),
    clock: confirmed(time),
    collectors,
    chains: [],
    catchUpMs: 24 * hourMs,
    time,
    log: silentLog,
  }
  return { runner, intake: new Intake(options) }
}

const seeds = Array.from({ length: repetitions({ test: 1, soak: 8 }) }, (_, index) => index + 1)

describe('while the outbox takes its time,', () => {
  it('an hour that is recorded while the due hours are read is not collected again', async () => {
    const outbox = opened()
    const [finished, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let [looks, records] = [0, 0]
    const recorded = Promise.withResolvers<void>()
    const intakeStore = portWith(outbox.intake, {
      async dueHours(wanted) {
        const due = await outbox.intake.dueHours(wanted)
        looks += due.length === names.length ? 1 : 0
        if (looks !== 2) return due
        looked.resolve()
        await recorded.promise
        // The run has left the hours under way by then.
        await new Promise(setImmediate)
        return due
      },
      async record(outcome, nowMs) {
        const result = await outbox.intake.record(outcome, nowMs)
        records += 1
        if (records === names.length) recorded.resolve()
        return result
      },
    })
    const script: Script = async (hour, attempt) => {
      await finished.promise
      return one(hour, attempt)
    }
    const time = new VirtualTime(anHour)
    time.stopAt(anHour + hourMs / 2)
    const { intake, runner } = intakeOn({ intake: intakeStore, health: outbox.health }, script, time)
    await looked.promise
    finished.resolve()
    await recorded.promise
    await time.sleep(60_000)
    await intake.stop()
    expect(looks).toBeGreaterThanOrEqual(2)
    expect(runner.asked.map(({ id }) => id).sort()).toEqual(names.map(name => `vault/${name}`))
  })

  it.each(seeds)('every hour is collected once, outage or not (dice %d)', async seed => {
    const { roll } = dice(seed)
    const outbox = opened()
    const collected: Hour[][] = []
    for (const [from, to] of [
      [0, 5],
      [14, 16],
    ] as const) {
      const time = new VirtualTime(hourAfter(anHour, from))
      time.stopAt(hourAfter(anHour, to) + hourMs / 2)
      const slow = slowOutbox(outbox, () => time.sleep(Math.ceil(roll() * 200)))
      const { intake, runner } = intakeOn(slow, one, time)
      await time.sleep((to - from) * hourMs + hourMs / 2)
      // Requests under way have their answers, too.
      time.stopAt(hourAfter(anHour, to) + hourMs)
      await Promise.all([intake.stop(), time.sleep(1_000)])
      collected.push(runner.asked.filter(({ id }) => id === 'vault/a').map(({ hour }) => hour))
    }
    const hours = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => hourAfter(anHour, from + index))
    expect(collected.map(some => some.toSorted((a, b) => a - b))).toEqual([hours(0, 5), hours(6, 16)])
    const states = (await rowsBetween(outbox, anHour, hourAfter(anHour, 16))).map(({ state }) => state)
    expect(states).toEqual(Array.from({ length: 17 * names.length }, () => 'collected'))
  })
})
