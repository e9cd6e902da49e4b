import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ChainReader } from '../../src/chain/reads.ts'
import { WatchedClock } from '../../src/intake/hour-clock.ts'
import { Intake } from '../../src/intake/intake.ts'
import type { AsOfBlock } from '../../src/model/block.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { WrongTime } from '../delivery/support/scripted-time.ts'
import { collector, pipelineOn, type Script, ScriptedRunner } from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { anHour } from '../support/metrics.ts'
import { pinCount, rowsBetween } from '../support/stored-hours.ts'
import { VirtualTime } from '../support/virtual-time.ts'

const minuteMs = 60_000

function block(branch: string): AsOfBlock {
  return { number: 7n, hash: `0x${branch.repeat(64)}`, timestampSeconds: anHour / 1000 - 1 }
}

/** A chain whose block of each hour is what somebody says; it writes down what is re-checked. */
class SaidChain implements ChainReader {
  readonly id: number
  readonly settleMs: number
  now = block('a')
  readonly rechecked: Hour[] = []
  readonly nextLookUp = new Promise<void>(() => {})

  constructor(id: number, settleMs: number) {
    this.id = id
    this.settleMs = settleMs
  }

  async block(): Promise<AsOfBlock> {
    return this.now
  }

  async recheck(hour: Hour): Promise<AsOfBlock> {
    this.rechecked.push(hour)
    return this.now
  }

  read(): Promise<never> {
    return Promise.reject(new Error('not asked for here'))
  }

  logs(): Promise<never> {
    return Promise.reject(new Error('not asked for here'))
  }
}

interface Staged {
  readonly startMs: number
  readonly history: boolean
  readonly script: (time: VirtualTime) => Script
  readonly chains?: readonly ChainReader[]
  readonly aheadMs?: number
}

function stage({ startMs, history, script, chains = [], aheadMs = 0 }: Staged) {
  const time = new VirtualTime(startMs)
  const machine = new WrongTime(time)
  machine.aheadMs = aheadMs
  const clock = new WatchedClock(machine)
  clock.sawService(-aheadMs)
  const outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  onTestFinished(() => outbox.close())
  const runner = new ScriptedRunner({ 'vault/a': { script: script(time), history } })
  const intake = new Intake({
    outbox,
    pipeline: pipelineOn(runner, clock, { clock, chains }),
    collectors: [collector('a')],
    chains,
    catchUpMs: 7 * 24 * hourMs,
    time: clock,
    clock,
    log: silentLog,
  })
  return {
    outbox,
    async until(atMs: number) {
      await time.sleep(atMs - time.nowMs())
    },
    stop: () => intake.stop(),
  }
}

describe('an answer that comes after the end of its hour', () => {
  const slow =
    (time: VirtualTime): Script =>
    async hour => {
      const isFirst = hour === anHour
      if (isFirst) await time.sleep(15 * minuteMs)
      return { readings: { TVL: isFirst ? 666 : 2 }, failures: {}, pins: [] }
    }

  it('is not stored for it where the collector reads only "now"', async () => {
    const { outbox, until, stop } = stage({ startMs: anHour + 50 * minuteMs, history: false, script: slow })
    await until(hourAfter(anHour, 1) + 20 * minuteMs)
    await stop()
    expect(
      (await outbox.operators.metrics(anHour, hourAfter(anHour, 1))).map(({ hour, value }) => [hour, value]),
    ).toEqual([[hourAfter(anHour, 1), 2]])
    expect(await rowsBetween(outbox, anHour, anHour)).toMatchObject([{ state: 'gap', fault: { code: 'hour-passed' } }])
  })

  it('is stored where the past can be read', async () => {
    const { outbox, until, stop } = stage({ startMs: anHour + 50 * minuteMs, history: true, script: slow })
    await until(hourAfter(anHour, 1) + 20 * minuteMs)
    await stop()
    expect((await outbox.operators.metrics(anHour, anHour)).map(({ value }) => value)).toEqual([666])
  })
})

describe('a value whose block is not final', () => {
  const readsOf =
    (...chains: SaidChain[]) =>
    (): Script =>
    () => ({ readings: { TVL: 1 }, failures: {}, pins: chains.map(chain => ({ chainId: chain.id, block: chain.now })) })

  it('and that was read again for a reorg of one chain is re-checked on the slower one, too', async () => {
    const [fast, slow] = [new SaidChain(1, 3 * minuteMs), new SaidChain(137, 20 * minuteMs)]
    const { outbox, until, stop } = stage({
      startMs: anHour + minuteMs,
      history: true,
      script: readsOf(fast, slow),
      chains: [fast, slow],
    })
    await until(anHour + 2 * minuteMs)
    fast.now = block('b')
    await until(anHour + 15 * minuteMs)
    expect(await outbox.intake.pinnedHours(slow.id, anHour, 10)).toMatchObject([
      { hour: anHour, block: { hash: slow.now.hash } },
    ])
    await until(hourAfter(anHour, 2) + 30 * minuteMs)
    await stop()
    expect(slow.rechecked).toContain(anHour)
    expect(await outbox.intake.pinnedHours(slow.id, anHour, 10)).toEqual([])
  })

  it('is re-checked by the earliest clock: one that is ahead by more than "settle" does not take it for final', async () => {
    const chain = new SaidChain(1, 10 * minuteMs)
    const { outbox, until, stop } = stage({
      startMs: anHour + 5 * minuteMs,
      history: true,
      script: readsOf(chain),
      chains: [chain],
      aheadMs: 25 * minuteMs,
    })
    await until(anHour + 6 * minuteMs)
    expect(await pinCount(outbox)).toBe(1)
    await until(anHour + 9 * minuteMs)
    expect(chain.rechecked).toEqual([])
    await until(hourAfter(anHour, 1) + 5 * minuteMs)
    await stop()
    expect(chain.rechecked).toContain(anHour)
  })
})
