import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type BacklogWait, Backpressure, type StuckBacklog } from '../../src/intake/backfill/backfill.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { expectHours } from '../support/stored-hours.ts'
import { VirtualTime } from '../support/virtual-time.ts'

/** Metrics that are due of some protocols, and a backfill that collects for some. */
async function stage(due: Readonly<Record<string, number>>, protocolIds: readonly string[]) {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  await expectHours(outbox, 'any/c', anHour)
  for (const [protocolId, count] of Object.entries(due)) {
    const accepted = metrics(count, anHour, protocolId).map(metric => ({ metric }))
    await outbox.intake.record({ collector: 'any/c', hour: anHour, acceptedValues: accepted }, 1)
  }
  const time = new VirtualTime(anHour)
  const [waits, leaves]: [BacklogWait[], StuckBacklog[]] = [[], []]
  const stopping = new AbortController()
  const room = new Backpressure({
    outbox,
    protocolIds,
    dueMax: 5,
    time,
    signal: stopping.signal,
    report: news => {
      if (news.kind === 'waits') waits.push(news.wait)
      else leaves.push(news.stuck)
    },
  })
  const deliver = (protocolId: string, count: number) =>
    outbox.delivery.recordVerdicts({ delivered: metrics(count, anHour, protocolId), dead: [], warnings: [] }, 2)
  return { outbox, time, room, waits, leaves, deliver, stopping }
}

describe('a backfill’s room', () => {
  it('is not taken by what is due of protocols it does not collect for, configured or not', async () => {
    const { room, waits } = await stage({ gone: 50, other: 50 }, ['pool'])
    await room.wait()
    expect(waits).toEqual([])
  })

  it('is waited for while its own protocol is not delivered, with the reason as far as it is known', async () => {
    const { room, time, waits, leaves, deliver, outbox } = await stage({ pool: 9 }, ['pool'])
    const waiting = room.wait()
    await time.sleep(61_500)
    await outbox.delivery.saveDestination('default', {
      notBeforeMs: 0,
      probeAtMs: 0,
      failures: 1,
      waiting: 'the key is refused',
    })
    deliver('pool', 2)
    await time.sleep(60_000)
    deliver('pool', 9)
    await waiting
    expect(waits.map(({ reasons, isMoving }) => ({ reasons, isMoving }))).toEqual([
      { reasons: [], isMoving: false },
      { reasons: [], isMoving: false },
      { reasons: ['the key is refused'], isMoving: true },
    ])
    expect(leaves).toEqual([])
  })

  it('is not taken by a protocol that the service refuses, while another one has room', async () => {
    const { room, time, leaves, deliver, outbox } = await stage({ refused: 50, pool: 3 }, ['refused', 'pool'])
    await outbox.delivery.saveDestination('default', {
      notBeforeMs: 0,
      probeAtMs: 0,
      failures: 0,
      waiting: 'it is not registered',
    })
    const startMs = time.nowMs()
    await room.wait()
    expect(time.nowMs() - startMs).toBe(60_000)
    expect(leaves).toEqual([{ protocolId: 'refused', due: 50, reasons: ['it is not registered'] }])
    await room.wait()
    expect(time.nowMs() - startMs, 'it is waited for once').toBe(60_000)
    deliver('refused', 1)
    const again = room.wait()
    await time.sleep(10_000)
    deliver('refused', 50)
    await again
    expect(time.nowMs() - startMs, 'what is delivered again counts again').toBeGreaterThanOrEqual(70_000)
    expect(leaves).toHaveLength(1)
  })

  it('is waited for, however long, while nothing of anybody is delivered', async () => {
    const { room, time, leaves, stopping } = await stage({ one: 50, two: 50 }, ['one', 'two'])
    const waiting = room.wait()
    await time.sleep(3_600_000)
    expect(leaves).toEqual([])
    stopping.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })
})
