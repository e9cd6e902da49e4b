import { describe, expect, it } from 'vitest'
import { attemptsMax } from '../../../src/delivery/isolate/pieces.ts'
import { BatchSize, Sender } from '../../../src/delivery/push.ts'
import { isBatch } from '../../../src/model/batch.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import { silentLog } from '../../support/log.ts'
import { metrics } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { gateAt } from '../support/gate-bench.ts'

const startMs = Date.UTC(2026, 10, 20, 13)
const okOf = (processed: number): Answer => {
  return { kind: 'answered', status: 200, body: { success: true, processed, errors: [], warnings: [] } }
}
const ok = okOf(2)
const down: Answer = { kind: 'answered', status: 503, body: undefined }

/** Circumstances of a push. */
interface Pushing {
  readonly chance?: number
  /** Number of the two metrics that are still due at an instant after the start. */
  readonly dueAfter?: (ms: number) => number
  /** The known-good metric as it is in the outbox. */
  readonly present?: ((metric: Metric) => Metric | undefined) | undefined
}

/** Pushes two metrics, or one that is known to be good. */
async function push(answers: readonly Answer[], { chance = 0.5, dueAfter = () => 2, present }: Pushing = {}) {
  const time = new VirtualTime(startMs, () => chance)
  const sentAtMs: number[] = []
  const client = {
    async push(): Promise<Answer> {
      sentAtMs.push(time.nowMs() - startMs)
      return answers[sentAtMs.length - 1] ?? down
    },
  }
  const batch = metrics(present ? 1 : 2)
  if (!isBatch(batch)) throw new Error('empty')
  const signal = new AbortController().signal
  const sender = new Sender(
    {
      ...{ client: { push: client.push, register: client.push }, gate: gateAt(time).gate, time },
      ...{ destination: { protocols: [] }, batchSize: new BatchSize(), log: silentLog, unconfirmed: { add() {} } },
      outbox: {
        present: async () => present?.(batch[0]),
        stillDue: async batch => batch.slice(0, dueAfter(time.nowMs() - startMs)),
      },
    },
    { key: 'k', breakOff: signal, signal },
  )
  const { verdict } = await sender.push(batch, { attemptsMax, ...(present && { isKnownGood: true }) })
  return { verdict, sentAtMs }
}

describe('a push', () => {
  it('is sent once when it is understood', async () => {
    expect(await push([ok])).toMatchObject({ verdict: { kind: 'settled' }, sentAtMs: [0] })
  })

  it('has at most five attempts, with growing pauses', async () => {
    const { verdict, sentAtMs } = await push([], { chance: 0.999 })
    expect(verdict.kind).toBe('transient')
    // Each turn of the pace takes a millisecond here.
    expect(sentAtMs).toEqual([0, 499 + 1, 499 + 999 + 2, 499 + 999 + 1998 + 3, 499 + 999 + 1998 + 3996 + 4])
  })

  it('may pause for nothing at all: the jitter is full', async () => {
    const { sentAtMs } = await push([down, down, ok], { chance: 0 })
    expect(sentAtMs.every(ms => ms <= 4)).toBe(true)
  })

  it('is not sent again when one of its metrics was withdrawn meanwhile', async () => {
    const { verdict, sentAtMs } = await push([down, ok], { dueAfter: () => 1 })
    expect({ kind: verdict.kind, sentAtMs }).toEqual({ kind: 'transient', sentAtMs: [0] })
    expect((await push([down, ok])).sentAtMs).toHaveLength(2)
  })

  it('is not sent again when that happened while the service wanted to be left alone', async () => {
    const later: Answer = { kind: 'answered', status: 429, body: {}, notBeforeMs: startMs + 20_000 }
    expect((await push([later, ok], { dueAfter: ms => (ms < 10_000 ? 2 : 1) })).sentAtMs).toEqual([0])
  })

  it('of a metric known to be good is not sent again once that has another value or unit, or is gone', async () => {
    const sentFor = async (present: Pushing['present']) => (await push([down, okOf(1)], { present })).sentAtMs.length
    expect(await sentFor(metric => ({ ...metric }))).toBe(2)
    expect(await sentFor(metric => ({ ...metric, value: -1 }))).toBe(1)
    expect(await sentFor(metric => ({ ...metric, unit: 'cents' }))).toBe(1)
    expect(await sentFor(() => undefined)).toBe(1)
  })

  it('is never sent before Retry-After', async () => {
    const { sentAtMs } = await push([{ kind: 'answered', status: 429, body: {}, notBeforeMs: startMs + 20_000 }, ok])
    expect(sentAtMs[1]).toBeGreaterThanOrEqual(20_000)
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
