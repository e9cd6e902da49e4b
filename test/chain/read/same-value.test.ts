import { describe, expect, it } from 'vitest'
import { readAt } from '../../../src/chain/read/read.ts'
import { multicall3Address, ReadMemory } from '../../../src/chain/read/read-memory.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { word } from '../../../src/chain/shapes.ts'
import type { AsOfBlock, Hex, HourBlock } from '../../../src/model/block.ts'
import type { Fault } from '../../../src/model/fault.ts'
import type { Hour } from '../../../src/model/hour.ts'
import { untilTrue } from '../../support/until-true.ts'
import { type ArchiveTraits, archive, archiveAnswers, balanceAt, valueAt } from '../support/archive.ts'
import { countedEndpoint } from '../support/counted-endpoint.ts'
import { answering, NodeError, startNode } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, openReader, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'
import { MemoryFinalBlocks } from '../support/synthetic-final-blocks.ts'
import { codeRead } from '../support/synthetic-multicall.ts'

const timestampOf = (number: number) => genesisSeconds + 12 * number
const chain = scriptedChain(10_000, timestampOf)
const fork = scriptedChain(10_000, timestampOf, { fork: 200 })
const contract: Hex = '0x00000000000000000000000000000000000000c0'
const call: ReadRequest = { kind: 'call', to: contract, input: '0x02' }
const balance: ReadRequest = { kind: 'balance', address: `0x${'0'.repeat(38)}99` }
const hash = chain.header(233n)?.hash ?? '0x'
const block: AsOfBlock = { number: 233n, hash, timestampSeconds: timestampOf(233) }

const slot: ReadRequest = { kind: 'storage', address: contract, slot: word(5n) }
const sent: ReadRequest = { kind: 'call-from', from: `0x${'5e'.repeat(20)}`, to: contract, input: '0x03' }
const single = [call, balance, slot, sent]
const valuesAt = (number: bigint) =>
  [valueAt('0x02', number), word(balanceAt(balance.address, number)), word(5n * number), valueAt('0x03', number)].map(
    output => ({ kind: 'returned', output }),
  )
/** Blocks before 9,999 have no Multicall3. */
const bare = (traits: ArchiveTraits = {}) => archiveAnswers(chain, { multicallFrom: 9_999n, ...traits })
const sought = [call, balance, slot]

describe('single reads', () => {
  it('name the block by hash where the endpoint takes it, and ask as Multicall3 does', async () => {
    const endpoint = countedEndpoint(bare())
    await readAt(endpoint, block, [call, balance], patient, new ReadMemory(1))
    for (const { params } of endpoint.calls.slice(-2)) {
      expect(params.slice(0, 2)).toEqual([
        { to: multicall3Address, data: '0x' },
        { blockHash: hash, requireCanonical: true },
      ])
      expect(Object.keys(params[2] ?? {})).toEqual([multicall3Address])
    }
  })

  it.each<[string, ArchiveTraits, readonly ReadRequest[]]>([
    ['by code in the place of the sender', {}, single],
    ['by such code at a number', { takesHashes: false }, single],
    ['by creation code at a number', { takesHashes: false, runsCode: ['create'] }, [call, balance]],
    ['by hash, next to creation code', { runsCode: ['create'] }, single],
    ['by hash alone, where no code is run without a receiver', { runsCode: [] }, single],
  ])('have the value of the block %s, in each hour', async (_, traits, requests) => {
    const endpoint = countedEndpoint(bare(traits))
    const memory = new ReadMemory(1)
    for (const number of [233n, 533n]) {
      const header = chain.header(number)
      if (!header) throw new Error('there is such a block')
      const outcomes = await readAt(endpoint, header, requests, patient, memory)
      expect(outcomes).toEqual(valuesAt(number).slice(0, requests.length))
    }
  })

  it.each<[string, ArchiveTraits, ReadRequest]>([
    ['a value', { takesHashes: false, runsCode: [] }, call],
    ['a slot', { takesHashes: false, runsCode: ['create'] }, slot],
  ])('are not made where no one can tell the block of %s', async (_, traits, request) => {
    const endpoint = countedEndpoint(bare(traits))
    const outcome = await readAt(endpoint, block, [request], patient, new ReadMemory(1)).then(
      ([only]) => only,
      (error: unknown) => error,
    )
    expect(outcome).toMatchObject({ kind: 'wrong-block', host: 'node.test' })
  })

  /** Changes that a careless proxy makes to calls, before an honest node has them. */
  type Proxy = (method: string, params: readonly unknown[]) => readonly unknown[]
  const isState = (method: string) => method === 'eth_call' || method.startsWith('eth_get')
  const isOfNoBlock = (at: unknown) => JSON.stringify(at).includes('f'.repeat(64))
  const proxies: readonly [string, Proxy][] = [
    ['every call at its latest block', (method, params) => (isState(method) ? [params[0], 'latest'] : params)],
    ['that, with what else is in the call', (_, [call, , ...rest]) => [call, 'latest', ...rest]],
    [
      'its latest block for every hash that there is',
      (_, params) => (isOfNoBlock(params[1]) ? params : [params[0], 'latest', ...params.slice(2)]),
    ],
    [
      'that, without what else is in the call',
      (_, params) => (isOfNoBlock(params[1]) ? params : [params[0], 'latest']),
    ],
  ]

  it.each(proxies)('are refused where a node answers %s, and it is named', async (_, proxy) => {
    const honest = bare()
    const server = await node(
      answering((method, params) => {
        const isCall = method === 'eth_call' || method === 'eth_getBalance'
        return honest(method, isCall ? proxy(method, params) : params)
      }),
    )
    const reader = openChain([server.url])
    for (const request of sought.slice(0, 2)) {
      const fault = await faultOf(reader.read(firstHour, [request], patient))
      expect(fault.message).toContain(`${server.host} read at timestamp`)
      expect(fault.fix).toContain('multicall')
      expect(reader.health()).toMatchObject([{ state: 'resting' }])
    }
  })

  it('are by number, and certified, where an endpoint answers for any hash', async () => {
    const honest = bare()
    const endpoint = countedEndpoint((method, params) => {
      return honest(method, typeof params[1] === 'object' ? [params[0], 'latest', ...params.slice(2)] : params)
    })
    expect(await readAt(endpoint, block, sought.slice(0, 2), patient, new ReadMemory(1))).toEqual(
      valuesAt(233n).slice(0, 2),
    )
    expect(endpoint.node.takesHashes).toBe(false)
  })

  it('by number are refused when the node changes to another branch meanwhile', async () => {
    const [before, after] = [chain, fork].map(of => archiveAnswers(of, { multicallFrom: 9_999n, takesHashes: false }))
    let reads = 0
    const endpoint = countedEndpoint((method, params) => {
      if (JSON.stringify(params).includes(contract.slice(2))) reads++
      return (reads > 0 ? after : before)?.(method, params)
    })
    const memory = new ReadMemory(1)
    memory.sawAbsent(500n)
    await expect(readAt(endpoint, block, [call], patient, memory)).rejects.toThrow('on another branch')
  })

  const hashes = new Map([233n, 234n].map(number => [chain.header(number)?.hash, number]))
  const ofNumber = (_: string, [call, at, ...rest]: readonly unknown[]) => {
    const number = typeof at === 'object' && hashes.get((at as { blockHash: Hex }).blockHash)
    return [call, number ? `0x${number.toString(16)}` : at, ...rest]
  }

  it.each([
    ['parted long ago', fork, (_: string, params: readonly unknown[]) => params],
    // Their blocks have the same number, time and parent: only the hash differs.
    [
      'parted at that block',
      scriptedChain(10_000, timestampOf, { fork: 233 }),
      (_: string, params: readonly unknown[]) => params,
    ],
    ['parted long ago, one of which knows the other’s hashes', fork, ofNumber],
  ])('behind a balancer whose nodes %s are of the as-of block, or fail', async (_, other, asked) => {
    const [here, there] = [bare(), archiveAnswers(other, { multicallFrom: 9_999n })]
    const isOther = [() => true, (turn: number) => turn % 2 === 0, (turn: number) => turn % 3 > 0]
    for (const toOther of isOther) {
      let turn = 0
      const server = await node((calls, response, body) => {
        if (body.startsWith('[')) return void response.writeHead(400).end()
        return answering((method, params) => {
          if (method.startsWith('eth_getBlock') || !toOther(turn++)) return here(method, params)
          // Another branch has another state.
          const answer = there(method, asked(method, params))
          const hasValue = typeof answer === 'string' && [1, 5].includes((answer.length - 2) / 64)
          return hasValue ? `${answer.slice(0, -3)}666` : answer
        })(calls, response, body)
      })
      const outcomes = sought.map(request =>
        openReader([server.url])
          .read(firstHour, [request], patient)
          .then(
            ([answer]) => answer,
            (fault: Fault) => fault.code,
          ),
      )
      for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
        if (typeof outcome !== 'string') expect(outcome).toEqual(valuesAt(233n)[index])
      }
    }
  })
})

describe('a balance on Hedera', () => {
  it.each([295, 296, 297])('is always that of eth_getBalance (chain %i)', async chainId => {
    const tinybars = archiveAnswers(chain, { chainId })
    const server = await startNode(
      answering((method, params) => {
        const result = tinybars(method, params)
        return method === 'eth_getBalance' ? `0x${(BigInt(String(result)) * 10n ** 10n).toString(16)}` : result
      }),
    )
    const reader = openReader([server.url], { id: chainId })
    const [weibars, other] = await reader.read(firstHour, [balance, call], patient)
    expect(weibars).toEqual({ kind: 'returned', output: word(balanceAt(balance.address, 233n) * 10n ** 10n) })
    expect(other).toEqual({ kind: 'returned', output: valueAt('0x02', 233n) })
    await server.stop()
  })
})

describe('a refusal for the rate', () => {
  it('of some calls of an answered batch concerns these alone', async () => {
    let refused = 0
    const answers = archiveAnswers(chain, { multicallFrom: 9_999n })
    const server = await node(
      answering((method, params) => {
        const read = codeRead(params)
        if (refused === 0 && read?.kind === 'call' && read.input === '0x07') {
          refused++
          throw new NodeError(429, 'Too many requests')
        }
        return answers(method, params)
      }),
    )
    const inputs: readonly Hex[] = ['0x02', '0x03', '0x05', '0x07']
    const requests = inputs.map((input): ReadRequest => ({ ...call, input }))
    const asked = () => server.requests.flat().filter(method => method === 'eth_call').length
    const values = await openReader([server.url]).read(firstHour, requests, patient)
    expect(values).toEqual(inputs.map(input => ({ kind: 'returned', output: valueAt(input, 233n) })))
    expect(refused).toBe(1)
    // The aggregate that is not there, two that tell which code is run, the reads, the one that was refused, and one
    // that tells whether the state of the block is there.
    expect(asked()).toBe(1 + 2 + inputs.length + 1 + 1)
  })
})

it.each(['missing trie node 5f0a (path ) state 0x1 is not available', 'historical state not available'])(
  'missing state is reported as what it needs: %s',
  async message => {
    const answers = archiveAnswers(chain)
    const server = await node(
      answering((method, params) => {
        if (method === 'eth_call' && params[1] !== 'latest') throw new NodeError(-32000, message)
        return answers(method, params)
      }),
    )
    const fault = await faultOf(openReader([server.url]).read(firstHour, [call, balance], patient))
    expect(fault.code).toBe('chain-state-missing')
    expect(fault.fix).toContain('needs an archive node')
  },
)

it.each(['keep', 'forget'])(
  'a contradicted host’s final block is never met again, where it is slow to %s',
  async slow => {
    const [wrong, right] = [await node(archive(fork)), await node(archive(chain))]
    const kept = new MemoryFinalBlocks()
    /** A database that takes its time for one of the two. */
    const written = async (name: string, write: () => Promise<void>) => {
      for (let turn = 0; name === slow && turn < 50; turn += 1) await new Promise(resolve => setImmediate(resolve))
      await write()
    }
    const finalBlocks = {
      of: (hour: Hour) => kept.of(hour),
      around: (hour: Hour) => kept.around(hour),
      keep: (found: readonly HourBlock[]) => written('keep', () => kept.keep(found)),
      forget: (hour: Hour) => written('forget', () => kept.forget(hour)),
    }
    const reader = openChain([wrong.url, right.url], { finalBlocks })
    const before = await reader.block(firstHour, patient)
    reader.quarantine(wrong.host, firstHour, 'is contradicted')
    const after = await reader.block(firstHour, patient)
    expect([before.hash, after.hash]).toEqual([fork.header(233n)?.hash, chain.header(233n)?.hash])
    await untilTrue(() => kept.all().get(firstHour)?.hash === after.hash)
  },
)
