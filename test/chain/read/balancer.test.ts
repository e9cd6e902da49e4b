import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../src/model/block.ts'
import type { Fault } from '../../../src/model/fault.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { type Answers, archiveAnswers, valueAt } from '../support/archive.ts'
import { answering, json } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const hour = hourAfter(firstHour, 1)
const contract = `0x${'c0'.repeat(20)}` as const
const filter = { address: contract, topics: [] }
const timestampOf = (number: number) => genesisSeconds + 12 * number
/** The hour's last block is 533. */
const upToDate = scriptedChain(535, timestampOf)
const logsIn = (number: bigint) => (number % 10n === 0n ? 1 : 0)
/** Blocks with logs, and those by the hash of their block, which is in their data. */
const whole = Array.from({ length: 30 }, (_, index) => 240n + 10n * BigInt(index))
const ofChain = whole.map(number => upToDate.header(number)?.hash)

const others = {
  'some blocks behind': scriptedChain(505, timestampOf),
  'one block behind the hour': scriptedChain(532, timestampOf),
  'on another branch': scriptedChain(535, timestampOf, { fork: 520 }),
}

type Way = 'batches that are parted' | 'no batches'

/** Two nodes behind one address: every call for logs meets the other one, and so do some of the rest. */
function balanced(way: Way, other: Answers, isOther: (method: string) => boolean) {
  const best = archiveAnswers(upToDate, { logsIn })
  const answered = answering((method, params) => (isOther(method) ? other : best)(method, params))
  return (...[calls, response, body]: Parameters<typeof answered>) => {
    if (way === 'no batches' && calls.length > 1) {
      return json(response, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } })
    }
    return answered(calls, response, body)
  }
}

describe('behind a load balancer logs are whole, or they fail', () => {
  const ways: readonly Way[] = ['batches that are parted', 'no batches']
  const cases = ways.flatMap(way => Object.entries(others).map(([name, chain]) => ({ way, name, chain })))

  it.each(cases)('$way, a node $name answers some', async ({ way, chain }) => {
    const other = archiveAnswers(chain, { logsIn })
    let asked = 0
    const isOther = (method: string) => method === 'eth_getLogs' && asked++ % 2 === 0
    const server = await node(balanced(way, other, isOther))
    const reader = openChain([server.url])
    const outcome = await reader.logs(hour, filter, patient).then(
      ({ value }) => [...value].map(({ data }) => data),
      (fault: Fault) => fault.message,
    )
    const incomplete = expect.stringMatching(/left out the logs of block|answered logs? of another block/)
    expect(outcome).toEqual(typeof outcome === 'string' ? incomplete : ofChain)
  })

  it('a node that is far behind answers whole batches, then the other one does', async () => {
    const [best, other] = [upToDate, scriptedChain(300, timestampOf)].map(chain => archiveAnswers(chain, { logsIn }))
    if (!best || !other) throw new Error('there are two')
    let turn = 0
    const server = await node((calls, response, body) => {
      const isOfLogs = calls.some(({ method }) => method === 'eth_getLogs')
      return answering(isOfLogs && turn++ === 0 ? other : best)(calls, response, body)
    })
    const { value } = await openChain([server.url]).logs(hour, filter, patient)
    expect([...value].map(({ blockNumber }) => blockNumber)).toEqual(whole)
  })

  it('says what is missing where only nodes answer that are behind', async () => {
    const other = archiveAnswers(others['some blocks behind'], { logsIn })
    const best = archiveAnswers(upToDate, { logsIn })
    const server = await node(
      answering((method, params) => {
        const [range] = params as [Record<string, unknown>?]
        return (method === 'eth_getLogs' && !range?.['blockHash'] ? other : best)(method, params)
      }),
    )
    const fault = await faultOf(openChain([server.url]).logs(hour, filter, patient))
    expect(fault.message).toContain('left out the logs of block 530')
    expect(fault.permanence).toBe('transient')
  })

  it('and of what is long past only some headers are looked at, in a request that hours share', async () => {
    const old = scriptedChain(10_000, timestampOf)
    const server = await node(answering(archiveAnswers(old, { logsIn })))
    const reader = openChain([server.url])
    const hours = [0, 1, 2, 3].map(later => hourAfter(hour, later))
    for (const each of [hourAfter(hour, -1), ...hours]) await reader.block(each, patient)
    await reader.logs(hour, filter, patient)
    const before = server.requests.length
    await Promise.all(hours.map(each => reader.logs(each, filter, patient)))
    const header = 'eth_getBlockByNumber'
    expect(server.requests.slice(before).sort((a, b) => b.length - a.length)).toEqual([
      Array.from({ length: 4 * 8 }, () => header),
      ...hours.map(() => [header, 'eth_getLogs', header]),
    ])
  })
})

describe('a cold read of the current hour behind a balancer with a lagging node', () => {
  const inputs: readonly Hex[] = ['0x02', '0x03']
  const reads = inputs.map(input => ({ kind: 'call', to: contract, input }) as const)
  const right = inputs.map(input => ({ kind: 'returned', output: valueAt(input, 533n) }))
  const lags = { 'ten minutes behind': 505 - 50, 'a minute behind the hour': 528, 'one block behind the hour': 533 }
  /** By request, in turn: whether the lagging node answers it. */
  const turns = ['01', '10', '001', '010', '100', '011', '101', '110', '0011', '0110', '1100', '1001', '000001']
  const cases = Object.entries(lags).flatMap(([name, head]) => turns.map(turn => ({ name, head, turn })))

  it.each(cases)('$name, that answers $turn', async ({ head, turn }) => {
    for (const takesHashes of [true, false]) {
      const lagging = archiveAnswers(scriptedChain(head, timestampOf), { takesHashes })
      const up = archiveAnswers(upToDate, { takesHashes })
      let requests = 0
      const server = await node((calls, response, body) => {
        const isLagging = turn[requests++ % turn.length] === '1'
        return answering(isLagging ? lagging : up)(calls, response, body)
      })
      const time = new VirtualTime((timestampOf(535) + 5) * 1_000)
      const reader = openChain([server.url], { time })
      const { value, at } = await reader.read(hour, reads, patient)
      expect({ value, number: at.number, takesHashes }).toEqual({ value: right, number: 533n, takesHashes })
      expect(requests).toBeLessThan(60)
    }
  })

  it('asks nothing again where the node is alone and the chain has no block past the hour', async () => {
    const server = await node(answering(archiveAnswers(scriptedChain(533, timestampOf))))
    const reader = openChain([server.url], { time: new VirtualTime((timestampOf(533) + 20) * 1_000) })
    for (const requests of [1 + 3, 1 + 3 + 1]) {
      expect((await faultOf(reader.block(hour, patient))).code).toBe('chain-behind')
      expect(server.requests.length).toBe(requests)
    }
  })
})

describe('reads that no code certifies, behind a balancer', () => {
  const readsOf = (input: Hex, slot: string) =>
    [
      { kind: 'call-from', to: contract, from: `0x${'f0'.repeat(20)}`, input },
      { kind: 'storage', address: contract, slot: `0x${slot.padStart(64, '0')}` },
    ] as const

  it.each([1, 0])('are believed only in a request that shows that hashes are taken: %i', async honest => {
    const traits = { multicallFrom: 9_999n, runsCode: [] }
    const taking = archiveAnswers(upToDate, traits)
    const atHead: Answers = (method, params) =>
      taking(
        method,
        params.map(one => (typeof one === 'object' && one && 'blockHash' in one ? 'latest' : one)),
      )
    let isSettled = false
    const server = await node((calls, response, body) =>
      answering(isSettled && !honest ? atHead : taking)(calls, response, body),
    )
    const reader = openChain([server.url])
    const { value } = await reader.read(hour, readsOf('0x05', '02'), patient)
    expect(value).toMatchObject([{ output: valueAt('0x05', 533n) }, { output: valueAt('0x02', 533n) }])
    isSettled = true
    const outcome = await reader.read(hour, readsOf('0x06', '03'), patient).catch((fault: Fault) => fault.message)
    const values = [{ output: valueAt('0x06', 533n) }, { output: valueAt('0x03', 533n) }]
    if (honest) expect(outcome).toMatchObject({ value: values })
    else expect(outcome).toContain('a hash that no block has')
  })
})
