import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Backfill, type BackfillDeps, type BackfillEnd, type BackfillNews } from '../../src/intake/backfill/backfill.ts'
import { partFromRecord, partRecord } from '../../src/intake/backfill/joined-end.ts'
import { type BackfillRequest, type StatesByHour, type Work, workOf } from '../../src/intake/backfill/work.ts'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter, hoursFrom, hourText } from '../../src/model/hour.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { hourStates } from '../../src/outbox/store/hours.ts'
import type { RunOutcome } from '../../src/runner/runner.ts'
import { collector, one, pipelineOn, type Script, ScriptedRunner } from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour } from '../support/metrics.ts'
import { atOnce, expectHours, lateOf } from '../support/stored-hours.ts'
import { VirtualTime } from '../support/virtual-time.ts'

interface Scripted {
  readonly script: Script
  readonly history?: boolean
  readonly maxJump?: number
}

interface Stage {
  readonly outbox: SqliteOutbox
  readonly runner: ScriptedRunner
  readonly time: VirtualTime
  readonly news: BackfillNews[]
  run(parts?: Partial<BackfillDeps> & { readonly asks?: Partial<BackfillRequest> }): Promise<BackfillEnd>
}

const current = hourAfter(anHour, 1000)
const to = hourAfter(anHour, 19)
const range = hoursFrom(anHour, to)

/** Backfills twenty hours of scripted collectors, ten together, on a clock that jumps. */
function stage(scripts: Readonly<Record<string, Scripted>>): Stage {
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  const named = Object.entries(scripts).map(
    ([name, scripted]) => [`vault/${name}`, { history: true, ...scripted }] as const,
  )
  const runner = new ScriptedRunner(Object.fromEntries(named))
  const time = new VirtualTime(current + 1)
  const news: BackfillNews[] = []
  return {
    outbox,
    runner,
    time,
    news,
    run({ asks = {}, ...parts } = {}) {
      const asked: BackfillRequest = { from: anHour, to, current, scope: 'missing', daemon: 'none', ...asks }
      const works = Object.entries(scripts).map(([name, { history = true, maxJump }]): Work => {
        const metrics = { TVL: { unit: 'USD', ...(maxJump === undefined ? {} : { maxJump }) } }
        const states = atOnce(outbox, () => hourStates(`vault/${name}`, asked.from, asked.to))
        return workOf(collector(name), { metrics, history }, asked, states)
      })
      return new Backfill({
        outbox,
        pipeline: pipelineOn(runner, time),
        time,
        works,
        asked,
        order: 'oldest-first',
        concurrency: 10,
        signal: new AbortController().signal,
        report: heard => news.push(heard),
        ...parts,
      }).run()
    },
  }
}

const value = (TVL: number): RunOutcome => ({ readings: { TVL }, failures: {}, pins: [] })
const counts = ({ collectors }: BackfillEnd) => collectors.map(({ collector: _, ...rest }) => rest)
const hoursAsked = ({ runner }: Stage, id = 'vault/a') =>
  runner.asked.filter(run => run.id === id).map(({ hour }) => (hour - anHour) / 3_600_000)

describe('a backfill', () => {
  it('starts all runs of a window in one turn, and the next window when this one is done', async () => {
    const open: (() => void)[] = []
    const held: Script = () =>
      new Promise<RunOutcome>(resolve => {
        open.push(() => resolve(value(1)))
      })
    const here = stage({ a: { script: held }, b: { script: held } })
    const running = here.run()
    await new Promise(resolve => setImmediate(resolve))
    expect(here.runner.asked).toHaveLength(20)
    for (const release of open.splice(0, 19)) release()
    for (let turn = 0; turn < 50; turn += 1) await new Promise(resolve => setImmediate(resolve))
    expect(here.runner.asked).toHaveLength(20)
    for (const release of open.splice(0)) release()
    while (open.length < 20) await new Promise(resolve => setImmediate(resolve))
    for (const release of open.splice(0)) release()
    expect(counts(await running)).toMatchObject([{ done: 20 }, { done: 20 }])
    expect((await here.outbox.intake.hourStates('vault/a', anHour, to)).size).toBe(20)
  })

  it.for([
    ['oldest-first', range.map((_, index) => index)],
    ['newest-first', [...range.keys()].toReversed()],
  ] as const)('does hours %s', async ([order, expected]) => {
    const here = stage({ a: { script: one } })
    await here.run({ order, concurrency: 1 })
    expect(hoursAsked(here)).toEqual(expected)
  })

  it('skips what is collected, tries gaps again, and leaves what is due to a running daemon', async () => {
    const here = stage({ a: { script: one } })
    await expectHours(here.outbox, 'vault/a', anHour, range[2])
    await here.outbox.intake.record({ collector: 'vault/a', hour: anHour, acceptedValues: [] }, 0)
    await here.outbox.intake.recordGap('vault/a', range[1] as Hour, new Fault('hour-too-old', 'old'))
    const end = await here.run({ asks: { daemon: 'runs' } })
    expect(counts(end)).toMatchObject([{ done: 18, alreadyCollected: 1, leftToDaemon: 1 }])
    expect(hoursAsked(here)).toEqual([1, ...range.map((_, index) => index).slice(3)])
    expect((await here.outbox.intake.hourStates('vault/a', anHour, to)).get(range[1] as Hour)).toBe('collected')
    expect(counts(await here.run())).toMatchObject([{ done: 1, alreadyCollected: 19 }])
  })

  it('does not ask for the past of what reads only "now", nor take its answer once the hour has passed', async () => {
    const here = stage({ a: { script: one, history: false } })
    const end = await here.run({ asks: { from: hourAfter(current, -2), to: current } })
    expect(counts(end)).toMatchObject([{ done: 1, impossible: 2, failed: 0 }])
    expect(here.runner.asked.map(({ hour }) => hour)).toEqual([current])
    const late: Script = async () => {
      await there.time.sleep(3_600_000)
      return value(1)
    }
    const there = stage({ a: { script: late, history: false } })
    const ended = await there.run({ asks: { from: current, to: current } })
    expect(ended.failures.map(({ fault }) => fault.code)).toEqual(['hour-passed'])
    expect((await there.outbox.delivery.backlog()).balance.due).toBe(0)
  })

  it('tries a second time what may pass, once, at the end, and nothing that is permanent', async () => {
    const passes: Script = (hour, attempt) =>
      hour === range[3] && attempt === 1 ? new Fault('chain-unreachable', 'no answer') : value(1)
    const stays: Script = hour => (hour === range[4] ? new Fault('chain-unreachable', 'no answer') : value(1))
    const never: Script = hour => (hour === range[5] ? new Fault('chain-call-reverted', 'reverted') : value(1))
    const here = stage({ a: { script: passes }, b: { script: stays }, c: { script: never } })
    const end = await here.run()
    expect(counts(end)).toMatchObject([
      { done: 20, failed: 0 },
      { done: 19, failed: 1 },
      { done: 19, failed: 1 },
    ])
    expect(hoursAsked(here).slice(-1)).toEqual([3])
    expect(hoursAsked(here, 'vault/b').slice(-1)).toEqual([4])
    expect(hoursAsked(here, 'vault/c')).toHaveLength(20)
    expect(end).toMatchObject({ left: 0 })
    expect((await here.outbox.intake.hourStates('vault/b', anHour, to)).has(range[4] as Hour)).toBe(false)
    const unread = await here.outbox.operators.hourRanges('unread')
    expect(unread.map(({ collector, from, hours }) => [collector, from, hours])).toEqual([
      ['vault/b', range[4], 1],
      ['vault/c', range[5], 1],
    ])
    expect(await lateOf(here.outbox, ['vault/a', 'vault/b', 'vault/c'], current)).toEqual([])
  })

  it('keeps the values of an hour of which another label failed, and does not call it collected', async () => {
    const half: Script = () => ({
      readings: { TVL: 7 },
      failures: { Price: { code: 'chain-call-reverted', message: 'reverted', facts: {} } },
      pins: [],
    })
    const here = stage({ a: { script: half } })
    expect(counts(await here.run())).toMatchObject([{ done: 0, failed: 20, added: 20 }])
    expect((await here.outbox.delivery.backlog()).balance.due).toBe(20)
    expect((await here.outbox.intake.hourStates('vault/a', anHour, to)).size).toBe(0)
  })

  it.for([1, 3, 10, 20])('holds the same jumps with %i hours together', async concurrency => {
    const jumps: Script = hour => value(hour === range[7] || hour === range[12] ? 500 : 100)
    const here = stage({ a: { script: jumps, maxJump: 50 } })
    await here.run({ concurrency })
    const held = (await here.outbox.operators.metrics(anHour, to)).filter(({ state }) => state === 'held')
    expect(held.map(({ hour }) => hour)).toEqual([range[7], range[12]])
  })

  it.for([1, 7, 20])(
    'holds all values of no items after an hour that had some, with %i hours together',
    async concurrency => {
      const emptied: Script = hour => (hour === range[3] ? value(4) : { ...value(0), ofNone: ['TVL'] })
      const here = stage({ a: { script: emptied } })
      await here.run({ concurrency })
      const held = (await here.outbox.operators.metrics(anHour, to)).filter(({ state }) => state === 'held')
      expect(held.map(({ hour }) => hour)).toEqual(range.slice(4))
      expect(held[0]?.reason).toMatch(/^there are no items, after 4 at /)
    },
  )

  it('waits while too much is due, says so each minute, and goes on once it is delivered', async () => {
    const here = stage({ a: { script: one } })
    const deliver = async () => {
      await here.time.sleep(150_000)
      const due = await here.outbox.operators.metrics(anHour, to)
      await here.outbox.delivery.recordVerdicts({ delivered: due, dead: [], warnings: [] }, here.time.nowMs())
    }
    const [end] = await Promise.all([here.run({ dueMax: 5 }), deliver()])
    const waits = here.news.flatMap(news => (news.kind === 'waits' ? [Math.round(news.wait.forMs / 60_000)] : []))
    expect(waits).toEqual([0, 1, 2])
    expect(counts(end)).toMatchObject([{ done: 20 }])
  })

  it.for(['while it waits', 'while it reads'] as const)(
    'stops %s, keeps what is stored and says what is left',
    async when => {
      const stopping = new AbortController()
      const stop = () => stopping.abort(new Fault('stopped', 'enough'))
      // As a stopped runner ends what is under way.
      const broken = new Fault('stopped', 'the collectors have been stopped')
      const hangs: Script = hour => {
        if (when === 'while it waits' || hour < (range[10] as Hour)) return value(1)
        return new Promise((_, reject) => {
          stopping.signal.addEventListener('abort', () => reject(broken))
          setImmediate(stop)
        })
      }
      const here = stage({ a: { script: hangs } })
      if (when === 'while it waits') void here.time.sleep(90_000).then(stop)
      const end = await here.run({ signal: stopping.signal, ...(when === 'while it waits' ? { dueMax: 5 } : {}) })
      expect(end).toMatchObject({ left: 10, failures: [], stopped: { at: range[10] } })
      expect(end.stopped?.fault.message).toBe('enough')
      expect(counts(end)).toMatchObject([{ done: 10, failed: 0 }])
    },
  )

  it('stops when the outbox takes nothing any more, without a failure of its collectors', async () => {
    const here = stage({ a: { script: one } })
    const full = new Fault('disk-full', 'the disk is full')
    let looks = 0
    const health = new Proxy(here.outbox.health, {
      get: (target, name) => {
        if (name !== 'requireRoom') return bound(target, name)
        return () => {
          looks += 1
          if (looks > 1) throw full
        }
      },
    })
    const outbox = { intake: here.outbox.intake, health }
    const end = await here.run({ outbox })
    expect(end).toMatchObject({ left: 10, failures: [], stopped: { fault: full, at: range[10] } })
  })

  it('counts failures by their reason, whatever numbers stand in it', async () => {
    const fails: Script = hour => new Fault('chain-call-reverted', `block ${hour} of ${new Date(hour).toISOString()}`)
    const end = await stage({ a: { script: fails } }).run()
    expect(end.failures).toMatchObject([{ count: 20, spans: [{ collector: 'vault/a', from: anHour, to }] }])
  })

  it('corrects nothing unless it is to overwrite', async () => {
    let next = 1
    const here = stage({ a: { script: () => value(next) } })
    await here.run()
    next = 2
    expect(counts(await here.run())).toMatchObject([{ done: 0, alreadyCollected: 20 }])
    expect(counts(await here.run({ asks: { scope: 'overwrite' } }))).toMatchObject([
      { done: 20, corrected: 20, added: 0 },
    ])
    expect((await here.outbox.operators.metrics(anHour, to)).map(metric => metric.value)).toEqual(range.map(() => 2))
  })
})

const unreachable = new Fault('chain-unreachable', 'main: no answer', { facts: { chain: 'main' } })
const waitsOf = ({ news }: Stage) => news.flatMap(each => (each.kind === 'waits-for-chain' ? [each.wait.forMs] : []))

describe('a backfill whose chain cannot be read', () => {
  it.for(['chain-unreachable', 'chain-behind', 'chain-reorganized'] as const)(
    'waits longer and longer after %s, and reads the same hours again before any other',
    async code => {
      const fault = new Fault(code, 'main: no answer', { facts: { chain: 'main' } })
      const untilMs = current + 33_000
      const script: Script = () => (here.time.nowMs() < untilMs ? fault : value(1))
      const here = stage({ a: { script }, b: { script } })
      const end = await here.run()
      expect(waitsOf(here)).toEqual([5_000, 10_000, 20_000])
      expect(counts(end)).toMatchObject([
        { done: 20, failed: 0 },
        { done: 20, failed: 0 },
      ])
      expect(end).toMatchObject({ left: 0, failures: [] })
      const first = [...Array(10).keys()]
      expect(hoursAsked(here)).toEqual([...first, ...first, ...first, ...first, ...first.map(hour => hour + 10)])
      expect(here.news.some(({ kind }) => kind === 'tries-again')).toBe(false)
    },
  )

  it('waits where no hour of a window could be read; others of it are read in the end', async () => {
    const script: Script = (hour, attempt) => (hour >= (range[6] as Hour) && attempt === 1 ? unreachable : value(1))
    const here = stage({ a: { script } })
    expect(counts(await here.run())).toMatchObject([{ done: 20, failed: 0 }])
    expect(waitsOf(here)).toEqual([5_000])
    expect(hoursAsked(here).slice(10, 20)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    expect(hoursAsked(here).slice(-4)).toEqual([6, 7, 8, 9])
  })

  it('does not wait for a chain of which one read alone fails, whether or not another is read', async () => {
    const failing = new Fault('chain-call-failed', 'main: answered an error', { facts: { chain: 'main' } })
    for (const others of [{}, { b: { script: () => value(1) } }]) {
      const here = stage({ a: { script: () => failing }, ...others })
      const end = await here.run()
      expect(waitsOf(here)).toEqual([])
      expect(counts(end)[0]).toMatchObject({ done: 0, failed: 20 })
      expect(end).toMatchObject({ left: 0, failures: [{ count: 20, fault: { code: 'chain-call-failed' } }] })
    }
  })

  it('ends when nothing can be read for ten minutes, and calls no hour failed', async () => {
    const here = stage({ a: { script: () => unreachable } })
    const end = await here.run({ concurrency: 2 })
    expect(here.time.nowMs() - current).toBeGreaterThanOrEqual(600_000)
    expect(here.time.nowMs() - current).toBeLessThan(700_000)
    expect(Math.max(...waitsOf(here))).toBe(60_000)
    expect(counts(end)).toMatchObject([{ done: 0, failed: 0 }])
    expect(end).toMatchObject({
      left: 20,
      failures: [],
      stopped: { at: range[0], fault: { code: 'chain-unreachable' } },
    })
    expect(end.stopped?.fault.message).toContain('main: no answer')
  })

  it('goes on with other hours after some waits, as it may be these hours alone', async () => {
    const script: Script = hour => (hour === range[3] ? unreachable : value(1))
    const here = stage({ a: { script } })
    const end = await here.run({ concurrency: 1 })
    expect(counts(end)).toMatchObject([{ done: 19, failed: 1 }])
    expect(waitsOf(here)).toEqual([5_000, 10_000, 20_000, 40_000, 5_000, 10_000, 20_000, 40_000])
    expect(end).toMatchObject({ left: 0, failures: [{ count: 1 }] })
  })

  it('ends its wait at once when it is stopped', async () => {
    const stopping = new AbortController()
    const here = stage({ a: { script: () => unreachable } })
    void here.time.sleep(2_000).then(() => stopping.abort(new Fault('stopped', 'enough')))
    const end = await here.run({ signal: stopping.signal })
    expect(here.time.nowMs()).toBe(current + 2_001)
    expect(counts(end)).toMatchObject([{ done: 0, failed: 0 }])
    expect(end).toMatchObject({ left: 20, failures: [], stopped: { at: range[0], fault: { message: 'enough' } } })
  })

  it('does not wait for one collector where another could read the chain, nor for an off-chain source', async () => {
    const source = new Fault('http-unreachable', 'api.example.com: 503')
    const script: Script = (_, attempt) => (attempt === 1 ? unreachable : value(1))
    const other: Script = (_, attempt) => (attempt === 1 ? source : value(1))
    const here = stage({ a: { script }, b: { script: one }, c: { script: other } })
    const end = await here.run()
    expect(waitsOf(here)).toEqual([])
    expect(here.news.filter(({ kind }) => kind === 'tries-again')).toEqual([{ kind: 'tries-again', runs: 40 }])
    expect(counts(end)).toMatchObject([{ done: 20 }, { done: 20 }, { done: 20 }])
  })

  it('does not wait for an off-chain source that no other could read either', async () => {
    const source = new Fault('http-unreachable', 'api.example.com: 503')
    const here = stage({ a: { script: (_, attempt) => (attempt === 1 ? source : value(1)) } })
    expect(counts(await here.run())).toMatchObject([{ done: 20, failed: 0 }])
    expect(waitsOf(here)).toEqual([])
  })

  it('reads what it can while another chain cannot be read, and that in the end', async () => {
    const pin = { chainId: 2, block: { number: 1n, hash: '0x01', timestampSeconds: 1 } } as const
    const other: Script = () => ({ readings: { TVL: 1 }, failures: {}, pins: [pin] })
    const isAgain = () => here.news.some(({ kind }) => kind === 'waits-for-chain')
    const here = stage({ a: { script: () => (isAgain() ? value(1) : unreachable) }, b: { script: other } })
    const end = await here.run({ concurrency: 5 })
    const kinds = here.news.map(({ kind }) => kind)
    expect(kinds.indexOf('waits-for-chain')).toBeGreaterThan(kinds.indexOf('tries-again'))
    expect(waitsOf(here)).toEqual([5_000])
    expect(counts(end)).toMatchObject([{ done: 20 }, { done: 20 }])
  })

  it('calls hours before the first block not possible, and says why', async () => {
    const facts = { chain: 'main', firstBlockAt: new Date((range[5] as Hour) - 60_000).toISOString() }
    const early = new Fault('chain-before-first-block', 'main had no block yet', { facts })
    const here = stage({ a: { script: hour => (hour < (range[5] as Hour) ? early : value(1)) } })
    const end = await here.run()
    expect(counts(end)).toMatchObject([{ done: 15, impossible: 5, failed: 0 }])
    expect(end).toMatchObject({ left: 0, failures: [], early: [{ count: 5 }] })
    expect(end.early.map(reason => reason.firstHour)).toEqual([range[5]])
  })

  it('knows that a collector which reads an earlier hour, too, can be read later than the chain', async () => {
    const first = range[5] as Hour
    const early = (hour: Hour) => {
      const facts = { chain: 'main', hour: hourText(hourAfter(hour, -3)), firstBlockAt: hourText(first) }
      return new Fault('chain-before-first-block', `A: main had no block yet at ${facts.hour}`, { facts })
    }
    const here = stage({ a: { script: hour => (hour < hourAfter(first, 3) ? early(hour) : value(1)) } })
    const end = await here.run()
    expect(end.early).toMatchObject([{ count: 8, firstHour: range[8] }])
    const record = partRecord({ end, calls: { requests: 0, calls: {} } })
    expect(partFromRecord(JSON.parse(JSON.stringify(record))).end.early).toMatchObject([{ firstHour: range[8] }])
  })
})

/** A chain whose calls are counted; as `cappedMeter` does, it stops the backfill where more would be needed. */
function meteredStage(callsMax: number, callsOnce: number, callsAnHour: number, concurrency = 20) {
  const stopping = new AbortController()
  let [spent, begun] = [0, 0]
  const script: Script = async () => {
    const isFirst = begun === 0
    begun += 1
    if (isFirst) setImmediate(() => (begun = 0))
    const calls = callsAnHour + (isFirst ? callsOnce : 0)
    if (spent + calls > callsMax) {
      stopping.abort(new Fault('stopped', 'the cap is reached'))
      throw new Fault('stopped', 'the cap is reached')
    }
    spent += calls
    // No hour gives anything before all of its window is read.
    await new Promise(resolve => setImmediate(resolve))
    if (stopping.signal.aborted) throw new Fault('stopped', 'the cap is reached')
    return value(1)
  }
  const here = stage({ a: { script } })
  const budget = { callsMax, chains: 1, spent: () => spent }
  return { here, spent: () => spent, run: () => here.run({ budget, signal: stopping.signal, concurrency }) }
}

describe('a backfill with a budget', () => {
  it.for([
    [40, 8, 3],
    [40, 12, 6],
    [40, 14, 12],
    [100, 12, 35],
    [60, 8, 3],
    [90, 20, 8],
  ] as const)(
    'of %i calls makes its windows so small that they end within it, at %i + %i an hour',
    async ([callsMax, once, anHour]) => {
      const metered = meteredStage(callsMax, once, anHour)
      const end = await metered.run()
      const done = end.collectors[0]?.done ?? 0
      expect(done).toBeGreaterThan(0)
      expect(metered.spent()).toBeLessThanOrEqual(callsMax)
      expect(end.stopped?.fault.message).toMatch(/one more hour takes about \d+ RPC calls/)
      expect(end.left).toBe(20 - done)
      // Each hour that was read is stored.
      expect(metered.here.runner.asked).toHaveLength(done)
    },
  )

  it('leaves calls for how a window begins', async () => {
    const metered = meteredStage(76, 8, 3, 5)
    const end = await metered.run()
    expect(metered.here.runner.asked).toHaveLength(end.collectors[0]?.done ?? 0)
    expect(end.stopped?.fault.message).toContain('one more hour')
  })

  it('reads one hour first, then as many together as that lets expect', async () => {
    const metered = meteredStage(1_000, 8, 3)
    expect(counts(await metered.run())).toMatchObject([{ done: 20 }])
    expect(metered.spent()).toBe(8 + 3 + 8 + 19 * 3)
    const learning = meteredStage(60, 8, 1)
    expect(counts(await learning.run())).toMatchObject([{ done: 20 }])
  })

  it('reads more and more hours together where none takes a call', async () => {
    const metered = meteredStage(100, 0, 0)
    expect(counts(await metered.run())).toMatchObject([{ done: 20 }])
    const hours = metered.here.news.flatMap(news => (news.kind === 'went-on' ? [news.progress.hoursDone] : []))
    expect(hours).toEqual([1, 3, 7, 15, 20])
  })

  it('does not begin where not even one hour fits', async () => {
    const metered = meteredStage(17, 1, 1)
    const end = await metered.run()
    expect(end).toMatchObject({ left: 20, stopped: { fault: { code: 'stopped' } } })
    expect(end.stopped?.fault.message).toContain('one more hour takes about 18 RPC calls')
    expect(metered.here.runner.asked).toEqual([])
  })
})

function bound(target: object, name: string | symbol): unknown {
  const part: unknown = Reflect.get(target, name, target)
  return typeof part === 'function' ? part.bind(target) : part
}

describe('the work of a backfill', () => {
  const description = { metrics: {}, history: true }
  const states: StatesByHour = new Map([
    [range[0] as Hour, 'collected'],
    [range[1] as Hour, 'due'],
    [range[2] as Hour, 'gap'],
  ])

  it.for([
    ['missing', 'none', true, { hours: 19, alreadyCollected: 1, leftToDaemon: 0, impossible: 0 }],
    ['missing', 'runs', true, { hours: 18, alreadyCollected: 1, leftToDaemon: 1, impossible: 0 }],
    ['overwrite', 'none', true, { hours: 20, alreadyCollected: 0, leftToDaemon: 0, impossible: 0 }],
    ['overwrite', 'runs', true, { hours: 19, alreadyCollected: 0, leftToDaemon: 1, impossible: 0 }],
    ['missing', 'none', false, { hours: 0, alreadyCollected: 1, leftToDaemon: 0, impossible: 19 }],
  ] as const)('with %s hours, a daemon that %s, history %s', ([what, daemon, history, expected]) => {
    const asked: BackfillRequest = { from: anHour, to, current, scope: what, daemon }
    const work = workOf(collector('a'), { ...description, history }, asked, states)
    expect({ ...work, hours: work.hours.length }).toMatchObject(expected)
  })
})
