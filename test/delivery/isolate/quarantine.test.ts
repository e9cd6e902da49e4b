import { expect, it } from 'vitest'
import { Quarantine } from '../../../src/delivery/isolate/quarantine.ts'
import { QuarantineProbes } from '../../../src/delivery/plan.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { quarantineCapMs } from '../../../src/model/limits.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

const startMs = anHour

it('a protocol is in quarantine as a whole after three of its metrics, whatever became of others', () => {
  const quarantine = new Quarantine()
  const [a, b, c, ...rest] = metrics(5)
  const [other] = metrics(1, anHour, 'other')
  if (!a || !b || !c || !other) throw new Error('metrics')
  const add = (metric: typeof a) => quarantine.addMetric(metric, '500', startMs, 0.5)
  expect([add(a), add(a), add(other), add(b)]).toEqual([false, false, false, false])
  expect(add(c)).toBe(true)
  quarantine.delivered([a])
  expect(rest.map(add)).toEqual([false, false])
})

it('what is in quarantine is tried with a tenth of the pace, one a flush, however much of it is ready', async () => {
  const time = new VirtualTime(startMs)
  const quarantine = new Quarantine()
  const due = Array.from({ length: 40 }, (_, index) => metrics(1, anHour, `p${index}`)).flat()
  for (const { protocolId } of due) quarantine.addProtocol(protocolId, anHour, 'bad', startMs - quarantineCapMs, 0)
  const protocolIds: readonly string[] = due.map(({ protocolId }) => protocolId)
  const probes = new QuarantineProbes(quarantine, time, 200)
  const read = async (_: number, ids = protocolIds) => due.filter(one => ids.includes(one.protocolId))
  const flush = () => probes.of({ isAsked: false, protocolIds, newestFirstFrom: anHour, due: read })
  let tried = 0
  for (let looks = 0; looks < 600; looks += 1) {
    const next = flush()
    while (await next()) tried += 1
    await time.sleep(100)
  }
  // A minute at five pushes a second is three hundred.
  expect(tried).toBe(30)
})

it('a metric id that fails for some hours is tried with another one, and newer hours are free then', () => {
  const quarantine = new Quarantine()
  const [d, a, b, c, e] = [0, 1, 2, 3, 4].flatMap(hours => metrics(1, hourAfter(anHour, hours)))
  if (!a || !b || !c || !d || !e) throw new Error('metrics')
  quarantine.addMetric(a, '500', startMs, 1)
  quarantine.addMetric(b, '500', startMs, 1)
  expect(quarantine.sendStateOf(c, startMs + 1, false)).toBe('alone')
  quarantine.addMetric(c, '500', startMs, 1)
  expect(quarantine.hasMetric(c)).toBe(false)
  expect(quarantine.sendStateOf(d, startMs + 1, false)).toBe('waits')
  expect(quarantine.sendStateOf(d, startMs + quarantineCapMs, false)).toBe('alone')
  // Newer than what failed: once, at once.
  expect(quarantine.isUntried(e, startMs + 1)).toBe(true)
  expect(quarantine.sendStateOf(e, startMs + 1, false)).toBe('alone')
  quarantine.delivered([e])
  expect([d, c].map(metric => quarantine.sendStateOf(metric, startMs + 1, false))).toEqual(['waits', 'waits'])
  quarantine.delivered([d])
  expect(quarantine.sendStateOf(c, startMs + 1, false)).toBe('free')
  expect(quarantine.sendStateOf(a, startMs + 1, false)).toBe('waits')
})
