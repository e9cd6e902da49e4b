import { describe, expect, it } from 'vitest'
import { pushBatch } from '../../../src/delivery/flush/push.ts'
import { Pacer } from '../../../src/delivery/gate/pacer.ts'
import { attemptsMax } from '../../../src/delivery/isolate/limits.ts'
import { isBatch } from '../../../src/model/batch.ts'
import { PushBodies } from '../../../src/model/push-bodies.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import { metrics } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { gateAt } from '../support/gate-bench.ts'

const startMs = Date.UTC(2026, 10, 20, 13)
const ok: Answer = { kind: 'answered', status: 200, body: { success: true, processed: 2, errors: [], warnings: [] } }
const down: Answer = { kind: 'answered', status: 503, body: undefined }

/** Pushes two metrics, of which `due` are still due when they would be sent again. */
async function push(answers: readonly Answer[], { chance = 0.5, due = 2 } = {}) {
  const time = new VirtualTime(startMs, () => chance)
  const sentAtMs: number[] = []
  const client = {
    async push(): Promise<Answer> {
      sentAtMs.push(time.nowMs() - startMs)
      return answers[sentAtMs.length - 1] ?? down
    },
  }
  const batch = metrics(2)
  if (!isBatch(batch)) throw new Error('empty')
  const signal = new AbortController().signal
  const { verdict } = await pushBatch(
    batch,
    { attemptsMax },
    {
      client,
      bodies: new PushBodies(),
      key: 'k',
      gate: gateAt(time).gate,
      outbox: {
        present: async () => undefined,
        stillDue: async batch => ({ metrics: batch.slice(0, due), stamp: '' }),
      },
      breakOff: signal,
      time,
      signal,
    },
  )
  return { verdict, sentAtMs }
}

describe('a push', () => {
  it('is sent once when it is understood', async () => {
    expect(await push([ok])).toMatchObject({ verdict: { kind: 'settled' }, sentAtMs: [0] })
  })

  it('has at most five attempts, with growing pauses', async () => {
    const { verdict, sentAtMs } = await push([], { chance: 0.999 })
    expect(verdict.kind).toBe('transient')
    expect(sentAtMs).toEqual([0, 499, 499 + 999, 499 + 999 + 1998, 499 + 999 + 1998 + 3996])
  })

  it('may pause for nothing at all: the jitter is full', async () => {
    const { sentAtMs } = await push([down, down, ok], { chance: 0 })
    expect(sentAtMs.every(ms => ms <= 2)).toBe(true)
  })

  it('is not sent again when one of its metrics was withdrawn meanwhile', async () => {
    expect((await push([down, ok], { due: 1 })).sentAtMs).toEqual([0])
    expect((await push([down, ok], { due: 2 })).sentAtMs).toHaveLength(2)
  })

  it('is never sent before Retry-After', async () => {
    const { sentAtMs } = await push([{ kind: 'answered', status: 429, body: {}, notBeforeMs: startMs + 20_000 }, ok])
    expect(sentAtMs).toEqual([0, 20_000])
  })

  it('does not sit out a long Retry-After: it is left for a later flush', async () => {
    const { verdict, sentAtMs } = await push([
      { kind: 'answered', status: 503, body: {}, notBeforeMs: startMs + 3_600_000 },
    ])
    expect(verdict).toMatchObject({ kind: 'transient', notBeforeMs: startMs + 3_600_000 })
    expect(sentAtMs).toEqual([0])
  })

  it('is not tried again when the answer would not change', async () => {
    for (const status of [400, 401, 403, 404, 413, 422, 302]) {
      expect((await push([{ kind: 'answered', status, body: {} }])).sentAtMs).toEqual([0])
    }
  })
})

describe('the pacer', () => {
  it('lets requests start no faster than its pace, however many ask', async () => {
    const time = new VirtualTime(startMs)
    const pacer = new Pacer(time, 5)
    const startsMs = await Promise.all(
      Array.from({ length: 20 }, async () => {
        await pacer.turn(new AbortController().signal)
        return time.nowMs() - startMs
      }),
    )
    expect(startsMs).toEqual(Array.from({ length: 20 }, (_, index) => index * 200))
  })
})
