import type { Hex } from '../../src/model/block.ts'
import { hourMs } from '../../src/model/limits.ts'
import { chanceOf, Fortune } from './chance.ts'

/** One block of a scripted chain, on whichever branch. */
export interface Block {
  readonly number: number
  readonly hash: Hex
  readonly seconds: number
  readonly parent: Block | undefined
}

/** The chain's last block from an instant on. */
export interface Head {
  readonly fromMs: number
  readonly block: Block
}

/** A time in which no endpoint is itself. */
export interface ChainTrouble {
  readonly fromMs: number
  readonly toMs: number
  readonly ill:
    | { readonly kind: 'down' }
    /** They see the chain as it was so long before. */
    | { readonly kind: 'behind'; readonly lagMs: number }
    /** They have headers, and no state. */
    | { readonly kind: 'stateless' }
}

/** Future of the chain of one world. */
export interface ChainScript {
  readonly settleMs: number
  /** As the chain goes on, earliest first. */
  readonly heads: readonly Head[]
  readonly troubles: readonly ChainTrouble[]
  /** Largest age of a block whose state an endpoint has; absent for an archive. */
  readonly stateMs?: number
  readonly latencyMs: number
}

/** The block alone, its state once, or twice in a run. */
export type ChainReading = 'block' | 'once' | 'twice'

interface Span {
  readonly startMs: number
  readonly healthyMs: number
}

const minuteMs = 60_000
/** Endpoints are at most so far behind: a block is final for them, too, once `settle` has passed. */
const lagMsMax = 2 * minuteMs
/** Of a chain that is well: nothing depends on more blocks. */
const wellSeconds = 60
/** Longer than any world goes on once it is well. */
const afterMs = 12 * hourMs

/** @returns `undefined` for a world without a chain */
export function chainScript(seed: number, span: Span, isLong: boolean): ChainScript | undefined {
  const chance = new Fortune(seed + 5)
  if (isLong || chance.is(0.35)) return undefined
  const settleMs = chance.pick([6, 20, 20, 45]) * minuteMs
  return {
    settleMs,
    heads: new Growth(chance, seed, span, settleMs).heads(),
    troubles: chance.times(0, 4, () => trouble(chance, span)),
    ...(chance.is(0.2) ? { stateMs: chance.pick([26, 90, 400]) * minuteMs } : {}),
    latencyMs: chance.spread(5, 1_500),
  }
}

/** A collector's way to read the chain, and its slowness; some do not read it. */
export function readsOf(
  seed: number,
  name: string,
  { settleMs }: ChainScript,
): { readonly reads?: ChainReading; readonly slowMs?: number } {
  const chance = chanceOf(seed, 'reads', name)
  if (chance < 0.3) return {}
  // Some begin before the hour's block is final, and end after.
  const slow = chanceOf(seed, 'slow', name) < 0.25 ? { slowMs: 1.5 * settleMs } : {}
  return { ...slow, reads: chance < 0.5 ? 'block' : chance < 0.75 ? 'once' : 'twice' }
}

function trouble(chance: Fortune, { startMs, healthyMs }: Span): ChainTrouble {
  const fromMs = Math.floor(chance.between(startMs, healthyMs))
  const toMs = Math.min(healthyMs, fromMs + Math.floor(chance.spread(1_000, 3 * hourMs)))
  const lagMs = Math.floor(chance.spread(1_000, lagMsMax))
  const ill = chance.pick<ChainTrouble['ill']>([{ kind: 'down' }, { kind: 'behind', lagMs }, { kind: 'stateless' }])
  return { fromMs, toMs, ill }
}

/** Lets a chain grow, by irregular times, with reorgs near its head. */
class Growth {
  readonly #chance: Fortune
  readonly #seed: number
  readonly #span: Span
  /** A block so old is replaced no more. */
  readonly #finalMs: number
  readonly #interval: {
    readonly seconds: number
    readonly isRandom: boolean
    readonly missed: number
    readonly equal: number
  }
  readonly #halt: { readonly fromMs: number; readonly toMs: number }
  /** When a reorg is due, earliest last. */
  readonly #reorgsMs: number[]
  readonly #heads: Head[] = []
  #blocks = 0
  /** Last block of the branch that lost in the last reorg. */
  #lost: Block | undefined

  constructor(chance: Fortune, seed: number, span: Span, settleMs: number) {
    this.#chance = chance
    this.#seed = seed
    this.#span = span
    this.#finalMs = settleMs - lagMsMax - minuteMs
    const seconds = chance.pick([12, 13, 40, 120, 200])
    this.#interval = {
      seconds,
      isRandom: chance.is(0.4),
      missed: chance.pick([0.01, 0.1, 0.3]),
      equal: chance.pick([0, 0, 0.1]),
    }
    const fromMs = chance.is(0.2) ? chance.between(span.startMs, span.healthyMs) : Number.POSITIVE_INFINITY
    this.#halt = { fromMs, toMs: Math.min(span.healthyMs, fromMs + chance.spread(10 * minuteMs, 4 * hourMs)) }
    this.#reorgsMs = this.#planReorgs(seconds * 1000).sort((a, b) => b - a)
  }

  heads(): Head[] {
    const { startMs, healthyMs } = this.#span
    const ageMs = this.#chance.is(0.15) ? this.#chance.between(hourMs, 12 * hourMs) : 60 * hourMs
    this.#goOn(this.#block(undefined, Math.floor((startMs - ageMs) / 1000)))
    for (let tip = this.#tip; tip.seconds * 1000 < healthyMs + afterMs; tip = this.#tip) {
      this.#goOn(this.#block(tip, this.#nextSeconds(tip)))
      this.#reorganizeDue()
    }
    return this.#heads
  }

  /** Mostly soon after an hour, where they change what the hour's block is; often several in a row. */
  #planReorgs(intervalMs: number): number[] {
    const { startMs, healthyMs } = this.#span
    const chance = this.#chance
    const share = chance.pick([0.2, 0.7, 1])
    const hours = Math.ceil((healthyMs - startMs) / hourMs) + 1
    const first = Math.floor(startMs / hourMs) * hourMs
    return Array.from({ length: hours }, (_, index) => first + index * hourMs).flatMap(hour =>
      chance.is(share) ? chance.times(1, 3, () => hour + chance.spread(0.5, 4) * intervalMs) : [],
    )
  }

  get #tip(): Block {
    const last = this.#heads.at(-1)
    if (!last) throw new Error('a chain has a first block')
    return last.block
  }

  #block(parent: Block | undefined, seconds: number): Block {
    const number = parent ? parent.number + 1 : 1_000
    const word = () => Math.floor(chanceOf(this.#seed, 'hash', this.#blocks++) * 2 ** 32)
    const hash = `${word().toString(16).padStart(8, '0')}${this.#blocks.toString(16).padStart(56, '0')}`
    return { number, hash: `0x${hash}`, seconds, parent }
  }

  #nextSeconds({ seconds }: Block): number {
    const { startMs, healthyMs } = this.#span
    const atMs = seconds * 1000
    const { isRandom, missed, equal, seconds: interval } = this.#interval
    if (atMs >= healthyMs) return seconds + wellSeconds
    // Of the time before only few blocks matter.
    if (atMs < startMs - 2 * hourMs) return seconds + Math.floor(this.#chance.between(60, 1_200))
    if (atMs >= this.#halt.fromMs && atMs < this.#halt.toMs) return Math.ceil(this.#halt.toMs / 1000)
    if (this.#chance.is(equal)) return seconds
    if (isRandom) return seconds + Math.ceil(-Math.log(1 - this.#chance.roll()) * interval)
    let slots = 1
    while (this.#chance.is(missed)) slots += 1
    return seconds + slots * interval
  }

  #goOn(block: Block): void {
    const arrivesMs = block.seconds * 1000 + Math.floor(this.#chance.between(0, 3_000))
    this.#heads.push({ fromMs: Math.max(arrivesMs, this.#heads.at(-1)?.fromMs ?? 0), block })
  }

  #reorganizeDue(): void {
    const nowMs = this.#heads.at(-1)?.fromMs ?? 0
    let isDue = false
    while ((this.#reorgsMs.at(-1) ?? Number.POSITIVE_INFINITY) <= nowMs) {
      this.#reorgsMs.pop()
      isDue = true
    }
    if (isDue && !(this.#chance.is(0.6) && this.#goBack(nowMs))) this.#reorganize(nowMs)
  }

  /** The branch that lost goes on, and wins. @returns whether it may */
  #goBack(nowMs: number): boolean {
    const [tip, lost] = [this.#tip, this.#lost]
    if (!lost) return false
    const [ours, theirs] = [pathOf(tip), pathOf(lost)]
    const isFinal = ({ seconds }: Block) => seconds * 1000 <= nowMs - this.#finalMs
    const replaced = ours.filter(block => !theirs.includes(block))
    const restored = theirs.filter(block => !ours.includes(block))
    if (replaced.length > 3 || restored.length > 3 || [...replaced, ...restored].some(isFinal)) return false
    const seconds = Math.max(lost.seconds, Math.floor(nowMs / 1000))
    this.#heads.push({ fromMs: nowMs + Math.floor(this.#chance.between(1, 2_000)), block: this.#block(lost, seconds) })
    this.#lost = tip
    return true
  }

  /** Another branch takes the place of the last blocks: of as many or one more, stamped as they were or otherwise. */
  #reorganize(nowMs: number): void {
    const chance = this.#chance
    const finalSeconds = Math.ceil((nowMs - this.#finalMs) / 1000)
    let [parent, depth] = [this.#tip, 0]
    const depthMax = chance.pick([1, 2, 3, 3])
    while (depth < depthMax && parent.parent && parent.seconds > finalSeconds) {
      parent = parent.parent
      depth += 1
    }
    if (depth === 0) return
    const least = Math.max(parent.seconds, finalSeconds + 1)
    const stamps = Array.from({ length: depth + chance.whole(0, 1) }, () =>
      Math.floor(chance.between(least, nowMs / 1000)),
    )
    const last = stamps.sort((a, b) => a - b).reduce((tip, seconds) => this.#block(tip, seconds), parent)
    this.#lost = this.#tip
    this.#heads.push({ fromMs: nowMs + Math.floor(chance.between(1, 2_000)), block: last })
  }
}

/** A block and some before it. */
function pathOf(block: Block): Block[] {
  const path: Block[] = []
  for (let at: Block | undefined = block; at && path.length < 6; at = at.parent) path.push(at)
  return path
}
