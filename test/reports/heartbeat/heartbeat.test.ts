import { expect, it, onTestFinished, vi } from 'vitest'
import { hourAt } from '../../../src/model/hour.ts'
import { hourMs, overdueMs } from '../../../src/model/limits.ts'
import type { Lateness } from '../../../src/outbox/contract/status-store.ts'
import { Heartbeat } from '../../../src/reports/heartbeat/heartbeat.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { silentLog } from '../../support/log.ts'
import { anHour } from '../../support/metrics.ts'
import { receiver } from '../../support/receiver.ts'
import { untilTrue } from '../../support/until-true.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { MemoryReports } from '../support/memory-reports.ts'

const nothing: Lateness = { late: [], missing: [], gaps: [], deadAndHeld: { dead: 0, held: 0 }, destinations: [] }

/** Heartbeats, one after the other, whose hours take as long as the test says. */
async function stage({ status = 200 } = {}) {
  const state = { takesMs: 30_000, isDoubted: false, status }
  const time = new VirtualTime(anHour)
  const { url, posts, until } = await receiver(() => ({ status: state.status }))
  vi.stubEnv('TIDEGAUGE_TEST_HEARTBEAT', `${url}/check`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const reports = new MemoryReports()
  const begin = () => {
    const startedAtMs = time.nowMs()
    const heartbeat = new Heartbeat({
      url: { kind: 'env', name: 'TIDEGAUGE_TEST_HEARTBEAT' },
      outbox: { reports, health: { recover: () => 'other' } as never },
      hour: () => (state.isDoubted ? undefined : hourAt(time.nowMs())),
      look: async hour => {
        const nowMs = time.nowMs()
        const isOpen = nowMs - hour < state.takesMs
        const lateness = isOpen ? { ...nothing, late: [{ collector: 'a/b', hours: 1, oldest: hour }] } : nothing
        return { hour, lateness, ready: { ok: !isOpen, reasons: [] }, nowMs, startedAtMs }
      },
      time,
      log: silentLog,
      redactor: new Redactor(),
    })
    onTestFinished(() => heartbeat.stop())
    return heartbeat
  }
  const seen = () => posts.map(({ path, body }) => `${path.replace('/check', '') || '/success'} ${body.slice(11, 13)}`)
  return { state, time, until, begin, seen, reports }
}

it('each hour is reported once: its start, then its result', async () => {
  const { state, until, begin, seen } = await stage()
  begin()
  await until(4)
  state.takesMs = overdueMs + 60_000
  await until(6)
  expect(seen().slice(0, 6)).toEqual(['/start 13', '/success 13', '/start 14', '/success 14', '/start 15', '/fail 15'])
})

it('a restart repeats nothing', async () => {
  const { time, until, begin, seen } = await stage()
  time.stopAt(anHour + 10_000)
  const first = begin()
  await until(1)
  await first.stop()
  time.stopAt(anHour + 50 * 60_000)
  const second = begin()
  await until(2)
  await untilTrue(() => time.nowMs() >= anHour + 40 * 60_000)
  await second.stop()
  time.stopAt(anHour + hourMs + 10_000)
  begin()
  await until(3)
  expect(seen()).toEqual(['/start 13', '/success 13', '/start 14'])
})

it('a result that was not accepted is sent after a restart', async () => {
  const { state, time, until, begin, seen } = await stage({ status: 500 })
  time.stopAt(anHour + 10 * 60_000)
  const first = begin()
  await untilTrue(() => seen().includes('/success 13'))
  await first.stop()
  const before = seen().length
  state.status = 200
  begin()
  await until(before + 1)
  expect(seen().slice(before)).toEqual(['/success 13'])
})

it('nothing is reported while the clock is not believed', async () => {
  const { state, until, begin, seen, time } = await stage()
  state.isDoubted = true
  begin()
  await untilTrue(() => time.nowMs() > anHour + 2 * hourMs)
  state.isDoubted = false
  await until(1)
  expect(Number(seen()[0]?.slice(-2))).toBeGreaterThan(14)
})
