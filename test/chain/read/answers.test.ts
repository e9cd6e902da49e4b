import { describe, expect, it } from 'vitest'
import { systemTime, type Time } from '../../../src/edge/time.ts'
import type { LogFilter } from '../../../src/model/block.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { archive, archiveAnswers } from '../support/archive.ts'
import { answering, NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, openReader, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const hour = hourAfter(firstHour, 1)
const contract = `0x${'c0'.repeat(20)}` as const
const topic = `0x${'77'.repeat(32)}` as const
const filter: LogFilter = { address: contract, topics: [topic] }
const all = Array.from({ length: 300 }, (_, index) => 234n + BigInt(index))
const honest = archiveAnswers(chain)

type Log = Record<string, unknown>

/** A node whose logs are not what they should be. */
function lying(change: (logs: Log[]) => unknown) {
  return answering((method, params) => {
    const answer = honest(method, params)
    return method === 'eth_getLogs' ? change(answer as Log[]) : answer
  })
}

/** The log of a block in the middle is another one. */
const middle = (parts: Log) => (logs: Log[]) => logs.map((log, index) => (index === 150 ? { ...log, ...parts } : log))

describe('logs that a node answers are believed only', () => {
  it.each([
    ['within the range', middle({ blockNumber: '0x216' }), 'answered a log of block 534 when asked for 234 to 533'],
    ['after the hour before', middle({ blockNumber: '0xe9' }), 'answered a log of block 233 when asked for 234 to 533'],
    [
      'of the address',
      middle({ address: `0x${'c1'.repeat(20)}` }),
      'answered a log of block 383 that was not asked for',
    ],
    [
      'of the topics',
      middle({ topics: [`0x${'78'.repeat(32)}`] }),
      'answered a log of block 383 that was not asked for',
    ],
    ['with topics', middle({ topics: [] }), 'answered a log of block 383 that was not asked for'],
    ['of one kind', (logs: Log[]) => [...logs, { ...logs[7], data: topic }], 'answered a log of block 526 twice'],
    [
      'of one block at a number',
      (logs: Log[]) => [...logs, { ...logs[7], blockHash: topic, logIndex: '0x5' }],
      'answered logs of two blocks 526',
    ],
    [
      'of the as-of block itself',
      (logs: Log[]) => logs.map((log, index) => (index === 0 ? { ...log, blockHash: topic } : log)),
      'answered a log of another block 533 than the chain’s',
    ],
    ['as logs', middle({ data: '0x1' }), 'answered something other than logs'],
    ['as a list', () => ({}), 'answered something other than logs'],
  ])('%s', async (_, change, words) => {
    const server = await node(lying(change))
    const fault = await faultOf(openReader([server.url]).logs(hour, filter, patient))
    expect(fault.message).toContain(words)
  })

  it('and another endpoint is asked where they are not', async () => {
    const [first, second] = [await node(lying(middle({ blockNumber: '0x216' }))), await node(archive(chain))]
    const logs = await openReader([first.url, second.url]).logs(hour, filter, patient)
    expect(logs.map(({ blockNumber }) => blockNumber)).toEqual(all)
  })

  it('without those that a reorg has removed, and each once, which is said once', async () => {
    const others = (logs: Log[]) => {
      const removed = { ...logs[7], blockHash: topic, removed: true }
      return [removed, ...logs, ...logs.filter((_, index) => index % 3 === 0), removed]
    }
    const server = await node(lying(others))
    const remarks: string[] = []
    const watch = { failed() {}, served() {}, remarked: (_: unknown, remark: string) => remarks.push(remark) }
    const reader = openReader([server.url], { watch })
    for (const _ of ['first', 'again']) {
      const logs = await reader.logs(hour, filter, patient)
      expect(logs.map(({ blockNumber }) => blockNumber)).toEqual(all)
    }
    expect(remarks).toEqual([
      'answers logs that a reorg has removed: they are left out',
      'answers logs twice: they count once',
    ])
  })

  it('also those of transactions that each count their logs from 0', async () => {
    const server = await node(lying(logs => logs.flatMap(log => [log, { ...log, transactionHash: topic }])))
    expect(await openReader([server.url]).logs(hour, filter, patient)).toHaveLength(600)
  })
})

describe('logs of ranges that are cut', () => {
  it.each([1n, 2n, 3n, 7n, 99n, 149n, 150n, 299n, 300n])(
    'into parts of %i blocks are whole, each once, oldest first',
    async max => {
      const logsIn = (number: bigint) => Number(number % 4n)
      const server = await node(archive(chain, { logBlocksMax: max, logsIn }))
      const logs = await openReader([server.url]).logs(hour, filter, patient)
      const expected = all.flatMap(number => Array.from({ length: logsIn(number) }, (_, index) => [number, index]))
      expect(logs.map(({ blockNumber, logIndex }) => [blockNumber, logIndex])).toEqual(expected)
    },
  )

  it('because the answer is too large are whole', async () => {
    // 15 MB in all: more than is read of one answer.
    const server = await node(archive(chain, { logsIn: () => 100 }))
    const reader = openChain([server.url])
    const { value } = await reader.logs(hour, filter, patient)
    expect(value.length).toBe(30_000)
    let [last, count] = [0n, 0]
    for (const { blockNumber } of value) {
      expect(blockNumber >= last).toBe(true)
      ;[last, count] = [blockNumber, count + 1]
    }
    expect(count).toBe(30_000)
    expect(reader.health()[0]?.state).toBe('well')
  })

  it('because the node takes too long are whole, and it is not taken for dead', async () => {
    const waiting = new Set<AbortController>()
    const time: Time = {
      ...systemTime,
      timeout() {
        const controller = new AbortController()
        waiting.add(controller)
        return controller.signal
      },
    }
    let timeouts = 0
    const server = await node((calls, response, body) => {
      const isLong = calls.some(({ method, params }) => {
        const [range] = params as [Record<string, string>?]
        return method === 'eth_getLogs' && BigInt(range?.['toBlock'] ?? 0) - BigInt(range?.['fromBlock'] ?? 0) > 50n
      })
      if (!isLong) return archive(chain)(calls, response, body)
      timeouts++
      for (const controller of waiting) controller.abort(new DOMException('too late', 'TimeoutError'))
    })
    const reader = openChain([server.url], { time })
    const read = async () => [...(await reader.logs(hour, filter, patient)).value].map(({ blockNumber }) => blockNumber)
    expect(await read()).toEqual(all)
    // A large step down, as each try costs as long.
    expect(timeouts).toBe(1)
    expect(reader.health()[0]?.state).toBe('well')
    for (let reading = 0; reading < 10; reading++) await read()
    expect(timeouts).toBe(1)
  })
})

describe('an endpoint that does not serve logs', () => {
  const switchedOff = (code: number, message: string) =>
    answering((method, params) => {
      if (method === 'eth_getLogs') throw new NodeError(code, message)
      return honest(method, params)
    })
  const read = { kind: 'call', to: contract, input: '0x02' } as const

  it.each([
    [-32005, 'limit exceeded'],
    [-32601, 'the method eth_getLogs does not exist/is not available'],
    [-32000, 'eth_getLogs is disabled'],
  ])('slows down no other read and keeps none from being answered there: %i %s', async (code, message) => {
    const server = await node(switchedOff(code, message))
    const reader = openChain([server.url])
    for (let round = 0; round < 5; round++) {
      const logs = reader.logs(hour, filter, patient)
      const [, own] = await Promise.all([
        faultOf(logs),
        reader.read(hour, [{ ...read, input: `0x0${round}` }], patient),
      ])
      expect(own.value).toMatchObject([{ kind: 'returned' }])
    }
    const fault = await faultOf(reader.logs(hour, filter, patient))
    expect(fault.message).toContain('serves no logs, not even of its last block: it answered an error')
    expect(fault.fix).toContain('eth_getLogs')
    expect(reader.health()).toEqual([expect.not.objectContaining({ callsPerSecondMax: expect.anything() })])
    expect(reader.health()[0]?.state).toBe('well')
  })

  it.each([
    ['is there', answering(honest)],
    ['is not there', switchedOff(-32000, 'eth_getLogs is disabled')],
  ])('is asked for them once an hour, by all filters: another node %s', async (_, second) => {
    const [without, other] = [await node(switchedOff(-32601, 'the method does not exist')), await node(second)]
    const time = new VirtualTime(1_700_100_000_000)
    const reader = openChain([without.url, other.url], { time })
    const asked = () => without.requests.flat().filter(method => method === 'eth_getLogs').length
    const attempt = (filters: number) => {
      const topics = Array.from({ length: filters }, (_, index) => `0x${String(index).padStart(64, '0')}` as const)
      return Promise.allSettled(topics.map(topic => reader.logs(hour, { ...filter, topics: [topic] }, patient)))
    }
    await attempt(42)
    const first = asked()
    // Six at a time, and for each at most one that shows that there are none.
    expect(first).toBeLessThanOrEqual(12)
    for (const hours of [0, 0.9, 0.2, 0.9]) {
      await time.sleep(hours * hourMs)
      await attempt(42)
    }
    expect(asked() - first).toBe(1)
  })

  it.each([
    [-32001, 'Receipt not available for From block 5.'],
    [-32603, 'Internal error'],
  ])('of old blocks is one that does not keep them: %i %s', async (code, message) => {
    const server = await node(
      answering((method, params) => {
        const [range] = params as [Record<string, string>?]
        if (method === 'eth_getLogs' && range?.['fromBlock'] !== 'latest') throw new NodeError(code, message)
        return honest(method, params)
      }),
    )
    const reader = openChain([server.url])
    const fault = await faultOf(reader.logs(hour, filter, patient))
    expect([fault.code, fault.fix]).toEqual(['chain-state-missing', expect.stringContaining('archive node')])
    expect(fault.message).toContain('has no logs of block 234, though of its last block: it ')
    // It has the state all the same.
    expect((await reader.read(hour, [read], patient)).value).toMatchObject([{ kind: 'returned' }])
    expect(reader.health()[0]?.servesStateFrom).toBe(533n)
  })

  it('is passed over for logs alone where there is another one', async () => {
    const [first, second] = [await node(switchedOff(-32005, 'limit exceeded')), await node(archive(chain))]
    const reader = openChain([first.url, second.url])
    const [logs, own] = await Promise.all([reader.logs(hour, filter, patient), reader.read(hour, [read], patient)])
    expect(logs.value.length).toBe(300)
    expect(own.value).toMatchObject([{ kind: 'returned' }])
    expect(second.requests.flat()).not.toContain('eth_call')
  })

  it('is waited for where it limits how often it is asked', async () => {
    let refusals = 1
    const server = await node(
      answering((method, params) => {
        if (method === 'eth_getLogs' && refusals-- > 0) throw new NodeError(-32005, 'too many requests: 10 per second')
        return honest(method, params)
      }),
    )
    const reader = openChain([server.url])
    expect((await reader.logs(hour, filter, patient)).value.length).toBe(300)
  })
})
