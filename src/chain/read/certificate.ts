import { createHash } from 'node:crypto'
import type { AsOfBlock, Hex } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { EndpointReport } from '../endpoint/endpoint-pool.ts'
import { EndpointFailure, StateMissing } from '../endpoint/failures.ts'
import {
  failureKindOf,
  isServed,
  meaningOf,
  type RpcCall,
  type RpcOutcome,
  resultOf,
  runsNothing,
  type SeenBlock,
  stateCall,
} from '../endpoint/rpc.ts'
import { headerCall } from '../look-up/look-ups.ts'
import { isJoinable, partOf, type ReadAnswer, type ReadRequest, targetOf } from '../reads.ts'
import { type BlockHeader, hexOf, parseHeader } from '../shapes.ts'

/** Usual address of Multicall3, on almost every chain that has it (https://www.multicall3.com). */
export const multicall3Address: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Uses of a list that was too much for an endpoint, starting with its halves, before the whole is tried again. */
export const splitUsesMax = 24

/** The part of a block that a call names it by. */
export type NamedBlock = Pick<AsOfBlock, 'number' | 'hash'>

/** The block to read. Its proof may arrive later, as promises; a rejection refuses the answer. */
export interface ReadTarget extends NamedBlock {
  /** Seconds since 1970; a promise while the block's header is under way. */
  readonly timestampSeconds: number | Promise<number>
  /** Absent where only an earlier search saw the header. */
  readonly parentHash?: Hex | undefined | Promise<Hex | undefined>
}

/**
 * Form in which a call names its block. By hash (EIP-1898) no reorg and no load balancer can interfere; by number the
 * answer must certify its block, and the block's header is read with it.
 */
export type BlockReference = 'hash' | 'number'

/** The block parameter of a call. */
export function pinParam({ number, hash }: NamedBlock, pin: BlockReference): unknown {
  return pin === 'hash' ? { blockHash: hash, requireCanonical: true } : hexOf(number)
}

/** Form in which an endpoint takes a block, as far as known: by hash until it is shown not to. */
export function pinOf({ takesHashes: known }: Endpoint): BlockReference {
  return known === false ? 'number' : 'hash'
}

/** A hash that no block has, in the place of one. */
export const noBlock: NamedBlock = { number: 0n, hash: `0x${'f'.repeat(64)}` }

/**
 * Whether an endpoint reads the block that a hash names: it must treat the hash of a block otherwise than one that no
 * block has. Asked once. The first block is on every branch, so a load balancer does not decide the answer.
 *
 * @throws EndpointFailure while the answers leave it open
 */
export async function takesHashes(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<boolean> {
  if (endpoint.takesHashes !== undefined) return endpoint.takesHashes
  const [first] = await endpoint.tryCall([headerCall(0n)], signal)
  const hashes = [headerOf(first)?.hash ?? block.hash, noBlock.hash]
  const places = [...hashes.map(hash => pinParam({ ...block, hash }, 'hash')), pinParam(block, 'number')]
  const outcomes = await endpoint.tryCall(places.map(stateCall), signal)
  const [ofBlock, ofNone, ofNumber] = outcomes.map(outcome => refusalOf(endpoint, outcome))
  // Nodes that do not take hashes refuse each in the same words, and these are not about a block that is missing.
  const isTaken = ofNone !== undefined && (ofNone.isUnknownBlock || ofBlock?.words !== ofNone.words)
  if (!isTaken && ofNone && ofNumber) throw ofNumber.failure
  endpoint.takesHashes = isTaken
  return isTaken
}

/** Checks that an endpoint serves the state of a block. @throws EndpointFailure when it does not */
export async function requireState(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<void> {
  const [outcome] = await endpoint.tryCall([stateCall(pinParam(block, pinOf(endpoint)))], signal)
  if (outcome instanceof EndpointFailure) throw outcome
  if (outcome?.kind === 'error' && !isServed(outcome)) throw endpoint.failure(outcome.error)
}

/**
 * Checks that answers without a value are not those of a node that has no state of the block any more, and does not say
 * so.
 *
 * @throws StateMissing
 */
export async function requireKept(endpoint: Endpoint, { number }: NamedBlock, signal: AbortSignal): Promise<void> {
  if (!(await runsNothing(endpoint.tryCall, number, signal))) return
  const text = `has no state of block ${number}, though of its last block: calls there are answered with nothing`
  throw new StateMissing(endpoint.host, text)
}

interface BlockRefusal {
  readonly failure: EndpointFailure
  /** Equal for equal refusals, whatever hash they name. */
  readonly words: string
  readonly isUnknownBlock: boolean
}

/** Refusal of a block; undefined when it was read. @throws EndpointFailure that is not about the block */
function refusalOf(endpoint: Endpoint, outcome: RpcOutcome): BlockRefusal | undefined {
  if (outcome instanceof EndpointFailure && outcome.kind !== 'refused') throw outcome
  if (!(outcome instanceof EndpointFailure)) {
    if (outcome.kind === 'result' || meaningOf(outcome.error).kind === 'reverted') return undefined
  }
  const failure = outcome instanceof EndpointFailure ? outcome : endpoint.failure(outcome.error)
  const isUnknownBlock = 'error' in outcome && failureKindOf(outcome.error) === 'unknown-block'
  return { failure, words: failure.reason.replace(/(0x)?[0-9a-f]{64}/gi, ''), isUnknownBlock }
}

/** The header that an outcome holds; undefined when it holds none. */
function headerOf(outcome: RpcOutcome | undefined): BlockHeader | undefined {
  return parseHeader(resultOf(outcome))
}

/** The header of a read by number. @throws EndpointFailure when there is none, or when it is of another block */
function requireBlock(endpoint: Endpoint, block: NamedBlock, outcome: RpcOutcome | undefined): BlockHeader {
  if (outcome instanceof EndpointFailure) throw outcome
  if (outcome?.kind === 'error') throw endpoint.failure(outcome.error)
  const header = headerOf(outcome)
  if (header?.hash === block.hash) return header
  throw new EndpointFailure(endpoint.host, `has another block ${block.number} than the as-of block`)
}

/** Sends calls in one batch with the block's header, whose hash must match. @throws EndpointFailure */
export async function callWithHeader(
  endpoint: Endpoint,
  block: NamedBlock,
  calls: readonly RpcCall[],
  signal: AbortSignal,
  answerMsMax?: number,
): Promise<{ readonly header: BlockHeader; readonly outcomes: readonly RpcOutcome[] }> {
  const [header, ...outcomes] = await endpoint.tryCall([headerCall(block.number), ...calls], signal, answerMsMax)
  return { header: requireBlock(endpoint, block, header), outcomes }
}

/**
 * Difference between a block as calls see it and its header. On most chains there is none; a few show the number of
 * another chain, the time of another block, or hashes of their own.
 */
interface BlockContext {
  /** Difference to the header's; absent where it is not always the same. */
  readonly numberShift?: bigint
  readonly secondsShift?: bigint
  /** Whether calls see the hash of the block before. */
  readonly hasParent: boolean
}

/** Calls see the number, the time and the parent of their block, as the EVM defines it. */
const plainContext: BlockContext = { numberShift: 0n, secondsShift: 0n, hasParent: true }

function isPlain({ numberShift, secondsShift, hasParent }: BlockContext): boolean {
  return numberShift === 0n && secondsShift === 0n && hasParent
}

/** An answer to certify. */
interface CertifiedRead {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  readonly pin: BlockReference
  readonly signal: AbortSignal
  /** Asks which block a call of the same kind sees at another one, named by its hash; undefined without an answer. */
  readonly askAt: (block: NamedBlock) => Promise<SeenBlock | undefined>
  /** As `askAt`, of a call that needs no contract. */
  readonly askEvm: (block: NamedBlock) => Promise<SeenBlock | undefined>
}

/** Dependencies of `Certifier`. */
interface CertifierDeps {
  /** States of the chain's endpoints. */
  readonly endpoints: () => readonly Pick<EndpointReport, 'host' | 'state'>[]
  /** Called with what calls of the chain see, when that turns out to differ from the headers. */
  readonly contextFound: (words: string) => void
}

/**
 * Checks that answers of one chain are of the block that was asked for. Where calls do not see their block as its
 * header is, the difference is learnt from two blocks, and reads have to be pinned by hash.
 */
class Certifier {
  readonly #deps: CertifierDeps
  #context: BlockContext
  /** By host: contexts that are not those of the chain yet. */
  readonly #shown = new Map<string, BlockContext>()
  #sawPlain = false

  constructor(deps: CertifierDeps, context: BlockContext = plainContext) {
    this.#deps = deps
    this.#context = context
  }

  /** Words for how calls see their block; undefined when they see it as its header is. */
  get words(): string | undefined {
    return isPlain(this.#context) ? undefined : wordsOf(this.#context)
  }

  /** @throws EndpointFailure when what was read is not certain to be of the block */
  async certify(read: CertifiedRead, seen: SeenBlock): Promise<void> {
    const { endpoint, block, pin, signal } = read
    const [timestampSeconds, parentHash] = await Promise.all([block.timestampSeconds, block.parentHash])
    const difference = differenceOf(this.#context, { ...block, timestampSeconds, parentHash }, seen)
    if (difference === undefined && isPlain(this.#context)) {
      this.#sawPlain = true
      return
    }
    // Here the certificate is not enough: the endpoint must read the block that the hash names.
    if (pin === 'hash' && (await takesHashes(endpoint, block, signal))) {
      if (difference === undefined || (await this.#learns(read, seen))) return
    }
    const reason = difference ?? 'does not take the hash of a block, without which reads of this chain are not certain'
    throw new EndpointFailure(endpoint.host, reason, 'wrong-block')
  }

  /** Whether the difference is one of the chain, and no answer from another block. */
  async #learns(read: CertifiedRead, seen: SeenBlock): Promise<boolean> {
    const { host } = read.endpoint
    const found = await contextOfTwo(read, seen)
    if (!found) return false
    if (isPlain(found)) {
      this.#context = found
      this.#sawPlain = true
      return true
    }
    const context = isPlain(this.#context) ? found : commonOf(this.#context, found)
    if (context.numberShift === undefined && context.secondsShift === undefined) return false
    this.#shown.set(host, context)
    if (context.secondsShift !== 0n && !this.#isOfAll(context)) return false
    this.#context = context
    this.#deps.contextFound(wordsOf(context))
    return true
  }

  /** Whether each endpoint that can answer shows the same. */
  #isOfAll(context: BlockContext): boolean {
    if (this.#sawPlain) return false
    const key = wordsOf(context)
    return this.#deps.endpoints().every(({ host, state }) => {
      const shown = this.#shown.get(host)
      return shown ? wordsOf(shown) === key : state !== 'well'
    })
  }
}

/** In which way a call saw another block; undefined in none. */
function differenceOf(
  { numberShift, secondsShift, hasParent }: BlockContext,
  own: NamedBlock & { readonly timestampSeconds: number; readonly parentHash: Hex | undefined },
  seen: SeenBlock,
): string | undefined {
  const sought = `when asked at block ${own.number}, timestamp ${own.timestampSeconds}`
  if (secondsShift !== undefined && seen.timestampSeconds !== BigInt(own.timestampSeconds) + secondsShift) {
    return `read at timestamp ${seen.timestampSeconds} ${sought}`
  }
  if (numberShift !== undefined && seen.number !== own.number + numberShift) {
    return `read at block ${seen.number} ${sought}`
  }
  if (!hasParent || own.parentHash === undefined || !isOtherHash(seen.parentHash, own.parentHash)) return undefined
  return `read on another branch ${sought}: the block before has the hash ${seen.parentHash}, not ${own.parentHash}`
}

/** Whether a node names another hash. One that does not know it answers zero. */
function isOtherHash(seen: Hex | undefined, own: Hex | undefined): boolean {
  return seen !== undefined && BigInt(seen) !== 0n && seen !== own
}

/**
 * The context, from the block that was read and its child, which is past the hour. A node that answers from another
 * block than the one asked for sees no difference between these two, so neither the number nor the time moves with the
 * header's. A node on another branch sees the first blocks as all nodes do.
 */
async function contextOfTwo(
  { endpoint, block, signal, askAt, askEvm }: CertifiedRead,
  seen: SeenBlock,
): Promise<BlockContext | undefined> {
  const numbered = [block.number, block.number + 1n, 1n].map(headerCall)
  const [own, child, first] = (await endpoint.tryCall(numbered, signal)).map(headerOf)
  if (!own || !child || own.hash !== block.hash) return undefined
  const seenAfter = await askAt(child)
  if (!seenAfter) return undefined
  const numbers = [seen.number - own.number, seenAfter.number - child.number]
  const seconds = [seen, seenAfter].map(({ timestampSeconds }, index) => {
    return timestampSeconds - BigInt((index === 0 ? own : child).timestampSeconds)
  })
  const parents = [isOtherHash(seen.parentHash, own.parentHash), isOtherHash(seenAfter.parentHash, child.parentHash)]
  // A difference at one of them alone is no habit of the chain.
  const isHabit = [numbers, seconds].every(([one, two]) => (one === 0n) === (two === 0n)) && parents[0] === parents[1]
  if (!isHabit) return undefined
  const isBranch = parents[0] && numbers[0] === 0n && first && (await askEvm(first))?.parentHash === first.parentHash
  return isBranch ? undefined : contextOf(sameOf(numbers), sameOf(seconds), parents[0] === false)
}

function sameOf([one, two]: readonly bigint[]): bigint | undefined {
  return one === two ? one : undefined
}

function contextOf(
  numberShift: bigint | undefined,
  secondsShift: bigint | undefined,
  hasParent: boolean,
): BlockContext {
  return {
    hasParent,
    ...(numberShift !== undefined && { numberShift }),
    ...(secondsShift !== undefined && { secondsShift }),
  }
}

/** Common part of two contexts: a shift that was the same by chance at some blocks is dropped. */
function commonOf(one: BlockContext, two: BlockContext): BlockContext {
  return contextOf(
    one.numberShift === two.numberShift ? one.numberShift : undefined,
    one.secondsShift === two.secondsShift ? one.secondsShift : undefined,
    one.hasParent && two.hasParent,
  )
}

function wordsOf({ numberShift, secondsShift, hasParent }: BlockContext): string {
  const shifted = (shift: bigint | undefined, unit: string) =>
    shift === undefined ? '' : ` (${shift > 0n ? '+' : ''}${shift}${unit})`
  const parts = [
    ...(secondsShift === 0n ? [] : [`timestamp${shifted(secondsShift, ' s')}`]),
    ...(numberShift === 0n ? [] : [`number${shifted(numberShift, '')}`]),
    ...(hasParent ? [] : ['parent hash']),
  ]
  return `calls see another ${parts.join(', ')} than the header of their block has`
}

/**
 * Way to send a read that made others fail when sent with them. `singly`: as a call of its own. `late`: after the
 * others, because the endpoint is slow at it.
 */
export type ApartWay = 'singly' | 'late'

interface Apart {
  readonly way: ApartWay
  usesLeft: number
}

/** Reads of an endpoint remembered to be sent apart from the others. */
const apartReadsMax = 1_000

/**
 * Remembers which reads of which endpoint are sent apart from the others. It only saves time. Now and then they are
 * sent with the others again, as a busy node may have recovered.
 */
class ReadsApart {
  readonly #apart = new WeakMap<Endpoint, Map<string, Apart>>()

  /** Way to send a read; undefined when it is sent with the others. Counts as a use. */
  wayOf(endpoint: Endpoint, request: ReadRequest): ApartWay | undefined {
    const apart = this.#apart.get(endpoint)
    const known = apart?.get(keyOf(request))
    if (known && --known.usesLeft <= 0) apart?.delete(keyOf(request))
    return known?.way
  }

  /** Whether all reads of an endpoint are sent together. */
  isEmpty(endpoint: Endpoint): boolean {
    return (this.#apart.get(endpoint)?.size ?? 0) === 0
  }

  /** Sets how a read is sent from now on. */
  set(endpoint: Endpoint, request: ReadRequest, way: ApartWay): void {
    const apart = this.#apart.get(endpoint) ?? new Map<string, Apart>()
    if (apart.size >= apartReadsMax) apart.clear()
    this.#apart.set(endpoint, apart.set(keyOf(request), { way, usesLeft: splitUsesMax }))
  }

  /** Sends a read with the others again. */
  delete(endpoint: Endpoint, request: ReadRequest): void {
    this.#apart.get(endpoint)?.delete(keyOf(request))
  }
}

/** A text that is equal for equal reads. */
export function keyOf(request: ReadRequest): string {
  return `${targetOf(request)}${partOf(request)}`
}

/** Lists of an endpoint that are remembered to be too much as a whole. */
const splitListsMax = 100

/**
 * Remembers which lists of reads were too much for an endpoint, so that the next hour starts with their halves. Now and
 * then the whole is tried again, as a busy node may have recovered.
 */
class Splits {
  readonly #usesLeft = new WeakMap<Endpoint, Map<string, number>>()

  /** Whether to start with the halves. Counts as a use. */
  take(requests: readonly ReadRequest[], endpoint: Endpoint): boolean {
    const ofEndpoint = this.#usesLeft.get(endpoint)
    const key = ofEndpoint && listKeyOf(requests)
    const left = (key !== undefined && ofEndpoint?.get(key)) || 0
    if (key !== undefined && left > 0) ofEndpoint?.set(key, left - 1)
    return left > 0
  }

  /** Records that a list was too much as a whole. */
  remember(requests: readonly ReadRequest[], endpoint: Endpoint): void {
    const ofEndpoint = this.#usesLeft.get(endpoint) ?? new Map<string, number>()
    if (ofEndpoint.size >= splitListsMax) ofEndpoint.clear()
    this.#usesLeft.set(endpoint, ofEndpoint.set(listKeyOf(requests), splitUsesMax))
  }
}

function listKeyOf(requests: readonly ReadRequest[]): string {
  const hash = createHash('sha256')
  for (const request of requests) hash.update(`${keyOf(request)} `)
  return hash.digest('base64')
}

/**
 * Chains on which `block.number` and `blockhash` are another chain's: Arbitrum One, Nova and Sepolia return about those
 * of Ethereum (https://docs.arbitrum.io/build-decentralized-apps/arbitrum-vs-ethereum/block-numbers-and-time). Others
 * are learnt.
 */
const foreignNumberIds: ReadonlySet<number> = new Set([42161, 42170, 421614])

/**
 * Hedera and its networks: a contract sees balances in tinybars (8 decimals), while `eth_getBalance` returns weibars
 * (18 decimals), as everywhere (https://docs.hedera.com/hedera/core-concepts/smart-contracts). Balances there are never
 * read through a contract, so that their unit is the same on every path.
 */
const tinybarIds: ReadonlySet<number> = new Set([295, 296, 297, 298])

/**
 * Way to run code that makes a read and certifies its block. `override`: in the place of the sender (a state override
 * of `eth_call`); `create`: as creation code, where there are no overrides: a contract sees another stranger as sender.
 */
export type CodeWay = 'override' | 'create'

/** Which code an endpoint runs. */
export type CodeWays = Readonly<Record<CodeWay, boolean>>

const soleEndpoint: CertifierDeps = { endpoints: () => [], contextFound: () => {} }

/** Reads of a chain remembered to revert without data, and the hexadecimal digits of the call data of one. */
const revertsRememberedMax = 10_000
const revertDigitsRememberedMax = 1_000

/** Facts learnt about a chain, shared by all endpoints. They only save calls: answers are the same without them. */
export class ReadMemory {
  readonly splits = new Splits()
  readonly apart = new ReadsApart()
  /** Address of Multicall3 on the chain. */
  readonly multicall: Hex
  /** Whether contracts see balances in another unit. */
  readonly balancesApart: boolean
  /** Certify aggregates and single reads: Multicall3 may see its block otherwise than the EVM does. */
  readonly aggregates: Certifier
  readonly singles: Certifier
  /** Absent until the endpoint was asked. */
  readonly codeWays = new WeakMap<Endpoint, CodeWays>()
  readonly #reverts = new Set<string>()
  #absentTo = -1n
  #presentFrom: bigint | undefined

  /** @param chainId as `eth_chainId` answers it @param multicall default: the usual address */
  constructor(chainId: number, multicall: Hex = multicall3Address, deps: CertifierDeps = soleEndpoint) {
    this.multicall = multicall
    const context = foreignNumberIds.has(chainId) ? { secondsShift: 0n, hasParent: false } : plainContext
    this.aggregates = new Certifier(deps, context)
    this.singles = new Certifier(deps, context)
    this.balancesApart = tinybarIds.has(chainId)
  }

  /** Whether all reads of an endpoint that can be joined are sent together, so that no such read needs to be checked. */
  allTogether(endpoint: Endpoint): boolean {
    return !this.balancesApart && this.apart.isEmpty(endpoint)
  }

  /** Way to send a read; undefined when it is sent with the others. */
  wayOf(endpoint: Endpoint, request: ReadRequest): ApartWay | undefined {
    const way = this.apart.wayOf(endpoint, request)
    if (way || (isJoinable(request) && !(this.balancesApart && request.kind === 'balance'))) return way
    return 'singly'
  }

  /**
   * Whether a read is known to revert without data: it did when it was sent alone, where no other read could use up its
   * gas, and it returned nothing since. A pool has many functions less than its forks, hour by hour.
   */
  isKnownRevert(request: ReadRequest): boolean {
    return this.#reverts.has(keyOf(request))
  }

  /** Records what the contract itself answered to a read: alone, or data, which no lack of gas gives. */
  sawAnswer(request: ReadRequest, { kind, output }: ReadAnswer): void {
    if (kind === 'returned') {
      if (this.#reverts.size > 0) this.#reverts.delete(keyOf(request))
      return
    }
    if (output !== '0x' || partOf(request).length > revertDigitsRememberedMax || this.isKnownRevert(request)) return
    const [oldest] = this.#reverts
    if (this.#reverts.size >= revertsRememberedMax && oldest !== undefined) this.#reverts.delete(oldest)
    this.#reverts.add(keyOf(request))
  }

  /**
   * Whether Multicall3 is known to be missing at a block: not deployed at one block, it is missing at all earlier ones.
   */
  isAbsentAt(number: bigint): boolean {
    return number <= this.#absentTo
  }

  /** Whether Multicall3 must exist at a block: it answered at that one or an earlier one. */
  isPresentAt(number: bigint): boolean {
    return this.#presentFrom !== undefined && number >= this.#presentFrom
  }

  /** Records that there is no code at Multicall3's address. */
  sawAbsent(number: bigint): void {
    if (number > this.#absentTo && !this.isPresentAt(number)) this.#absentTo = number
  }

  /** Records that Multicall3 answered. */
  sawPresent(number: bigint): void {
    if (this.#presentFrom === undefined || number < this.#presentFrom) this.#presentFrom = number
  }
}

/** Where reads are made. */
export interface ReadScope {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  /** Of the chain, the same for all of its hours and endpoints. */
  readonly memory: ReadMemory
  readonly signal: AbortSignal
}
