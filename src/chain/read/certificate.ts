import type { Hex } from '../../model/block.ts'
import type { SeenBlock } from '../endpoint/certified-code.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointReport } from '../endpoint/endpoint-health.ts'
import { headerCall } from '../look-up/as-of-search.ts'
import { type BlockReference, headerOf, type NamedBlock, type ReadTarget, takesHashes } from './block-pin.ts'

/**
 * Difference between a block as calls see it and its header. On most chains there is none; a few show the number of
 * another chain, the time of another block, or hashes of their own.
 */
export interface BlockContext {
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
export interface CertifiedRead {
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
