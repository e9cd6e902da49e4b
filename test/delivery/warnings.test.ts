import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../src/model/hour.ts'
import { breakerCapMs, quarantineCapMs } from '../../src/model/limits.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { accepted, answered } from './support/answers.ts'
import { MemoryBench } from './support/memory-bench.ts'
import type { Pushed } from './support/memory-service.ts'

/** A service that remembers what it has, and says so of what comes again. */
class Remembering {
  readonly #known = new Set<string>()
  /** Answers that are lost, although it has stored what came. */
  lost = 0

  readonly rule = ({ metrics }: Pushed) => {
    const warnings = metrics
      .filter(metric => this.#known.has(nameOf(metric)))
      .map(({ id }) => `${id} already exists: updated`)
    for (const metric of metrics) this.#known.add(nameOf(metric))
    if (this.lost > 0) {
      this.lost -= 1
      return { kind: 'unanswered' as const, reason: 'no answer in time' }
    }
    return accepted(metrics.length, warnings)
  }
}

function nameOf({ id, timestamp }: { readonly id: string; readonly timestamp?: string | undefined }): string {
  return `${id} ${timestamp}`
}

/** A bench that has been through its first flush, at a service that remembers. */
async function settledBench() {
  const bench = new MemoryBench()
  const remembering = new Remembering()
  bench.service.rule = remembering.rule
  await bench.store(metrics(1, hourAfter(anHour, -9)))
  await bench.flush()
  expect(bench.balance.due).toBe(0)
  return { bench, remembering }
}

describe('that a metric already exists', () => {
  it('is a warning of a first push in a running process: somebody else posts it', async () => {
    const { bench } = await settledBench()
    bench.service.rule = ({ metrics: sent }) => accepted(sent.length, ['vault___M1 already exists: updated'])
    await bench.store(metrics(3))
    await bench.flush()
    expect(bench.warnings).toMatchObject([{ metricId: 'vault___M1', kind: 'already-exists', count: 1 }])
  })

  it('… and in the first flush of a process that has put the metric in itself, unlike the backlog', async () => {
    const bench = new MemoryBench()
    await bench.store(metrics(3, hourAfter(anHour, -1)))
    bench.restart()
    await bench.store(metrics(3))
    bench.service.rule = ({ metrics: sent }) =>
      accepted(
        sent.length,
        sent.map(({ id, timestamp }) => ({ id, timestamp, message: 'already exists: updated' })),
      )
    await bench.flush()
    expect(bench.balance.due).toBe(0)
    const counted = bench.warnings.map(({ metricId, count }) => [metricId, count])
    expect(counted.sort()).toEqual(['M0', 'M1', 'M2'].map(label => [`vault___${label}`, 1]))
  })

  it('is no news where a delivery of the same process lost the answer, or was broken off before it came', async () => {
    for (const how of ['lost', 'broken off']) {
      const bench = new MemoryBench()
      const remembering = new Remembering()
      const stopping = new AbortController()
      bench.service.rule = pushed => {
        remembering.lost = 1
        if (how === 'broken off') stopping.abort(new Error('stopped'))
        return remembering.rule(pushed)
      }
      await bench.store(metrics(3))
      await bench.flush('due', stopping.signal)
      expect(bench.balance.due).toBe(3)
      bench.renew()
      bench.service.rule = remembering.rule
      await bench.time.sleep(breakerCapMs)
      await bench.flush()
      expect(bench.balance.due).toBe(0)
      expect(bench.warnings).toEqual([])
    }
  })

  it.each([
    ['the key was refused', answered(401)],
    ['its protocol was refused', answered(404)],
  ])('is no news in a later flush after an answer was lost and %s at the next try', async (_, answer) => {
    const { bench, remembering } = await settledBench()
    let pushes = 0
    bench.service.rule = pushed => {
      pushes += 1
      if (pushes === 1) remembering.lost = 1
      return pushes === 2 ? answer : remembering.rule(pushed)
    }
    await bench.store(metrics(3))
    await bench.flush()
    expect(bench.balance.due).toBe(3)
    bench.key = 'another-key'
    await bench.time.sleep(quarantineCapMs)
    await bench.flush()
    expect(bench.balance.due).toBe(0)
    expect(bench.warnings).toEqual([])
  })

  it('is no news of a metric whose value was corrected, and is one of its neighbour', async () => {
    const { bench } = await settledBench()
    await bench.store(metrics(3))
    await bench.flush()
    const [first] = metrics(1).map(metric => ({ ...metric, value: 99 }))
    if (!first) throw new Error('one')
    const outcome = {
      collector: 'vault/c',
      hour: anHour,
      acceptedValues: [{ metric: first }],
      mode: 'correct',
    } as const
    expect(await bench.outbox.intake.record(outcome, 1)).toMatchObject({ corrected: 1 })
    await bench.store(metrics(4))
    bench.service.rule = ({ metrics: sent }) =>
      accepted(sent.length, ['vault___M0 already exists: updated', 'vault___M3 already exists: updated'])
    await bench.flush()
    expect(bench.balance).toMatchObject({ due: 0 })
    expect(bench.warnings.map(({ metricId, count }) => [metricId, count])).toEqual([['vault___M3', 1]])
  })

  it('is no news in the first flush of a process: the one before may have sent it', async () => {
    const { bench, remembering } = await settledBench()
    remembering.lost = 5
    await bench.store(metrics(3))
    await bench.flush()
    bench.restart()
    await bench.time.sleep(breakerCapMs)
    await bench.flush()
    expect(bench.balance.due).toBe(0)
    expect(bench.warnings).toEqual([])
    bench.service.rule = ({ metrics: sent }) => accepted(sent.length, ['vault___M1 already exists: updated'])
    await bench.store(metrics(2, hourAfter(anHour, 1)))
    await bench.time.sleep(3_600_000)
    await bench.flush()
    expect(bench.warnings).toHaveLength(1)
  })

  it('is no news after a batch was split, whether it was refused or did not add up', async () => {
    for (const answer of [answered(400), accepted(7)]) {
      const { bench, remembering } = await settledBench()
      bench.service.rule = pushed => {
        const stored = remembering.rule(pushed)
        return pushed.metrics.length > 3 ? answer : stored
      }
      await bench.store(metrics(20))
      await bench.flush()
      expect(bench.balance).toMatchObject({ due: 0, dead: 0 })
      expect(bench.warnings).toEqual([])
    }
  })

  it('is no news when the service says it of a whole push in which one was in doubt', async () => {
    const { bench, remembering } = await settledBench()
    remembering.lost = 5
    await bench.store(metrics(3))
    await bench.flush()
    bench.service.rule = ({ metrics: sent }) => accepted(sent.length, ['3 metrics were updated'])
    await bench.time.sleep(breakerCapMs)
    await bench.flush()
    expect(bench.warnings).toEqual([])
  })
})

describe('other warnings', () => {
  it('are recorded once for each kind and metric, with a count, whatever else they hold', async () => {
    const { bench } = await settledBench()
    for (let count = 0; count < 5; count += 1) {
      bench.service.rule = ({ metrics: sent }) =>
        accepted(sent.length, [
          { id: 'vault___M0', message: `label is long (${16 + count} characters)` },
          { id: 'vault___M1', message: 'label is long' },
          `vault___M1: unit changed at 2026-11-20T1${count}:00:00Z`,
        ])
      await bench.store(metrics(2, hourAfter(anHour, -count)))
      await bench.flush()
      await bench.time.sleep(1_000)
    }
    const seen = bench.warnings.map(({ metricId, kind, count }) => `${metricId} ${kind} ${count}`).sort()
    expect(seen).toEqual(['vault___M0 label-long 5', 'vault___M1 label-long 5', 'vault___M1 unit-changed 5'])
    for (const { firstSeenMs, lastSeenMs } of bench.warnings)
      expect(lastSeenMs - firstSeenMs).toBeGreaterThanOrEqual(4_000)
    expect(bench.warnings.find(({ metricId }) => metricId === 'vault___M0')?.text).toContain('20 characters')
  })

  it('are recorded also of a push that was sent again, and in the first flush', async () => {
    const bench = new MemoryBench()
    let pushes = 0
    bench.service.rule = ({ metrics: sent }) => {
      pushes += 1
      return pushes === 1 ? answered(503) : accepted(sent.length, ['vault___M0: label is long'])
    }
    await bench.store(metrics(2))
    await bench.flush()
    expect(bench.warnings).toMatchObject([{ kind: 'label-long', count: 1 }])
  })

  it('cannot fill the disk, however many there are', async () => {
    const { bench } = await settledBench()
    const letters = (count: number) => [...String(count)].map(digit => 'abcdefghij'[Number(digit)]).join('')
    for (let count = 0; count < 4; count += 1) {
      bench.service.rule = ({ metrics: sent }) =>
        accepted(
          sent.length,
          Array.from({ length: 5_000 }, (_, place) => `odd ${letters(count)} ${letters(place)}`),
        )
      await bench.store(metrics(1, hourAfter(anHour, -count)))
      await bench.flush()
    }
    expect(bench.balance.due).toBe(0)
    expect(bench.warnings.length).toBeLessThanOrEqual(1_000)
  })
})
