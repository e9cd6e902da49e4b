import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LogList, packed, type RawLog } from '../../src/chain/log-list.ts'
import type { ChainReader } from '../../src/chain/reads.ts'
import { Finality } from '../../src/intake/finality.ts'
import { Intake } from '../../src/intake/intake.ts'
import type { AsOfBlock, LogFilter } from '../../src/model/block.ts'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter, hourText } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import type { Metric } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { metricsBetween } from '../../src/outbox/store/values.ts'
import { collector, confirmed, pipelineOn, type Script, ScriptedRunner } from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { atOnce, pinCount } from '../support/stored-hours.ts'
import { VirtualTime } from '../support/virtual-time.ts'

const minuteMs = 60_000
/** So that it has been waited for long enough within the hour. */
const settleMs = 12 * minuteMs

function block(branch: string, number = 7n): AsOfBlock {
  return { number, hash: `0x${branch.repeat(64)}`, timestampSeconds: anHour / 1000 - 1 }
}

/** A chain on which every hour has one block, which a reorg may replace. */
function scriptedChain(time: VirtualTime) {
  const rechecked: { readonly hour: Hour; readonly atMs: number; readonly hint: AsOfBlock | undefined }[] = []
  const chain = {
    now: block('a'),
    fault: undefined as Fault | undefined,
    /** Logs of an hour: so many. */
    logs: 3,
    logsAsked: [] as LogFilter[],
    logHours: [] as Hour[],
    rechecked,
    nextLookUp: Promise.withResolvers<void>(),
  }
  const never = () => Promise.reject(new Error('not asked for here'))
  const reader: ChainReader = {
    id: 1,
    settleMs,
    block: async () => chain.now,
    read: never,
    logs: async (hour, filter) => {
      chain.logsAsked.push(filter)
      chain.logHours.push(hour)
      return { at: chain.now, value: logList(chain.logs) }
    },
    get nextLookUp() {
      return chain.nextLookUp.promise
    },
    recheck: async (hour, _signal, hint) => {
      rechecked.push({ hour, atMs: time.nowMs(), hint })
      if (chain.fault) throw chain.fault
      return chain.now
    },
  }
  return { chain, reader }
}

function logList(count: number): LogList {
  const log = (index: number): RawLog => ({
    ...logFilter,
    topics: [],
    data: '0x',
    blockNumber: 7n,
    logIndex: index,
    transactionHash,
  })
  return new LogList([packed(Array.from({ length: count }, (_, index) => log(index)))])
}

const transactionHash = `0x${'77'.repeat(32)}` as const
const logFilter = { address: `0x${'c0'.repeat(20)}`, topics: [] } as const

interface Staged {
  /** Whether the value is the number of the hour's logs. */
  readonly countsLogs?: boolean
  /** Hours by which the logs are earlier. */
  readonly hoursBefore?: number
  readonly history?: boolean
  readonly catchUpMs?: number
  /** Whether the collector fails by now. */
  readonly isBroken?: () => boolean
}

function stage({
  history = true,
  catchUpMs = 7 * 24 * hourMs,
  isBroken = () => false,
  countsLogs = false,
  hoursBefore,
}: Staged = {}) {
  const time = new VirtualTime(anHour)
  const { chain, reader } = scriptedChain(time)
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  const values = { a: 1, b: 2 }
  const script: Script = () => {
    if (isBroken()) return new Fault('collector-threw', 'it throws')
    if (countsLogs) {
      const logs = [{ filter: logFilter, digest: logList(chain.logs).digest, ...(hoursBefore && { hoursBefore }) }]
      return { readings: { TVL: chain.logs }, failures: {}, pins: [{ chainId: 1, block: chain.now, logs }] }
    }
    const TVL = chain.now.hash === block('a').hash ? values.a : values.b
    return { readings: { TVL }, failures: {}, pins: [{ chainId: 1, block: chain.now }] }
  }
  const runner = new ScriptedRunner({ 'vault/a': { script, history } })
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(String(JSON.parse(line).msg)) })
  const collectors = [collector('a')]
  const clock = confirmed(time)
  const pipeline = pipelineOn(runner, time, { clock, chains: [reader], log })
  const parts = { outbox, pipeline, collectors, chains: [reader], catchUpMs, time, clock, log }
  return {
    chain,
    outbox,
    runner,
    values,
    lines,
    /** Lets the intake run until so long after the hour, and stops it. */
    async until(afterMs: number) {
      const intake = new Intake(parts)
      await time.sleep(anHour + afterMs - time.nowMs())
      await intake.stop()
    },
    async deliver() {
      const due: Metric[] = (await outbox.operators.metrics(anHour, anHour)).filter(({ state }) => state === 'due')
      await outbox.delivery.recordVerdicts({ delivered: due, dead: [], warnings: [] }, time.nowMs())
    },
    stored: () => atOnce(outbox, () => metricsBetween(anHour, anHour)).map(({ value, state }) => [value, state]),
  }
}

describe('a collector that cannot be read again', () => {
  it('holds up no other', async () => {
    const time = new VirtualTime(anHour + 10 * hourMs)
    const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
    onTestFinished(() => outbox.close())
    const { chain, reader } = scriptedChain(time)
    chain.now = block('b')
    const collectors = ['broken', 'other', 'final'].map(protocolId => collector('x', { protocolId }))
    for (const { id, protocolId } of collectors) {
      const accepted = metrics(1, anHour, protocolId).map(metric => ({ metric }))
      const pins = [{ chainId: 1, block: block(protocolId === 'final' ? 'b' : 'a') }]
      await outbox.intake.record(
        { collector: id, hour: anHour, acceptedValues: accepted, pins, unexpected: true },
        anHour,
      )
    }
    const described = { history: true, metrics: { M0: { unit: 'USD' } } } as const
    const runner = new ScriptedRunner({
      'broken/x': { ...described, script: () => new Fault('collector-threw', 'it throws') },
      'other/x': { ...described, script: () => ({ readings: { M0: 5 }, failures: {}, pins: [] }) },
    })
    const finality = new Finality({
      ...{ outbox, pipeline: pipelineOn(runner, time), collectors, chains: [reader], time, catchUpMs: 24 * hourMs },
      clock: confirmed(time),
      describe: async () => described,
      log: silentLog,
      signal: new AbortController().signal,
    })
    finality.pass()
    await finality.ended()
    expect(runner.asked.map(({ id }) => id)).toEqual(['broken/x', 'other/x'])
    const left = await outbox.intake.pinnedHours(1, anHour, 10)
    expect(left.map(({ collector }) => collector)).toEqual(['broken/x'])
  })

  it('is tried again until its hour is too old to be caught up; then its values stay, and that is said', async () => {
    const { until, chain, outbox, stored, lines } = stage({
      isBroken: () => chain.now.hash === block('b').hash,
      catchUpMs: 3 * hourMs,
    })
    await until(minuteMs)
    chain.now = block('b')
    await until(4 * hourMs + 10 * minuteMs)
    expect(await outbox.intake.pinnedHours(1, anHour, 10)).toHaveLength(0)
    expect(stored()).toEqual([[1, 'due']])
    expect(lines.filter(line => line.includes('replaced')).slice(-2)).toEqual([
      'a reorg replaced the hour’s block: reading it again',
      'its block was replaced, and it cannot be read again: its values stay as they are',
    ])
  })
})

describe('a value whose block was not final yet', () => {
  it('stands when the block is still the same at finality, and is not read again', async () => {
    const { until, deliver, stored, chain, runner, outbox } = stage()
    await until(minuteMs)
    expect(await pinCount(outbox)).toBe(1)
    deliver()
    await until(47 * minuteMs)
    expect(chain.rechecked).toHaveLength(0)
    await until(49 * minuteMs)
    expect(chain.rechecked.map(({ hour, hint }) => [hourText(hour), hint])).toEqual([
      ['2026-11-20T13:00:00Z', block('a')],
    ])
    expect(stored()).toEqual([[1, 'delivered']])
    expect(runner.asked.filter(({ hour }) => hour === anHour)).toHaveLength(1)
    expect(await pinCount(outbox)).toBe(0)
  })

  it('is read again after a reorg, is due again when it differs, and a line says so', async () => {
    const { until, deliver, stored, chain, lines } = stage()
    await until(minuteMs)
    deliver()
    chain.now = block('b')
    await until(50 * minuteMs)
    expect(stored()).toEqual([[2, 'due']])
    expect(lines).toEqual([
      'a reorg replaced the hour’s block: reading it again',
      'read again after a reorg: 1 of 1 values differ and are pushed again',
    ])
  })

  it('stays delivered after a reorg that did not change it', async () => {
    const { until, deliver, stored, chain, values, lines } = stage()
    await until(minuteMs)
    deliver()
    chain.now = block('b')
    values.b = values.a
    await until(50 * minuteMs)
    expect(stored()).toEqual([[1, 'delivered']])
    expect(lines.at(-1)).toBe('read again after a reorg: the same values')
  })

  it('is looked at with the chain’s next look-up once that may be final, so that it costs no request', async () => {
    const { until, chain } = stage()
    const run = until(20 * minuteMs)
    // Each look-up of the chain is one that it may travel with, but those before are too early.
    chain.nextLookUp.resolve()
    await run
    expect(chain.rechecked.map(({ atMs }) => atMs - anHour)).toEqual([settleMs])
  })

  it('is looked at after a restart, too, and until the chain answers', async () => {
    const { until, chain, outbox, lines } = stage()
    await until(minuteMs)
    chain.fault = new Fault('chain-unreachable', 'no answer')
    await until(54 * minuteMs)
    expect(chain.rechecked.length).toBeGreaterThan(1)
    expect(await outbox.intake.pinnedHours(1, anHour, 10)).toHaveLength(1)
    chain.fault = undefined
    await until(58 * minuteMs)
    expect(await outbox.intake.pinnedHours(1, anHour, 10)).toHaveLength(0)
    expect(lines).toEqual([])
  })

  it('of an hour before is asked for again as of that hour', async () => {
    const { until, chain, outbox } = stage({ countsLogs: true, hoursBefore: 24 })
    await until(minuteMs)
    await until(50 * minuteMs)
    expect(chain.logHours).toEqual([hourAfter(anHour, -24)])
    expect(await pinCount(outbox)).toBe(0)
  })

  it('of a collector that reads only "now" stays as it is after a reorg, and that is said', async () => {
    const { until, chain, outbox, stored, lines } = stage({ history: false })
    await until(minuteMs)
    chain.now = block('b')
    await until(50 * minuteMs)
    expect(stored()).toEqual([[1, 'due']])
    expect(await outbox.intake.pinnedHours(1, anHour, 10)).toHaveLength(0)
    expect(lines.at(-1)).toBe('its block was replaced, and it cannot be read again: its values stay as they are')
  })
})

describe('a value that was made of logs', () => {
  it('stands when the same are answered at finality, and is not read again', async () => {
    const { until, chain, outbox, runner, stored } = stage({ countsLogs: true })
    await until(minuteMs)
    await until(49 * minuteMs)
    expect(chain.logsAsked).toEqual([logFilter])
    expect(runner.asked.filter(({ hour }) => hour === anHour)).toHaveLength(1)
    expect(stored()).toEqual([[3, 'due']])
    expect(await pinCount(outbox)).toBe(0)
  })

  it('is read again where a node had left some out although the block is the same, and that is said', async () => {
    const { until, deliver, chain, outbox, stored, lines } = stage({ countsLogs: true })
    await until(minuteMs)
    deliver()
    chain.logs = 5
    await until(50 * minuteMs)
    expect(stored()).toEqual([[5, 'due']])
    expect(await pinCount(outbox)).toBe(0)
    expect(lines).toEqual([
      'the hour has other logs than a node answered: reading it again',
      'read again as its logs have changed: 1 of 1 values differ and are pushed again',
    ])
  })

  it('of a collector that reads only "now" stays as it is then, and that is said', async () => {
    const { until, chain, outbox, stored, lines } = stage({ countsLogs: true, history: false })
    await until(minuteMs)
    chain.logs = 5
    await until(50 * minuteMs)
    expect(stored()).toEqual([[3, 'due']])
    expect(await pinCount(outbox)).toBe(0)
    expect(lines.at(-1)).toBe('its logs have changed, and it cannot be read again: its values stay as they are')
  })
})
