import { decodeFunctionData, encodeAbiParameters, encodeFunctionResult, multicall3Abi, parseAbi } from 'viem'
import { z } from 'zod'
import { nowhere } from '../../../src/chain/endpoint/rpc.ts'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import { hexOf } from '../../../src/chain/shapes.ts'
import type { Hex } from '../../../src/model/block.ts'
import { answering, type Behaviour, NodeError } from './node.ts'
import type { ScriptedChain } from './scripted-chain.ts'
import { certifiedOutput, codeRead, type SeenHeader } from './synthetic-multicall.ts'

export interface ArchiveTraits {
  readonly chainId?: number
  /** Most calls one `aggregate3` gets through before it is out of gas. */
  readonly aggregateCallsMax?: number
  /** Number of calls of one `aggregate3` that have gas: those after them fail without data, though alone they would not. */
  readonly aggregateCallsFed?: number
  /** A contract, in small letters, that halts: within an aggregate its calls fail without data. */
  readonly halting?: string
  /** Call data that every contract reverts at without data, as one without that function does. */
  readonly reverting?: ReadonlySet<Hex>
  /** Most blocks of one `eth_getLogs`. */
  readonly logBlocksMax?: bigint
  /** Refusal of a range that has more. */
  readonly logRefusal?: (from: bigint, to: bigint) => NodeError
  /** Code at an address and block. Default: there is some everywhere, but where Multicall3 is not. */
  readonly codeOf?: (address: unknown, number: bigint) => Hex
  /** Logs in a block. Default: one in every block. */
  readonly logsIn?: (number: bigint) => number
  /** Whether `eth_call` takes `{ blockHash }`. */
  readonly takesHashes?: boolean
  /** Where Multicall3 is. Default: its usual address. */
  readonly multicall?: Hex
  /** Ways to send code that certifies a read, which it runs. Default: both. */
  readonly runsCode?: readonly ('override' | 'create')[]
  /** First block that has Multicall3. */
  readonly multicallFrom?: bigint
  /** Changes a block's header into the one that a call sees. Default: it is the same. */
  readonly sees?: (header: SeenHeader) => SeenHeader
}

/** Result of one JSON-RPC call of a node; throws a NodeError. */
export type Answers = (method: string, params: readonly unknown[]) => unknown

const certificateAbi = parseAbi([
  'function getBlockNumber() view returns (uint256)',
  'function getCurrentBlockTimestamp() view returns (uint256)',
  'function getLastBlockHash() view returns (bytes32)',
  'function getEthBalance(address) view returns (uint256)',
])
const callParams = z.object({ to: z.string().optional(), data: z.string() })
const hexText = z.templateLiteral(['0x', z.string()])

/** An archive node of any length: every contract answers its call data times the block's number, as one word. */
export function archive(chain: ScriptedChain, traits: ArchiveTraits = {}): Behaviour {
  return answering(archiveAnswers(chain, traits))
}

/** The same without HTTP. */
export function archiveAnswers(chain: ScriptedChain, traits: ArchiveTraits = {}): Answers {
  const { chainId = 1, aggregateCallsMax = Number.POSITIVE_INFINITY, takesHashes = true, multicallFrom = 0n } = traits
  const { multicall = multicall3Address } = traits
  const {
    aggregateCallsFed = Number.POSITIVE_INFINITY,
    sees = header => header,
    runsCode = ['override', 'create'],
  } = traits

  function blockOf(at: unknown): bigint {
    if (typeof at === 'string') return at === 'latest' ? chain.head : BigInt(at)
    if (!takesHashes) throw new NodeError(-32602, 'invalid argument 1: json: cannot unmarshal object')
    const { blockHash } = z.object({ blockHash: z.string() }).parse(at)
    return numberOf(chain, blockHash)
  }

  /** As `blockOf`, of a block that there is. */
  function stateOf(at: unknown): bigint {
    const number = blockOf(at)
    if (number > chain.head) throw new NodeError(-32000, 'header not found')
    return number
  }

  function called(to: string, data: Hex, number: bigint): Hex {
    if (traits.multicall && to === multicall3Address) return '0x'
    if (to.toLowerCase() !== multicall.toLowerCase()) {
      if (traits.reverting?.has(data)) throw new NodeError(3, 'execution reverted', '0x')
      return valueAt(data, number)
    }
    if (number < multicallFrom) return '0x'
    const [calls] = z
      .tuple([z.array(z.object({ target: z.string(), callData: hexText }))])
      .parse(decodeFunctionData({ abi: multicall3Abi, data }).args)
    if (calls.length > aggregateCallsMax) throw new NodeError(-32000, 'out of gas')
    const isFailing = calls.map(({ target, callData }, index) => {
      return index >= aggregateCallsFed || target.toLowerCase() === traits.halting || traits.reverting?.has(callData)
    })
    const results = calls.map(({ target, callData }, index) => ({
      success: !isFailing[index],
      returnData: isFailing[index]
        ? ('0x' as const)
        : target.toLowerCase() === multicall.toLowerCase()
          ? ofMulticall(callData, number)
          : valueAt(callData, number),
    }))
    return encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result: results })
  }

  function ofMulticall(data: Hex, number: bigint): Hex {
    const { functionName, args } = decodeFunctionData({ abi: certificateAbi, data })
    if (functionName === 'getEthBalance') return word(balanceAt(args[0], number))
    const seen = seenAt(number)
    if (functionName === 'getLastBlockHash') return seen.parentHash
    return word(functionName === 'getBlockNumber' ? seen.number : BigInt(seen.timestampSeconds))
  }

  function seenAt(number: bigint): SeenHeader {
    const { timestampSeconds = 0, parentHash = '0x' } = chain.header(number) ?? {}
    return sees({ number, timestampSeconds, parentHash })
  }

  /** Code in the place of Multicall3 reads whatever it is for, and creation code does. */
  function ofCode(params: readonly unknown[], number: bigint): Hex | undefined {
    const read = codeRead(params)
    if (!read || !runsCode.includes(read.way)) return undefined
    if (read.kind === 'call') {
      const output = read.to === nowhere ? '0x' : valueAt(read.input, number)
      const isFailing = read.to === traits.halting || traits.reverting?.has(read.input)
      return certifiedOutput(seenAt(number), isFailing ? undefined : output)
    }
    if (read.kind === 'code-sizes') {
      const sizes = read.of.map(address => word(BigInt(codeAt(address, number).length / 2 - 1)).slice(2))
      return certifiedOutput(seenAt(number), `0x${sizes.join('')}`)
    }
    const value = read.kind === 'balance' ? balanceAt(read.of, number) : BigInt(read.of) * number
    return certifiedOutput(seenAt(number), word(value))
  }

  function codeAt(address: unknown, number: bigint): Hex {
    if (traits.codeOf) return traits.codeOf(address, number)
    if (traits.multicall && address === multicall3Address) return '0x'
    return address === multicall && number < multicallFrom ? '0x' : '0x60'
  }

  return (method, params) => {
    if (method === 'eth_chainId') return hexOf(BigInt(chainId))
    if (method === 'eth_getBlockByNumber') return rpcHeader(chain, blockOf(params[0]), traits)
    if (method === 'eth_getCode') return codeAt(params[0], stateOf(params[1]))
    if (method === 'eth_getStorageAt') return word(BigInt(hexText.parse(params[1])) * stateOf(params[2]))
    if (method === 'eth_getBalance') return hexOf(balanceAt(hexText.parse(params[0]), stateOf(params[1])))
    if (method === 'eth_getLogs') return logsOf(chain, params, traits)
    if (method !== 'eth_call') throw new NodeError(-32601, `no method ${method}`)
    const number = stateOf(params[1])
    const certified = ofCode(params, number)
    if (certified) return certified
    const { to, data } = callParams.parse(params[0])
    if (to === undefined) throw new NodeError(-32602, 'missing value for required argument: to')
    return to === nowhere ? '0x' : called(to, hexText.parse(data), number)
  }
}

/** Balance of every address of the archive. */
export function balanceAt(address: Hex, number: bigint): bigint {
  return (BigInt(address) % 1_000n) * number
}

const logParams = z.tuple([
  z.object({
    address: z.union([hexText, z.array(hexText)]).optional(),
    topics: z.array(z.union([hexText, z.array(hexText), z.null()])).optional(),
    fromBlock: z.string().optional(),
    toBlock: z.string().optional(),
    blockHash: z.string().optional(),
  }),
])

/** A topic that no log of the archive has. */
export const missingTopic: Hex = `0x${'99'.repeat(32)}`

/** As geth does: newest first here, as no order is promised; what lies past its head is left out in silence. */
function logsOf(chain: ScriptedChain, params: readonly unknown[], traits: ArchiveTraits): unknown[] {
  const { logBlocksMax = chain.head, logsIn = () => 1 } = traits
  const refusal = traits.logRefusal ?? (() => new NodeError(-32005, 'query returned more than 10000 results'))
  const [{ address = [], topics = [], fromBlock, toBlock, blockHash }] = logParams.parse(params)
  const sole = blockHash === undefined ? undefined : numberOf(chain, blockHash)
  const at = (block: unknown) => (block === 'latest' ? chain.head : BigInt(String(block ?? 0)))
  const [from, to] = [sole ?? at(fromBlock), sole ?? at(toBlock)]
  if (to - from >= logBlocksMax) throw refusal(from, to)
  const last = to > chain.head ? chain.head : to
  const count = last < from ? 0 : Number(last - from) + 1
  const numbers = Array.from({ length: count }, (_, index) => last - BigInt(index))
  const [first] = Array.isArray(address) ? address : [address]
  if (topics.includes(missingTopic)) return []
  const fields = { address: first ?? `0x${'0'.repeat(40)}`, topics: topics.flat().filter(topic => topic !== null) }
  return numbers.flatMap(number =>
    Array.from({ length: logsIn(number) }, (_, index) => ({
      ...fields,
      data: chain.header(number)?.hash,
      blockNumber: hexOf(number),
      blockHash: chain.header(number)?.hash,
      transactionHash: word(number * 1_000n + BigInt(index)),
      logIndex: hexOf(BigInt(index)),
      removed: false,
    })),
  )
}

/** @throws NodeError for a block of another branch, or past the head */
function numberOf(chain: ScriptedChain, hash: string): bigint {
  const number = BigInt(`0x${hash.slice(3)}`) - 1n
  if (chain.header(number)?.hash !== hash) throw new NodeError(-32000, 'header not found')
  return number
}

/** Answer of every contract of the archive. */
export function valueAt(input: Hex, number: bigint): Hex {
  return word(BigInt(input) * number)
}

function word(value: bigint): Hex {
  return encodeAbiParameters([{ type: 'uint256' }], [value])
}

function rpcHeader(chain: ScriptedChain, number: bigint, { logsIn = () => 1 }: ArchiveTraits): unknown {
  const header = chain.header(number)
  if (!header) return null
  const { hash, parentHash, timestampSeconds } = header
  // Any log may be in a block that has some; one without has a bit that stands for none.
  const logsBloom = `0x${(logsIn(number) > 0 ? 'ff' : '00').repeat(255)}80`
  const timestamp = hexOf(BigInt(timestampSeconds))
  return { number: hexOf(number), hash, parentHash, timestamp, logsBloom, transactions: [] }
}
