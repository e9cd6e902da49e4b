import { describe, expect, it } from 'vitest'
import { LogList, packed } from '../../../src/chain/log-list.ts'
import type { Hex } from '../../../src/model/block.ts'
import { RunBlocks } from '../../../src/runner/daemon/replies.ts'
import type { ChainQuestion, ChainReply } from '../../../src/runner/messages.ts'
import { chainOf } from '../../support/reads.ts'

const never = () => Promise.reject(new Error('not asked for here'))
const chain = chainOf({ block: never, read: never, logs: never })
const ask: ChainQuestion = { kind: 'read', requests: [] }
const at = (branch: string) => ({ number: 7n, hash: `0x${branch.repeat(64)}` as Hex, timestampSeconds: 1 })
const read = (branch: string): ChainReply => ({ kind: 'read', at: at(branch), value: [] })

describe('the blocks a run has read', () => {
  it('are one for each chain', () => {
    const pins = new RunBlocks({ one: chain, two: { ...chain, id: 2 } })
    expect(pins.checked('one', ask, read('a')).kind).toBe('read')
    expect(pins.checked('one', ask, { kind: 'block', at: at('a') }).kind).toBe('block')
    expect(pins.checked('two', ask, { kind: 'logs', at: at('b'), value: [] }).kind).toBe('logs')
    expect(pins.all).toEqual([
      { chainId: 1, block: at('a') },
      { chainId: 2, block: at('b') },
    ])
  })

  it('are never two of one chain: what a reorg has replaced meanwhile fails the run', () => {
    const pins = new RunBlocks({ one: chain })
    pins.checked('one', ask, read('a'))
    expect(pins.checked('one', ask, read('b'))).toMatchObject({ kind: 'faulted', fault: { code: 'chain-reorganized' } })
    expect(pins.all).toEqual([{ chainId: 1, block: at('a') }])
  })

  it('are those of a price, too, and differ from none that were read', () => {
    const pins = new RunBlocks({ one: chain })
    pins.add([{ chainId: 1, block: at('a') }])
    expect(pins.checked('one', ask, read('b'))).toMatchObject({ kind: 'faulted', fault: { code: 'chain-reorganized' } })
    expect(() => pins.add([{ chainId: 1, block: at('b') }])).toThrow('one was reorganized')
    expect(pins.all).toEqual([{ chainId: 1, block: at('a') }])
  })

  it('are none of a read that failed', () => {
    const pins = new RunBlocks({ one: chain })
    const fault: ChainReply = { kind: 'faulted', fault: { code: 'chain-unreachable', message: 'no answer', facts: {} } }
    expect(pins.checked('one', ask, fault)).toBe(fault)
    expect(pins.all).toEqual([])
  })

  it('are none of earlier hours, whose logs are kept with how much earlier they are', () => {
    const pins = new RunBlocks({ one: chain })
    const filter = { address: `0x${'c0'.repeat(20)}`, topics: [] } as const
    pins.checked('one', ask, read('a'))
    expect(pins.checkedEarlier('one', ask, read('b'), 24).kind).toBe('read')
    expect(pins.checkedEarlier('one', ask, read('c'), 1).kind).toBe('read')
    expect(pins.checkedEarlier('one', ask, read('c'), 24)).toMatchObject({ fault: { code: 'chain-reorganized' } })
    pins.checkedEarlier('one', { kind: 'logs', filter }, { kind: 'logs', at: at('b'), value: [] }, 24)
    const { digest } = new LogList([])
    expect(pins.all).toEqual([{ chainId: 1, block: at('a'), logs: [{ filter, digest, hoursBefore: 24 }] }])
  })

  it('come with the logs that it was made of, so that these can be asked for again', () => {
    const pins = new RunBlocks({ one: chain })
    const filter = { address: `0x${'c0'.repeat(20)}`, topics: [] } as const
    const transactionHash = `0x${'77'.repeat(32)}` as const
    const log = {
      address: filter.address,
      topics: [],
      data: '0x',
      blockNumber: 7n,
      logIndex: 0,
      transactionHash,
    } as const
    const some: ChainReply = { kind: 'logs', at: at('a'), value: [packed([log])] }
    pins.checked('one', ask, read('a'))
    pins.checked('one', { kind: 'logs', filter }, some)
    expect(pins.all).toEqual([
      { chainId: 1, block: at('a'), logs: [{ filter, digest: new LogList([packed([log])]).digest }] },
    ])
  })
})
