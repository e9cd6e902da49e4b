import { describe, expect, it } from 'vitest'
import type { ReadAnswer, ReadRequest } from '../../../src/chain/reads.ts'
import type { Hex } from '../../../src/model/block.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { type ArchiveTraits, archive, valueAt } from '../support/archive.ts'
import { answering, NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openReader, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'
import { MemoryFinalBlocks } from '../support/synthetic-final-blocks.ts'

/** Every 12 s, from 2023-11-14T22:13:20Z: the as-of block of the first hour is 233. */
const chain = scriptedChain(100_000, number => genesisSeconds + 12 * number)
const asOfFirst = 233n
const contract: Hex = '0x00000000000000000000000000000000000000c0'

function calls(count: number): ReadRequest[] {
  return Array.from({ length: count }, (_, index) => {
    return { kind: 'call', to: contract, input: `0x${(index + 1).toString(16).padStart(8, '0')}` }
  })
}

function inputsOf(requests: readonly ReadRequest[]): Hex[] {
  return requests.flatMap(request => (request.kind === 'call' ? request.input : []))
}

function valuesAt(requests: readonly ReadRequest[], number: bigint): ReadAnswer[] {
  return requests.map(request => ({
    kind: 'returned',
    output: request.kind === 'call' ? valueAt(request.input, number) : '0x',
  }))
}

async function archiveWith(traits: ArchiveTraits = {}) {
  const server = await node(archive(chain, traits))
  const calls = () => server.requests.flat().filter(method => method === 'eth_call').length
  return { server, calls, reader: openReader([server.url]) }
}

describe('reads of an hour', () => {
  it('of several callers in the same turn are one eth_call, and each different read is made once', async () => {
    const { server, calls: ethCalls, reader } = await archiveWith({ aggregateCallsMax: 10 + 3 })
    const requests = calls(10)
    const asked = await Promise.all([
      reader.read(firstHour, requests.slice(0, 7), patient),
      reader.read(firstHour, requests.slice(5), patient),
      ...requests.map(request => reader.read(firstHour, [request], patient)),
    ])
    const expected = valuesAt(requests, asOfFirst)
    expect(asked[0]).toEqual(expected.slice(0, 7))
    expect(asked[1]).toEqual(expected.slice(5))
    expect(asked.slice(2)).toEqual(expected.map(answer => [answer]))
    expect(ethCalls()).toBe(1)
    expect(server.requests.flat().filter(method => method === 'eth_chainId')).toHaveLength(1)
  })

  it('that come one after the other in a turn share an eth_call, the block being known', async () => {
    const { calls: ethCalls, reader } = await archiveWith()
    await reader.block(firstHour, patient)
    // As messages of a thread come: each in a callback of its own, with all promises served between them.
    const later = (request: ReadRequest) =>
      new Promise<readonly ReadAnswer[]>((resolve, reject) => {
        setImmediate(() => reader.read(firstHour, [request], patient).then(resolve, reject))
      })
    await Promise.all(calls(20).map(later))
    expect(ethCalls()).toBe(1)
  })

  it('are halved while the node runs out of gas, and come to the same', async () => {
    const { calls: ethCalls, reader } = await archiveWith({ aggregateCallsMax: 30 })
    const requests = calls(100)
    expect(await reader.read(firstHour, requests, patient)).toEqual(valuesAt(requests, asOfFirst))
    // The two halves are refused alike: one of them is asked alone, to see that it was not for being two.
    expect(ethCalls()).toBe(1 + 2 + 1 + 4)
  })

  it('that got no gas within an aggregate are made again alone', async () => {
    const { calls: ethCalls, reader } = await archiveWith({ aggregateCallsFed: 4 + 3 })
    const requests = calls(8)
    expect(await reader.read(firstHour, requests, patient)).toEqual(valuesAt(requests, asOfFirst))
    // Two tell which code the endpoint runs.
    expect(ethCalls()).toBe(1 + 2 + 4)
  })

  it.for([
    ['through Multicall3', {}, 1],
    // Multicall3 is looked for in each later block.
    ['one by one', { multicallFrom: 9_999n }, 8 + 1],
  ] as const)(
    'that revert without data, as they did alone, cost an hour no more calls: %s',
    async ([, traits, each]) => {
      const requests = calls(8)
      const reverting = new Set(inputsOf(requests.slice(3, 5)))
      const { calls: ethCalls, reader } = await archiveWith({ ...traits, reverting })
      const at = (number: bigint) =>
        valuesAt(requests, number).map((answer, index) => {
          return reverting.has(inputsOf(requests)[index] ?? '0x') ? { kind: 'reverted', output: '0x' } : answer
        })
      await reader.read(firstHour, requests, patient)
      for (const [hours, number] of [
        [1, 300n],
        [2, 600n],
        [3, 900n],
      ] as const) {
        const before = ethCalls()
        expect(await reader.read(hourAfter(firstHour, hours), requests, patient)).toEqual(at(asOfFirst + number))
        expect(ethCalls() - before).toBe(each)
      }
      // An upgrade of the contract may bring such a function, or one that once got too little gas.
      reverting.clear()
      const last = hourAfter(firstHour, 4)
      expect(await reader.read(last, requests, patient)).toEqual(valuesAt(requests, asOfFirst + 1200n))
    },
  )

  it('that revert without data are made again when one of them never did before', async () => {
    const reverting = new Set(inputsOf(calls(2).slice(0, 1)))
    const { calls: ethCalls, reader } = await archiveWith({ reverting })
    await reader.read(firstHour, calls(2), patient)
    const [before, next] = [ethCalls(), hourAfter(firstHour, 1)]
    for (const input of inputsOf(calls(2))) reverting.add(input)
    const answers = [
      { kind: 'reverted', output: '0x' },
      { kind: 'reverted', output: '0x' },
    ]
    expect(await reader.read(next, calls(2), patient)).toEqual(answers)
    // Both in code, and the one that is not known without.
    expect(ethCalls() - before).toBe(1 + 2 + 2)
  })

  it('are made one by one in a batch where Multicall3 is not deployed yet, and come to the same', async () => {
    const { server, calls: ethCalls, reader } = await archiveWith({ multicallFrom: 1_000n })
    const requests = calls(60)
    expect(await reader.read(firstHour, requests, patient)).toEqual(valuesAt(requests, asOfFirst))
    // Two tell which code the endpoint runs.
    expect(ethCalls()).toBe(1 + 2 + 60)
    expect(server.requests.at(-1)).not.toContain('eth_getBlockByNumber')
  })

  it('fall back to block numbers, once, where the node does not take hashes', async () => {
    const { calls: ethCalls, reader } = await archiveWith({ takesHashes: false })
    const requests = calls(3)
    const next = hourAfter(firstHour, 1)
    expect(await reader.read(firstHour, requests, patient)).toEqual(valuesAt(requests, asOfFirst))
    expect(await reader.read(next, requests, patient)).toEqual(valuesAt(requests, asOfFirst + 300n))
    // Three tell that hashes are not taken.
    expect(ethCalls()).toBe(2 + 3 + 1)
  })

  it('travel in several calls when they are more than fit one', async () => {
    const { calls: ethCalls, reader } = await archiveWith()
    const requests = calls(2_500)
    expect(await reader.read(firstHour, requests, patient)).toEqual(valuesAt(requests, asOfFirst))
    expect(ethCalls()).toBe(3)
  })

  it('of a node that answers for another block are refused', async () => {
    // Takes the block of every call for the latest one, as a careless proxy does.
    const honest = archive(chain)
    const server = await node((asked, response, body) => {
      const moved = asked.map(call =>
        call.method === 'eth_call' ? { ...call, params: [call.params[0], 'latest'] } : call,
      )
      return honest(moved, response, body)
    })
    const fault = await faultOf(openReader([server.url]).read(firstHour, calls(1), patient))
    expect(fault.code).toBe('chain-unreachable')
    expect(fault.message).toContain('read at timestamp')
  })

  it.each([
    ['together', {}],
    ['together, by number', { takesHashes: false }],
    ['one by one', { multicallFrom: 1_000n }],
  ])('after a reorg fail once, then come from the new block (%s)', async (_, traits: ArchiveTraits) => {
    let current = chain
    const server = await node((asked, response, body) => archive(current, traits)(asked, response, body))
    const reader = openReader([server.url])
    await reader.read(firstHour, calls(1), patient)
    // The hour loses its last two blocks, and the next one comes later.
    current = scriptedChain(100_000, number => genesisSeconds + 12 * number + (number > 231 ? 30 : 0), { fork: 232 })
    expect((await faultOf(reader.read(firstHour, calls(2), patient))).permanence).toBe('transient')
    expect(await reader.read(firstHour, calls(2), patient)).toEqual(valuesAt(calls(2), 231n))
  })

  it('fail once where the block that was kept is not of this chain, then come from the right one', async () => {
    const { server } = await archiveWith()
    const finalBlocks = new MemoryFinalBlocks()
    const block = { number: asOfFirst, hash: `0x${'e'.repeat(64)}` as Hex, timestampSeconds: 1_700_002_796 }
    await finalBlocks.keep([{ hour: firstHour, block }])
    const reader = openReader([server.url], { finalBlocks })
    expect((await faultOf(reader.read(firstHour, calls(2), patient))).permanence).toBe('transient')
    expect(await reader.read(firstHour, calls(2), patient)).toEqual(valuesAt(calls(2), asOfFirst))
  })

  it('fail all together when the node fails: never a value, never a revert', async () => {
    const honest = archive(chain)
    const dead = answering(() => {
      throw new NodeError(-32000, 'missing trie node 5f0a (path ) state is not available')
    })
    const server = await node((asked, response, body) => {
      const reads = asked.some(({ method }) => method === 'eth_call')
      return (reads ? dead : honest)(asked, response, body)
    })
    const reader = openReader([server.url])
    const faults = await Promise.all(calls(3).map(request => faultOf(reader.read(firstHour, [request], patient))))
    expect(faults.map(({ code }) => code)).toEqual(Array(3).fill('chain-unreachable'))
  })
})

describe('logs of an hour', () => {
  it('are those after the block of the hour before, oldest first, in ranges the node can bear', async () => {
    for (const traits of [{}, { logBlocksMax: 100n }]) {
      const { reader } = await archiveWith(traits)
      const logs = await reader.logs(hourAfter(firstHour, 1), { address: contract, topics: [] }, patient)
      expect(logs.map(({ blockNumber }) => blockNumber)).toEqual(
        Array.from({ length: 300 }, (_, index) => asOfFirst + 1n + BigInt(index)),
      )
    }
  })

  it('of the first hour begin with the first block', async () => {
    const { reader } = await archiveWith()
    expect(await reader.logs(firstHour, { address: contract, topics: [] }, patient)).toHaveLength(Number(asOfFirst) + 1)
  })
})

describe('the as-of block', () => {
  it('is searched once, however many ask, and remembered', async () => {
    const { server, reader } = await archiveWith()
    const blocks = await Promise.all([1, 2, 3].map(() => reader.block(firstHour, patient)))
    const requests = server.requests.length
    blocks.push(await reader.block(firstHour, patient))
    for (const block of blocks) expect(block).toMatchObject({ number: asOfFirst, timestampSeconds: 1_700_002_796 })
    expect(server.requests).toHaveLength(requests)
  })

  it('the last caller who gives up ends the search, the others do not', async () => {
    const { reader } = await archiveWith()
    const impatient = new AbortController()
    const given = faultOf(reader.block(firstHour, impatient.signal))
    const kept = reader.block(firstHour, patient)
    impatient.abort()
    expect((await given).code).toBe('stopped')
    expect((await kept).number).toBe(asOfFirst)
  })

  it('of an hour past the head is not guessed', async () => {
    const { reader } = await archiveWith()
    const fault = await faultOf(reader.block(hourAfter(firstHour, 1_000), patient))
    expect(fault).toMatchObject({ code: 'chain-behind', permanence: 'transient' })
  })

  it('of an hour before the first block does not exist', async () => {
    const { reader } = await archiveWith()
    const fault = await faultOf(reader.block(hourAfter(firstHour, -1), patient))
    expect(fault).toMatchObject({ code: 'chain-before-first-block', permanence: 'permanent' })
  })
})
