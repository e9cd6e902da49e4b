import { describe, expect, it } from 'vitest'
import { readAt } from '../../../src/chain/read/aggregate-reads.ts'
import { multicall3Address } from '../../../src/chain/read/multicall.ts'
import { ReadMemory } from '../../../src/chain/read/read-memory.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { word } from '../../../src/chain/shapes.ts'
import type { AsOfBlock, Hex } from '../../../src/model/block.ts'
import { archiveAnswers, balanceAt, valueAt } from '../support/archive.ts'
import { countedEndpoint } from '../support/counted-endpoint.ts'
import { answering, NodeError, startNode } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openReader, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const timestampOf = (number: number) => genesisSeconds + 12 * number
const chain = scriptedChain(10_000, timestampOf)
const fork = scriptedChain(10_000, timestampOf, { fork: 200 })
const contract: Hex = '0x00000000000000000000000000000000000000c0'
const call: ReadRequest = { kind: 'call', to: contract, input: '0x02' }
const balance: ReadRequest = { kind: 'balance', address: `0x${'0'.repeat(38)}99` }
const hash = chain.header(233n)?.hash ?? '0x'
const block: AsOfBlock = { number: 233n, hash, timestampSeconds: timestampOf(233) }

describe('single reads', () => {
  it('name the block by hash where the endpoint takes it, and ask as Multicall3 does', async () => {
    const endpoint = countedEndpoint(archiveAnswers(chain, { multicallFrom: 9_999n }))
    await readAt(endpoint, block, [call, balance], patient, new ReadMemory(1))
    const at = { blockHash: hash, requireCanonical: true }
    const last = endpoint.calls.slice(-2)
    expect(last.map(({ params }) => params[1])).toEqual([at, at])
    expect(last[0]?.params[0]).toMatchObject({ from: multicall3Address, to: contract })
  })

  it('are not by hash where the endpoint answers for any hash', async () => {
    const honest = archiveAnswers(chain, { multicallFrom: 9_999n })
    const endpoint = countedEndpoint((method, params) => {
      const isNamed = typeof params[1] === 'object'
      return honest(method, isNamed ? [params[0], 'latest'] : params)
    })
    const outcomes = await readAt(endpoint, block, [call], patient, new ReadMemory(1))
    expect(endpoint.pinnedBy).toBe('number')
    expect(outcomes).toEqual([{ kind: 'returned', output: valueAt('0x02', 233n) }])
  })

  it('by number are refused when the node changes to another branch meanwhile', async () => {
    const [before, after] = [chain, fork].map(of => archiveAnswers(of, { multicallFrom: 9_999n, takesHashes: false }))
    let reads = 0
    const endpoint = countedEndpoint((method, params) => {
      if (JSON.stringify(params).includes(contract)) reads++
      return (reads > 0 ? after : before)?.(method, params)
    })
    endpoint.pinnedBy = 'number'
    const memory = new ReadMemory(1)
    memory.sawAbsent(500n)
    await expect(readAt(endpoint, block, [call], patient, memory)).rejects.toThrow('has another block')
  })

  it('behind a balancer whose nodes disagree are of the as-of block, or fail', async () => {
    const [here, there] = [chain, fork].map(of => archiveAnswers(of, { multicallFrom: 9_999n }))
    const server = await node((calls, response, body) => {
      if (body.startsWith('[')) return void response.writeHead(400).end()
      const isRead = body.includes(contract)
      return answering((method, params) => {
        // Another branch has another state.
        if (!isRead || typeof params[1] === 'object') return (isRead ? there : here)?.(method, params)
        return word(666n)
      })(calls, response, body)
    })
    expect((await faultOf(openReader([server.url]).read(firstHour, [call], patient))).message).toContain('not found')
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
        if (refused === 0 && JSON.stringify(params).includes('"data":"0x07"')) {
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
    // The aggregate that is not there, three that tell how the block is taken, the reads, and the one that was refused.
    expect(asked()).toBe(1 + 3 + inputs.length + 1)
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
