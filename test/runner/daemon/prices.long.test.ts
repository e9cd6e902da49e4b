import { describe, expect, it } from 'vitest'
import { priceConfig } from '../../../src/config/load.ts'
import type { PinnedBlock } from '../../../src/model/block.ts'
import { Fault } from '../../../src/model/fault.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { answerKeptMs, Meeting, NamedAnswers, pinnedAnswerKeptMs } from '../../../src/runner/daemon/replies.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

const place = { file: '/tidegauge.yaml', line: 1, column: 1 }
const eth = priceConfig('ETH', [{ fixed: 2000 }], () => place).collector
const block = { number: 7n, hash: `0x${'ab'.repeat(32)}`, timestampSeconds: hour / 1000 } as const
const signal = new AbortController().signal

/** Prices that count how often each is read. */
function counting(pins: readonly PinnedBlock[] = []) {
  const time = new VirtualTime(hour)
  const state = { reads: 0, failing: false }
  const prices = new NamedAnswers({
    kind: 'price',
    readers: { ETH: eth },
    async read() {
      state.reads += 1
      if (state.failing) throw new Fault('http-unreachable', 'it is silent', { fix: 'wait' })
      return { exact: '2000/1', nearest: 2000, pins }
    },
    meeting: new Meeting(time),
    time,
  })
  return { time, state, prices }
}

describe('a price that is kept', () => {
  it.for([
    ['that depends on no block', [], answerKeptMs],
    ['that depends on a block, which a reorg may replace', [{ chainId: 1, block }], pinnedAnswerKeptMs],
  ] as const)('%s is read again after its time', async ([, pins, keptMs]) => {
    const { time, state, prices } = counting(pins)
    await prices.of('ETH', hour, signal)
    await time.sleep(keptMs - 1)
    await prices.of('ETH', hour, signal)
    expect(state.reads).toBe(1)
    await time.sleep(1)
    await prices.of('ETH', hour, signal)
    expect(state.reads).toBe(2)
  })

  it('is that of its own hour', async () => {
    const { state, prices } = counting()
    await prices.of('ETH', hour, signal)
    await prices.of('ETH', hourAfter(hour, 1), signal)
    expect(state.reads).toBe(2)
  })

  it('is read again once it is forgotten, or has failed', async () => {
    const { state, prices } = counting()
    await prices.of('ETH', hour, signal)
    prices.forget('ETH', hour)
    state.failing = true
    const fault = await faultOf(prices.of('ETH', hour, signal))
    expect([fault.code, fault.message, fault.fix]).toEqual([
      'price-unread',
      'there is no price of ETH: it is silent',
      'wait',
    ])
    state.failing = false
    expect((await prices.of('ETH', hour, signal)).nearest).toBe(2000)
    expect(state.reads).toBe(3)
  })

  it('ends the wait of a run that is over, and of no other', async () => {
    const { prices } = counting()
    const ended = new AbortController()
    const [first, second] = [prices.of('ETH', hour, ended.signal), prices.of('ETH', hour, signal)]
    ended.abort(new Fault('stopped', 'the run is over'))
    expect((await faultOf(first)).code).toBe('stopped')
    expect((await second).nearest).toBe(2000)
  })
})

it('a price is read although every place for a process is taken by runs that wait for it', async () => {
  const { runner } = testRunner({ prices: { ETH: eth }, limits: { sharedMax: 1 } })
  const { readings } = await runner.collect(configured('./priced.ts', { options: { name: 'ETH' } }), hour)
  expect(readings['Price']).toBe(2000)
})
