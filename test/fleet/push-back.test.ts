import { expect, it, onTestFinished } from 'vitest'
import { PushBack } from '../../src/fleet/fleet-pacer.ts'
import type { MetricKey } from '../../src/outbox/contract/metrics.ts'
import { silentLog } from '../support/log.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { VirtualTime } from '../support/virtual-time.ts'

it('makes a metric due again whose value is another one now, at once and after the time of a push', async () => {
  const [same, corrected, gone] = metrics(3).map(metric => ({ ...metric, value: 1 }))
  if (!same || !corrected || !gone) throw new Error('three metrics')
  const resent: (readonly [ms: number, ids: readonly string[]])[] = []
  const twice = Promise.withResolvers<void>()
  const time = new VirtualTime(anHour)
  const failures: unknown[] = []
  const states = new Map([
    [same.id, { value: 1, state: 'delivered' as const }],
    [corrected.id, { value: 2, state: 'delivered' as const }],
  ])
  const operators = {
    stored: async (asked: readonly MetricKey[]) => {
      if (failures.length < 2) throw new Error('the database is away')
      return asked.map(({ id }) => states.get(id))
    },
    resend: async (asked: readonly MetricKey[]) => {
      resent.push([time.nowMs() - anHour, asked.map(({ id }) => id)])
      if (resent.length === 2) twice.resolve()
      return asked.length
    },
  }
  const failed = (error: unknown) => void failures.push(error)
  const pushBack = new PushBack({ operators, pushMsMax: 30_000, time, log: silentLog, failed })
  onTestFinished(() => pushBack.stop())
  pushBack.add([same, corrected, gone])
  await twice.promise
  expect(resent.map(([, ids]) => ids)).toEqual([[corrected.id], [corrected.id]])
  const [first, second] = resent.map(([ms]) => ms)
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(27_000)
  pushBack.add([corrected])
  await pushBack.stop()
  expect(resent, 'a stop looks once more').toHaveLength(3)
})
