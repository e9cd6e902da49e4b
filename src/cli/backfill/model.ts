import { Session } from '../../chain/look-up/as-of-search.ts'
import type { BlockHeader } from '../../chain/look-up/known-headers.ts'
import type { AsOfBlock } from '../../model/block.ts'
import { type Hour, hourAfter } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'

/** A chain that makes a block every so many seconds: what a look-up is counted on. */
export class ModelChain {
  readonly #firstSeconds: number
  readonly spacingSeconds: number
  readonly #nowSeconds: number

  private constructor(firstSeconds: number, spacingSeconds: number, nowSeconds: number) {
    this.#firstSeconds = firstSeconds
    this.spacingSeconds = spacingSeconds
    this.#nowSeconds = nowSeconds
  }

  /** Through two blocks; `undefined` where they do not tell the chain's pace. */
  static through(one: AsOfBlock | undefined, other: AsOfBlock | undefined, nowSeconds: number): ModelChain | undefined {
    if (!one || !other || other.number <= one.number) return undefined
    const spacing = (other.timestampSeconds - one.timestampSeconds) / Number(other.number - one.number)
    return new ModelChain(one.timestampSeconds - Number(one.number) * spacing, spacing, nowSeconds)
  }

  /**
   * What a look-up of hours asks for, round by round: the search itself, run on this chain.
   *
   * @param found hours that were looked up before by the same process
   */
  callsByRound(hours: readonly Hour[], found: readonly Hour[]): number[] {
    const seeds = neighbours(found, hours).flatMap(hour => this.#provenAt(hour))
    const session = new Session({ hours, seeds, nowSeconds: this.#nowSeconds }, seeds)
    const calls: number[] = []
    for (let question = session.question(); question; question = session.question()) {
      const { latest, numbers } = question
      calls.push(numbers.length + (latest ? 1 : 0))
      const there = numbers.filter(number => number <= this.#head)
      session.learn({
        latest: latest ? this.#header(this.#head) : undefined,
        headers: there.map(number => this.#header(number)),
        absent: new Map(),
      })
    }
    return calls
  }

  get #head(): bigint {
    return this.#at(this.#nowSeconds)
  }

  #at(seconds: number): bigint {
    return BigInt(Math.floor((seconds - this.#firstSeconds) / this.spacingSeconds))
  }

  /** An as-of block and its child. */
  #provenAt(hour: Hour): BlockHeader[] {
    const number = this.#at(hour / 1000)
    return number < 0n || number >= this.#head ? [] : [this.#header(number), this.#header(number + 1n)]
  }

  #header(number: bigint): BlockHeader {
    const hash = (of: bigint) => `0x${(of + 1n).toString(16).padStart(64, '0')}` as const
    const timestampSeconds = Math.floor(this.#firstSeconds + Number(number) * this.spacingSeconds)
    return { number, hash: hash(number), parentHash: hash(number - 1n), timestampSeconds }
  }
}

/** Of the hours that were found those next to some others, and as far before and after these as they are apart. */
function neighbours(found: readonly Hour[], hours: readonly Hour[]): Hour[] {
  const [first, last] = [hours[0], hours.at(-1)]
  if (first === undefined || last === undefined) return []
  const count = Math.max(1, (last - first) / hourMs)
  const places = [first, last, hourAfter(first, -count), hourAfter(last, count)]
  const near = places.flatMap(place => [
    ...found.filter(hour => hour <= place).slice(-1),
    ...found.filter(hour => hour > place).slice(0, 1),
  ])
  return [...new Set(near)]
}
