import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import { hexOf, word } from '../../../src/chain/shapes.ts'
import type { Hex } from '../../../src/model/block.ts'
import { answering, type Behaviour, type FakeNode, NodeError, startNode } from './node.ts'
import { headerOf, type ScriptedChain } from './scripted-chain.ts'
import {
  aggregate3Calls,
  aggregate3Output,
  type CodeRead,
  certifiedOutput,
  codeRead,
  type SeenHeader,
} from './synthetic-multicall.ts'

/** Requests to an archive so far. */
export interface ArchiveCounts {
  /** HTTP requests, so round trips. */
  requests: number
  calls: number
  readonly callsByMethod: Map<string, number>
  /** Number of `eth_call`s at each block. */
  readonly ethCallsByBlock: Map<number, number>
}

/** An archive node of a synthetic chain. */
export interface SyntheticArchive {
  readonly chain: ScriptedChain
  readonly chainId: number
  /** Number of the last block it has; may be set. */
  head: number
  /** Called before each request is answered, counted already: the chain may change then, or the request be looked at. */
  beforeAnswer: (() => void) | undefined
  /** Number of pools that `poolCount()` of every contract says; the address of each is its place and 10,000. May be set. */
  pools: number
  readonly counts: ArchiveCounts
  readonly behaviour: Behaviour
}

/** Counts nothing yet. */
const noCounts = (): ArchiveCounts => ({
  requests: 0,
  calls: 0,
  callsByMethod: new Map(),
  ethCallsByBlock: new Map(),
})

/** Further fields of a header, for those who read all of it. */
const otherFields = {
  baseFeePerGas: '0x3b9aca00',
  difficulty: '0x0',
  extraData: '0x',
  gasLimit: '0x1c9c380',
  gasUsed: '0x0',
  logsBloom: `0x${'0'.repeat(512)}`,
  miner: `0x${'0'.repeat(40)}`,
  nonce: '0x0000000000000000',
  sha3Uncles: `0x${'0'.repeat(64)}`,
  stateRoot: `0x${'0'.repeat(64)}`,
  transactions: [],
  uncles: [],
}

const behindHead = { latest: 0, pending: 0, safe: 32, finalized: 64 }
const callParams = z.object({ to: z.string(), data: z.templateLiteral(['0x', z.string()]) })
const byHash = z.object({ blockHash: z.string() })
const logParams = z.tuple([z.object({ address: z.string(), fromBlock: z.string(), toBlock: z.string() })])

/** Answers out of a formula. Multicall3 is everywhere; other contracts and balances answer `syntheticValue`. */
export function syntheticArchive(chain: ScriptedChain, { chainId = 1, delayMs = 0 } = {}): SyntheticArchive {
  const counts = noCounts()
  const head = Number(chain.head)
  const archive: SyntheticArchive = { chain, chainId, head, beforeAnswer: undefined, pools: 0, counts, behaviour }

  function numberOf(at: unknown): number {
    if (typeof at !== 'string') return numberOfHash(byHash.parse(at).blockHash)
    if (at === 'earliest') return 0
    if (at in behindHead) return Math.max(0, archive.head - behindHead[at as keyof typeof behindHead])
    return Number(BigInt(at))
  }

  function numberOfHash(hash: string): number {
    const number = Number(BigInt(`0x${hash.slice(3)}`)) - 1
    if (!has(number) || headerOf(chain, number).hash !== hash) throw new NodeError(-32000, 'header not found')
    return number
  }

  const has = (number: number) => number >= 0 && number <= archive.head

  function header(number: number): unknown {
    if (!has(number)) return null
    const { hash, parentHash, timestampSeconds } = headerOf(chain, number)
    const timestamp = hexOf(BigInt(timestampSeconds))
    return { ...otherFields, number: hexOf(BigInt(number)), hash, parentHash, timestamp }
  }

  /** A block that state is read at: it must be there. */
  function stateAt(at: unknown): number {
    const number = numberOf(at)
    if (!has(number)) throw new NodeError(-32000, 'header not found')
    return number
  }

  function ethCall(params: readonly unknown[]): Hex {
    const number = stateAt(params[1])
    counts.ethCallsByBlock.set(number, (counts.ethCallsByBlock.get(number) ?? 0) + 1)
    const read = codeRead(params)
    if (read) return certifiedOutput(seenAt(number), codeAnswer(read, number))
    const { to, data } = callParams.parse(params[0])
    const isMulticall = (address: string) => address.toLowerCase() === multicall3Address.toLowerCase()
    if (!isMulticall(to)) return contractAnswer(data, number)
    return aggregate3Output(
      aggregate3Calls(data).map(({ target, input }) =>
        isMulticall(target) ? multicallAnswer(input, number) : contractAnswer(input, number),
      ),
    )
  }

  function seenAt(number: number): SeenHeader {
    const { parentHash = word(0n), timestampSeconds } = headerOf(chain, number)
    return { number: BigInt(number), timestampSeconds, parentHash }
  }

  function codeAnswer(read: CodeRead, number: number): Hex {
    if (read.kind === 'call') return contractAnswer(read.input, number)
    if (read.kind !== 'code-sizes') return syntheticValue(read.of, number)
    return `0x${read.of.map(address => syntheticValue(address, number).slice(2)).join('')}`
  }

  /** Every contract says that it has 18 decimals, and is a feed whose round is as old as the block. */
  function contractAnswer(input: Hex, number: number): Hex {
    if (input === '0x') return '0x'
    if (input === '0x313ce567') return word(18n)
    if (input === '0xf525cb68') return word(BigInt(archive.pools))
    if (input.startsWith('0x155fff62')) return word(10_000n + BigInt(`0x${input.slice(10)}`))
    if (input !== '0xfeaf968c') return syntheticValue(input, number)
    const [round, answer, time] = [
      word(1n),
      word(BigInt(number) * 10n ** 15n),
      word(BigInt(headerOf(chain, number).timestampSeconds)),
    ]
    return `0x${[round, answer, time, time, round].map(each => each.slice(2)).join('')}`
  }

  /** The functions of Multicall3 about the block itself. */
  function multicallAnswer(input: Hex, number: number): Hex | undefined {
    const { parentHash, timestampSeconds } = headerOf(chain, number)
    const answers: Record<string, () => Hex> = {
      '0x0f28c97d': () => word(BigInt(timestampSeconds)),
      '0x42cbb15c': () => word(BigInt(number)),
      '0x3408e470': () => word(BigInt(chainId)),
      '0x27e86d6e': () => parentHash ?? word(0n),
      '0x4d2301cc': () => syntheticValue(`0x${input.slice(34)}`, number),
      '0xee82ac5e': () => {
        const asked = Number(BigInt(`0x${input.slice(10)}`))
        return asked < number && asked >= number - 256 ? headerOf(chain, asked).hash : word(0n)
      },
    }
    return answers[input.slice(0, 10)]?.()
  }

  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_chainId: () => hexOf(BigInt(chainId)),
    eth_blockNumber: () => hexOf(BigInt(archive.head)),
    eth_getBlockByNumber: ([at]) => header(numberOf(at)),
    eth_getBlockByHash: ([hash]) => header(numberOfHash(z.string().parse(hash))),
    eth_getBalance: ([address, at]) => hexOf(BigInt(syntheticValue(z.string().parse(address) as Hex, stateAt(at)))),
    eth_call: ethCall,
    eth_getLogs: params => {
      const [{ address, fromBlock, toBlock }] = logParams.parse(params)
      return logsOf(address, numberOf(fromBlock), Math.min(numberOf(toBlock), archive.head))
    },
  }

  const answered = answering((method, params) => {
    counts.calls += 1
    counts.callsByMethod.set(method, (counts.callsByMethod.get(method) ?? 0) + 1)
    const answer = answers[method]
    if (!answer) throw new NodeError(-32601, `the method ${method} does not exist/is not available`)
    return answer(params)
  })

  async function behaviour(...[calls, response, body]: Parameters<Behaviour>): Promise<void> {
    counts.requests += 1
    if (delayMs > 0) await sleep(delayMs)
    archive.beforeAnswer?.()
    await answered(calls, response, body)
  }

  return archive
}

/** Starts a server that answers as an archive. */
export function startArchive(archive: SyntheticArchive): Promise<FakeNode> {
  return startNode(archive.behaviour)
}

const wordMax = 2n ** 256n - 1n

/** Answer of every contract to an input, as one word: the input as a number times the block's. */
export function syntheticValue(input: Hex, number: number): Hex {
  return word((BigInt(input) * BigInt(number)) & wordMax)
}

/** One log in every tenth block. */
function logsOf(address: string, from: number, to: number): unknown[] {
  if (to - from >= 10_000) throw new NodeError(-32005, 'query returned more than 10000 results')
  const fields = { address, topics: [], data: '0x', logIndex: '0x0', transactionHash: word(7n), removed: false }
  const first = Math.ceil(from / 10) * 10
  const count = Math.max(0, Math.floor((to - first) / 10) + 1)
  return Array.from({ length: count }, (_, index) => ({ ...fields, blockNumber: hexOf(BigInt(first + index * 10)) }))
}
