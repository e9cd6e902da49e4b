import { describe, expect, it } from 'vitest'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { type Asker, HostLimit, hostSlotMsMax, hostWaitMsMax, RunDeadline } from '../../../src/runner/daemon/hosts.ts'
import type { RequestEnd } from '../../../src/runner/messages.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { hour } from '../setup.ts'

const startMs = Date.UTC(2026, 10, 20, 13)

interface Sent {
  readonly collector: string
  readonly hour: Hour
  readonly atMs: number
  /** Requests under way, this one included. */
  readonly underWay: number
}

/** A host with its limit, and a source behind it. */
function hostOf({
  requestsMax = 8,
  perSecondMax = 20,
  answerMs = 100,
  answer = (_sent: Sent): RequestEnd => ({ kind: 'answered' }),
}) {
  const time = new VirtualTime(startMs)
  const limit = new HostLimit({ time, hostRequestsMax: requestsMax, hostPerSecondMax: perSecondMax })
  const sent: Sent[] = []
  let underWay = 0

  const askerOf = (parts: Partial<Asker> & { readonly deadlineMs?: number }): Asker => ({
    collectorId: 'one',
    hour,
    deadline: new RunDeadline(time, parts.deadlineMs ?? 600_000),
    signal: new AbortController().signal,
    ...parts,
  })

  /** Sends a request when it is its turn. @returns how it ended */
  async function send(parts: Partial<Asker> & { readonly deadlineMs?: number } = {}): Promise<RequestEnd | string> {
    const asker = askerOf(parts)
    const turn = await asker.deadline.without(limit.take(asker))
    if (turn.kind === 'refused') return `refused for ${turn.waitMs} ms`
    underWay += 1
    const one = { collector: asker.collectorId, hour: asker.hour, atMs: time.nowMs() - startMs, underWay }
    sent.push(one)
    const how = answer(one)
    await time.sleep(answerMs)
    underWay -= 1
    turn.end(how)
    return how
  }

  return { time, limit, sent, send, askerOf }
}

const overFourAtFirst = ({ atMs, underWay }: Sent): RequestEnd => ({
  kind: atMs === 0 && underWay > 4 ? 'refused' : 'answered',
})
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work))
const inSecondFrom = (sent: readonly Sent[], fromMs: number) =>
  sent.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + 1000).length

describe('the limit of a host', () => {
  it('lets so many requests pass at a time, and a second', async () => {
    const { sent, send } = hostOf({})
    await times(100, () => send())
    expect(Math.max(...sent.map(({ underWay }) => underWay))).toBe(8)
    for (const { atMs } of sent) expect(inSecondFrom(sent, atMs)).toBeLessThanOrEqual(20)
    expect(sent.at(-1)?.atMs).toBeLessThan(6_000)
  })

  it('does not delay a few requests', async () => {
    const { sent, send } = hostOf({})
    await times(8, () => send())
    expect(sent.map(({ atMs }) => atMs)).toEqual(Array(8).fill(0))
  })

  it('is halved by a 429, counted once for requests that were under way together, and rises again', async () => {
    const { sent, send } = hostOf({ answer: overFourAtFirst })
    await times(600, () => send())
    const after = sent.slice(8)
    expect(after[0]?.atMs, 'a pause').toBeGreaterThanOrEqual(500)
    expect(inSecondFrom(after, after[0]?.atMs ?? 0)).toBe(4)
    expect(inSecondFrom(after, (after.at(-1)?.atMs ?? 0) - 2_000)).toBeGreaterThan(10)
  })

  it('is halved for requests at a time, too', async () => {
    const { sent, send } = hostOf({ answerMs: 5_000, answer: overFourAtFirst })
    await times(120, () => send())
    const most = (from: number, to?: number) => Math.max(...sent.slice(from, to).map(({ underWay }) => underWay))
    expect([most(8, 24), most(-8)]).toEqual([4, 8])
  })

  it('holds all requests back until the instant of Retry-After', async () => {
    const { sent, send } = hostOf({
      answer: ({ atMs }) => (atMs === 0 ? { kind: 'refused', retryAfterMs: 30_000 } : { kind: 'answered' }),
    })
    await send({ collectorId: 'one' })
    await Promise.all([send({ collectorId: 'two' }), send({ collectorId: 'three' })])
    expect(sent[1]?.atMs).toBe(30_100)
    expect(sent).toHaveLength(3)
  })

  it('refuses at once the runs whose deadline is before that instant, those that wait and later ones', async () => {
    const { time, sent, send } = hostOf({
      requestsMax: 1,
      answer: () => ({ kind: 'refused', retryAfterMs: 3_600_000 }),
    })
    const [first, ...others] = await times(3, () => send({ deadlineMs: 60_000 }))
    expect(first).toMatchObject({ kind: 'refused' })
    expect(others).toEqual(Array(2).fill('refused for 3600000 ms'))
    expect(await send({ deadlineMs: 60_000 })).toBe('refused for 3600000 ms')
    expect(sent).toHaveLength(1)
    expect(time.nowMs()).toBe(startMs + 100)
  })

  it('lets collectors take turns, however many requests one of them has', async () => {
    const { sent, send } = hostOf({ requestsMax: 1 })
    const many = times(50, () => send({ collectorId: 'many' }))
    const few = [send({ collectorId: 'a' }), send({ collectorId: 'b' }), send({ collectorId: 'a' })]
    await Promise.all([many, ...few])
    expect(sent.slice(0, 7).map(({ collector }) => collector)).toEqual(['many', 'a', 'b', 'many', 'a', 'many', 'many'])
  })

  it('lets the newest hour pass first', async () => {
    const { sent, send } = hostOf({ requestsMax: 2 })
    const past = [3, 2, 1].flatMap(ago => Array.from({ length: 10 }, () => send({ hour: hourAfter(hour, -ago) })))
    const now = times(5, () => send())
    await Promise.all([...past, now])
    expect(sent.map(each => (hour - each.hour) / hourMs)).toEqual(
      [0, 1, 2, 3].flatMap(ago => Array(ago === 0 ? 5 : 10).fill(ago)),
    )
  })

  it('forgets a run that is over while it waits', async () => {
    const { sent, send, limit } = hostOf({ requestsMax: 1 })
    const over = new AbortController()
    const first = send()
    const aborted = send({ signal: over.signal })
    const last = send()
    over.abort(new Error('over'))
    await expect(aborted).rejects.toThrow('over')
    await Promise.all([first, last])
    expect(sent).toHaveLength(2)
    expect(limit.isIdle).toBe(true)
  })

  it('gives back the turn that was granted at the moment its run was over', async () => {
    const { limit, askerOf, send } = hostOf({ requestsMax: 1 })
    const over = new AbortController()
    const taken = limit.take(askerOf({ signal: over.signal }))
    // The turn is granted within the microtasks before the next turn of the event loop.
    for (let turn = 0; turn < 20; turn += 1) {
      if (!limit.isIdle) over.abort(new Error('over'))
      await Promise.resolve()
    }
    await taken.catch(() => {})
    expect(await send()).toEqual({ kind: 'answered' })
  })

  it('takes back a turn that is never ended, and ignores its end then', async () => {
    const { time, limit, askerOf } = hostOf({ requestsMax: 1 })
    const held = await limit.take(askerOf({}))
    await limit.take(askerOf({}))
    expect(time.nowMs()).toBe(startMs + hostSlotMsMax)
    if (held.kind === 'granted') held.end({ kind: 'refused', retryAfterMs: 86_400_000 })
    const next = await limit.take(askerOf({}))
    expect(next.kind).toBe('granted')
    expect(time.nowMs()).toBe(startMs + 2 * hostSlotMsMax)
  })
})

describe('the deadline of a run', () => {
  const abort = new AbortController().signal

  it('does not come nearer while the run waits for turns, but only up to a limit', async () => {
    const time = new VirtualTime(startMs)
    const deadline = new RunDeadline(time, 60_000)
    await Promise.all([deadline.without(time.sleep(30_000)), deadline.without(time.sleep(40_000))])
    expect(deadline.leftMs).toBe(60_000)
    await deadline.passed(abort)
    expect(time.nowMs()).toBe(startMs + 100_000)
    await deadline.without(time.sleep(2 * hostWaitMsMax))
    expect(deadline.leftMs).toBe(60_000 + hostWaitMsMax - 100_000 - 2 * hostWaitMsMax)
  })

  it('passes while the run waits, after all', async () => {
    const time = new VirtualTime(startMs)
    const deadline = new RunDeadline(time, 60_000)
    void deadline.without(new Promise(() => {}))
    await deadline.passed(abort)
    expect(time.nowMs()).toBe(startMs + 60_000 + hostWaitMsMax)
  })
})
