import { describe, expect, it } from 'vitest'
import { type ProcessorTime, ProcessStopwatch } from '../../../src/edge/processor-time.ts'
import { CollectorChild } from '../../../src/runner/daemon/child.ts'
import { HostLimits } from '../../../src/runner/daemon/hosts.ts'
import { runnerLimits } from '../../../src/runner/daemon/limits.ts'
import { QuestionBarrier } from '../../../src/runner/daemon/replies.ts'
import { anHour } from '../../support/metrics.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

/** A processor that a process has for a share of the time; for the rest it waits for it, or is blocked. */
interface Share {
  readonly ran: number
  readonly waited: number
}

const loops: Share = { ran: 1, waited: 0 }
const starves: Share = { ran: 0.001, waited: 0.999 }
const isBlocked: Share = { ran: 0, waited: 0 }

function processorOf(time: VirtualTime, share: () => Share): () => ProcessorTime {
  const startMs = time.steadyMs()
  return () => {
    const wallMs = time.steadyMs() - startMs
    return { ranMs: share().ran * wallMs, waitedMs: share().waited * wallMs, otherThreadsMs: 0 }
  }
}

describe('a limit of time', () => {
  const never = new AbortController().signal

  it.for([
    ['that computes', loops, 'had', 30],
    ['that is blocked', isBlocked, 'had', 30],
    ['that has half of a processor', { ran: 0.5, waited: 0.5 }, 'had', 60],
    ['that has next to nothing of one', starves, 'starved', 300],
  ] as const)('of a process %s', async ([, share, end, seconds]) => {
    const time = new VirtualTime(anHour)
    const startMs = time.nowMs()
    let reports = 0
    const stopwatch = new ProcessStopwatch(
      time,
      processorOf(time, () => share),
    )
    expect(await stopwatch.passed(30_000, never, () => reports++)).toBe(end)
    expect((time.nowMs() - startMs) / 1000).toBeGreaterThanOrEqual(seconds - 1)
    expect((time.nowMs() - startMs) / 1000).toBeLessThanOrEqual(1.2 * seconds)
    expect(reports).toBe(share.waited > 0 ? 1 : 0)
  })

  it('does not count the time for which it waits for its own other threads, but for what they took before', () => {
    const time = new VirtualTime(anHour)
    const reads: ProcessorTime[] = [
      { ranMs: 0, waitedMs: 5_000, otherThreadsMs: 60_000 },
      { ranMs: 1, waitedMs: 9_000, otherThreadsMs: 60_000 },
      { ranMs: 2, waitedMs: 10_000, otherThreadsMs: 63_000 },
      { ranMs: 2, waitedMs: 10_000, otherThreadsMs: 90_000 },
    ]
    const stopwatch = new ProcessStopwatch(time, () => reads.shift())
    expect([stopwatch.starvedMs, stopwatch.starvedMs, stopwatch.starvedMs]).toEqual([4_000, 2_000, 0])
  })

  it('of a second is waited for a minute, where a process has a twentieth of a processor', async () => {
    const time = new VirtualTime(anHour)
    const stopwatch = new ProcessStopwatch(
      time,
      processorOf(time, () => ({ ran: 0.05, waited: 0.95 })),
    )
    expect(await stopwatch.passed(1_000, never)).toBe('had')
  })

  it('is that of the wall where the system does not say what a process has', async () => {
    const time = new VirtualTime(anHour)
    const stopwatch = new ProcessStopwatch(time, () => undefined)
    expect(await stopwatch.passed(30_000, never)).toBe('had')
    expect([stopwatch.starvedMs, Math.round(stopwatch.hadMs / 1000)]).toEqual([0, 30])
  })
})

/** A process that never says anything, in which a collector runs. */
function stage(share: Share, isReady = true, isNearlyFull = false) {
  const time = new VirtualTime(anHour)
  const lines: string[] = []
  const chains = {}
  const spawned = {
    collectors: new Set(['']),
    listen() {},
    post: () => true,
    processor: processorOf(time, () => share),
    isNearlyFull: () => isNearlyFull,
    kill() {},
    abandon() {},
    exited: new Promise<never>(() => {}),
  }
  const noAnswers = {} as never
  const answers = { prices: noAnswers, lists: noAnswers, logHistories: noAnswers, recentItems: async () => [] }
  const deps = { ...answers, interceptor: undefined, chains }
  const child = new CollectorChild(
    {
      ...deps,
      deadlineMs: 60_000,
      limits: runnerLimits,
      time,
      barrier: new QuestionBarrier(time),
      hosts: new HostLimits(time, runnerLimits),
      log: ({ message }) => lines.push(message),
      isPinged: true,
    },
    spawned,
    isReady,
  )
  const collector = { id: 'p/c', use: './c.ts', options: {}, configFile: '/c.yaml' }
  const seconds = () => Math.round((time.nowMs() - anHour) / 1000)
  return { end: child.run({ kind: 'collect', hour: anHour, collector }), seconds, lines }
}

describe('a process that does not answer', () => {
  it.for([
    ['is ended as a loop once it has used its time', loops, false, { how: /something keeps it busy/ }, 6],
    ['is ended for its memory where that is nearly full', loops, true, { how: /nearly full/, lacksMemory: true }, 6],
    ['is ended when it is blocked', isBlocked, false, { how: /something keeps it busy/ }, 6],
  ] as const)('%s', async ([, share, isNearlyFull, lost, seconds]) => {
    const staged = stage(share, true, isNearlyFull)
    const { how, ...rest } = lost
    expect(await staged.end).toMatchObject({ kind: 'lost', how: expect.stringMatching(how), ...rest })
    expect(staged.seconds()).toBeLessThanOrEqual(seconds)
  })

  it('is waited for while it has no processor, then the machine is named', async () => {
    const staged = stage(starves)
    expect(await staged.end).toMatchObject({
      kind: 'lost',
      starved: expect.stringMatching(/^this machine is too busy \(\d+\.\d s of CPU in \d+ s\)$/),
    })
    expect(staged.seconds()).toBeGreaterThan(60)
  })

  it('is waited for at its start, which is said once; a start that hangs is not', async () => {
    const busy = stage(starves, false)
    expect(await busy.end).toMatchObject({ starved: expect.stringMatching(/too busy/) })
    expect(busy.seconds()).toBeGreaterThanOrEqual(10 * 30)
    expect(busy.lines).toEqual([expect.stringMatching(/^this machine is too busy .*: a process of collectors is not/)])
    const hung = stage(isBlocked, false)
    expect(await hung.end).toMatchObject({ how: 'was not ready within 30 s' })
    expect([hung.seconds(), hung.lines]).toEqual([30, []])
  })
})
