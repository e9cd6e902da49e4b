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
import { blockMissing, headerCall } from '../look-up/look-ups.ts'
import { type BlockHeader, hexOf, parseHeader } from '../shapes.ts'

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
export function pinOf({ node }: Endpoint): BlockReference {
  return node.takesHashes === false ? 'number' : 'hash'
}

/** A hash that no block has, in the place of one. */
export const noBlock: NamedBlock = { number: 0n, hash: `0x${'f'.repeat(64)}` }

/**
 * Whether an endpoint reads the block that a hash names: it must treat the hash of a block otherwise than one that no
 * block has. Asked once of a node. The first block is on every branch, so a load balancer does not decide the answer.
 *
 * @throws EndpointFailure while the answers leave it open
 */
export async function takesHashes(endpoint: Endpoint, block: NamedBlock, signal: AbortSignal): Promise<boolean> {
  const { node } = endpoint
  if (node.takesHashes !== undefined) return node.takesHashes
  const [first] = await endpoint.tryCall([headerCall(0n)], signal)
  const hashes = [headerOf(first)?.hash ?? block.hash, noBlock.hash]
  const places = [...hashes.map(hash => pinParam({ ...block, hash }, 'hash')), pinParam(block, 'number')]
  const outcomes = await endpoint.tryCall(places.map(stateCall), signal)
  const [ofBlock, ofNone, ofNumber] = outcomes.map(outcome => refusalOf(endpoint, outcome))
  // Nodes that do not take hashes refuse each in the same words, and these are not about a block that is missing.
  const isTaken = ofNone !== undefined && (ofNone.isUnknownBlock || ofBlock?.words !== ofNone.words)
  if (!isTaken && ofNone && ofNumber) throw ofNumber.failure
  node.takesHashes = isTaken
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
  if (!(await runsNothing((...asked) => endpoint.tryCall(...asked), number, signal))) return
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
  if (outcome?.result === null) throw blockMissing(endpoint, block.number)
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
export const plainContext: BlockContext = { numberShift: 0n, secondsShift: 0n, hasParent: true }

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
export interface CertifierDeps {
  /** States of the chain's endpoints. */
  readonly endpoints: () => readonly Pick<EndpointReport, 'host' | 'state'>[]
  /** Called with what calls of the chain see, when that turns out to differ from the headers. */
  readonly contextFound: (words: string) => void
}

/**
 * Checks that answers of one chain are of the block that was asked for. Where calls do not see their block as its
 * header is, the difference is learnt from two blocks, and reads have to be pinned by hash.
 */
export class Certifier {
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
  async certify(certifiedRead: CertifiedRead, seenBlock: SeenBlock): Promise<void> {
    const { endpoint, block, pin, signal } = certifiedRead
    const [timestampSeconds, parentHash] = await Promise.all([block.timestampSeconds, block.parentHash])
    const difference = differenceOf(this.#context, { ...block, timestampSeconds, parentHash }, seenBlock)
    if (difference === undefined && isPlain(this.#context)) {
      this.#sawPlain = true
      return
    }
    // Here the certificate is not enough: the endpoint must read the block that the hash names.
    if (pin === 'hash' && (await takesHashes(endpoint, block, signal))) {
      if (difference === undefined || (await this.#learns(certifiedRead, seenBlock))) return
    }
    const reason = difference ?? 'does not take the hash of a block, without which reads of this chain are not certain'
    throw new EndpointFailure(endpoint.host, reason, 'wrong-block')
  }

  /** Whether the difference is one of the chain, and no answer from another block. */
  async #learns(read: CertifiedRead, seen: SeenBlock): Promise<boolean> {
    const { host } = read.endpoint
    const contextFound = await contextOfTwo(read, seen)
    if (!contextFound) return false
    if (isPlain(contextFound)) {
      this.#context = contextFound
      this.#sawPlain = true
      return true
    }
    const context = isPlain(this.#context) ? contextFound : commonOf(this.#context, contextFound)
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
  header: NamedBlock & { readonly timestampSeconds: number; readonly parentHash: Hex | undefined },
  seenBlock: SeenBlock,
): string | undefined {
  const question = `when asked at block ${header.number}, timestamp ${header.timestampSeconds}`
  if (secondsShift !== undefined && seenBlock.timestampSeconds !== BigInt(header.timestampSeconds) + secondsShift) {
    return `read at timestamp ${seenBlock.timestampSeconds} ${question}`
  }
  if (numberShift !== undefined && seenBlock.number !== header.number + numberShift) {
    return `read at block ${seenBlock.number} ${question}`
  }
  if (!hasParent || header.parentHash === undefined || !isOtherHash(seenBlock.parentHash, header.parentHash))
    return undefined
  return `read on another branch ${question}: the block before has the hash ${seenBlock.parentHash}, not ${header.parentHash}`
}

/** Whether a node names another hash. A node that does not know the hash answers zero. */
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
  seenBlock: SeenBlock,
): Promise<BlockContext | undefined> {
  const numbered = [block.number, block.number + 1n, 1n].map(headerCall)
  const [header, child, first] = (await endpoint.tryCall(numbered, signal)).map(headerOf)
  if (!header || !child || header.hash !== block.hash) return undefined
  const seenAfter = await askAt(child)
  if (!seenAfter) return undefined
  const numbers = [seenBlock.number - header.number, seenAfter.number - child.number]
  const seconds = [seenBlock, seenAfter].map(({ timestampSeconds }, index) => {
    return timestampSeconds - BigInt((index === 0 ? header : child).timestampSeconds)
  })
  const parents = [
    isOtherHash(seenBlock.parentHash, header.parentHash),
    isOtherHash(seenAfter.parentHash, child.parentHash),
  ]
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
function commonOf(context: BlockContext, second: BlockContext): BlockContext {
  return contextOf(
    context.numberShift === second.numberShift ? context.numberShift : undefined,
    context.secondsShift === second.secondsShift ? context.secondsShift : undefined,
    context.hasParent && second.hasParent,
  )
}

function wordsOf({ numberShift, secondsShift, hasParent }: BlockContext): string {
  const shiftText = (shift: bigint | undefined, unit: string) =>
    shift === undefined ? '' : ` (${shift > 0n ? '+' : ''}${shift}${unit})`
  const parts = [
    ...(secondsShift === 0n ? [] : [`timestamp${shiftText(secondsShift, ' s')}`]),
    ...(numberShift === 0n ? [] : [`number${shiftText(numberShift, '')}`]),
    ...(hasParent ? [] : ['parent hash']),
  ]
  return `calls see another ${parts.join(', ')} than the header of their block has`
}
