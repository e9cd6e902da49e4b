import { expect, it, onTestFinished, vi } from 'vitest'
import { fleetReporting } from '../../src/app/fleet-member.ts'
import { hourMs } from '../../src/model/limits.ts'
import type { Lateness } from '../../src/outbox/contract/status-store.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { MemoryReports } from '../reports/support/memory-reports.ts'
import { silentLog } from '../support/log.ts'
import { anHour } from '../support/metrics.ts'
import { receiver } from '../support/receiver.ts'
import { untilTrue } from '../support/until-true.ts'
import { VirtualTime } from '../support/virtual-time.ts'

const lateness: Lateness = { late: [], missing: [], gaps: [], deadAndHeld: { dead: 0, held: 0 }, destinations: [] }

/** Members of a fleet with a heartbeat, each while the test gives it the role. */
async function stage() {
  const time = new VirtualTime(anHour)
  time.stopAt(anHour + 10_000)
  const { url, posts } = await receiver()
  vi.stubEnv('TIDEGAUGE_TEST_HEARTBEAT', `${url}/check`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const reports = new MemoryReports()
  const member = async () => {
    const role = { isOwned: true, asked: 0 }
    const asked = () => {
      role.asked += 1
      return role
    }
    const config = {
      heartbeat: { url: { kind: 'env', name: 'TIDEGAUGE_TEST_HEARTBEAT' } },
      notify: [],
      protocols: [],
      status: { ready: 'late' },
    }
    const context = { config, time, log: silentLog, redactor: new Redactor() }
    const health = { recover: () => 'other', fullSentence: undefined, lockedSentence: () => undefined }
    const outbox = { reports, status: { lateness: async () => lateness }, health }
    const configuration = { file: 'tidegauge.yaml', inForceSinceMs: anHour }
    const observed = { config, configuration, outbox, destinations: [], startedAtMs: anHour, host: 'm.example.com' }
    const now = () => ({ ...observed, nowMs: time.nowMs() })
    const end = await fleetReporting({ context, outbox, now } as never, asked).begin([])
    onTestFinished(end)
    return { role, end }
  }
  const sent = () => posts.map(({ path, body }) => `${path} ${body.slice(11, 13)}`)
  const stored = (hour: number) =>
    untilTrue(() => {
      const beat = JSON.parse(reports.states.get('heartbeat') ?? '{}')
      return beat.hour === hour && beat.phase === 'ended'
    })
  return { time, member, sent, stored, reports }
}

it('the next member goes on where the one before stopped, and repeats nothing', async () => {
  const { time, member, sent, stored } = await stage()
  const first = await member()
  await stored(anHour)
  await first.end()
  time.stopAt(anHour + hourMs + 10_000)
  await member()
  await stored(anHour + hourMs)
  expect(sent()).toEqual(['/check/start 13', '/check 13', '/check/start 14', '/check 14'])
})

it('a member that was paused and lost its role sends and stores nothing when it wakes', async () => {
  const { time, member, sent, stored, reports } = await stage()
  const { role, end } = await member()
  await stored(anHour)
  role.isOwned = false
  const before = new Map(reports.states)
  time.stopAt(anHour + hourMs + 10_000)
  void time.sleep(0)
  const { asked } = role
  await untilTrue(() => time.nowMs() === anHour + hourMs + 10_000 && role.asked > asked)
  await end()
  expect(reports.states).toEqual(before)
  expect(sent()).toEqual(['/check/start 13', '/check 13'])
})
