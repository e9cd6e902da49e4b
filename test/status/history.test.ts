import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { metricHistory } from '../../src/status/history.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { expectHoursNow, markFailed } from '../support/stored-hours.ts'

const at = (count: number) => hourAfter(anHour, count)

function begun() {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  expectHoursNow(outbox, 'vault/c', at(-5), anHour)
  const history = (asked: string) => metricHistory({ config: { protocols: [] }, outbox, nowMs: anHour + 1 }, asked)
  return { outbox, history }
}

it('a history has each hour from the first known one on, with its value, its state and why', async () => {
  const { outbox, history } = begun()
  const record = (count: number, from: number, hold?: { kind: 'bounds'; reason: string }) =>
    outbox.intake.record(
      {
        collector: 'vault/c',
        hour: at(count),
        accepted: metrics(2, at(count))
          .slice(from)
          .map(metric => ({ metric, ...(hold && { hold }) })),
      },
      at(count),
    )
  await record(-5, 0)
  await outbox.delivery.recordVerdicts({ delivered: metrics(2, at(-5)), dead: [], warnings: [] }, anHour)
  await outbox.intake.recordGap('vault/c', at(-4), new Fault('chain-before-first-block', 'no block yet'))
  await record(-3, 1)
  await record(-2, 0, { kind: 'bounds', reason: 'it is odd' })
  await record(-1, 0)
  const corrected = metrics(1, at(-1)).map(metric => ({ metric: { ...metric, value: 5 } }))
  const again = { collector: 'vault/c', hour: at(-1), accepted: corrected, mode: 'correct' } as const
  await outbox.intake.record(again, anHour)
  await markFailed(outbox, 'vault/c', anHour, new Fault('chain-unreachable', 'no node answers'), anHour)
  expect(await history('vault___M0')).toEqual({
    id: 'vault___M0',
    label: 'M0',
    protocolId: 'vault',
    collector: 'vault/c',
    isRemoved: true,
    unit: 'USD',
    nowMs: anHour + 1,
    hours: [
      { hour: at(-5), state: 'delivered', value: 0, unit: 'USD', collectedMs: at(-5), deliveredMs: anHour },
      { hour: at(-4), state: 'gap', reason: 'no block yet' },
      { hour: at(-3), state: 'none' },
      { hour: at(-2), state: 'held', value: 0, unit: 'USD', collectedMs: at(-2), reason: 'it is odd' },
      {
        hour: at(-1),
        state: 'due',
        value: 5,
        unit: 'USD',
        collectedMs: at(-1),
        earlier: [{ value: 0, untilMs: anHour }],
      },
      { hour: anHour, state: 'due', reason: 'no node answers' },
    ],
  })
})

it('a metric without a stored value has no history', async () => {
  const { history } = begun()
  expect(await history('vault___M0')).toBeUndefined()
  expect(await history('no id')).toBeUndefined()
})
