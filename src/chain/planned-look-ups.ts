import type { Hour } from '../model/hour.ts'
import { Session } from './as-of-search.ts'
import type { Header } from './known-headers.ts'

/** A chain that makes a block every so many seconds, from its first block to its last. */
export interface RegularChain {
  readonly firstSeconds: number
  readonly spacingSeconds: number
  readonly head: bigint
}

/** What looking up hours costs: headers, by the round in which they are asked for. */
export interface LookUpCost {
  readonly callsByRound: readonly number[]
}

/**
 * What a look-up of hours would ask for on a chain that is regular: the search itself, run on a model. Pure.
 *
 * @param known hours whose as-of block is known already, where the search starts
 */
export function plannedLookUps(
  chain: RegularChain,
  hours: readonly Hour[],
  known: readonly Hour[],
  nowSeconds: number,
): LookUpCost {
  const session = new Session(
    { hours, seeds: [], nowSeconds },
    known.flatMap(hour => asOfHeader(chain, hour) ?? []),
  )
  const callsByRound: number[] = []
  for (let question = session.question(); question; question = session.question()) {
    callsByRound.push(question.numbers.length + (question.latest ? 1 : 0))
    const numbers = question.numbers.filter(number => number <= chain.head)
    session.learn({
      latest: question.latest ? headerOf(chain, chain.head) : undefined,
      headers: numbers.map(number => headerOf(chain, number)),
    })
  }
  return { callsByRound }
}

function asOfHeader(chain: RegularChain, hour: Hour): Header | undefined {
  const number = BigInt(Math.floor((hour / 1000 - chain.firstSeconds) / chain.spacingSeconds))
  return number < 0n || number > chain.head ? undefined : headerOf(chain, number)
}

function headerOf({ firstSeconds, spacingSeconds }: RegularChain, number: bigint): Header {
  const hash = (of: bigint) => `0x${(of + 1n).toString(16).padStart(64, '0')}` as const
  const timestampSeconds = Math.floor(firstSeconds + Number(number) * spacingSeconds)
  return { number, hash: hash(number), parentHash: hash(number - 1n), timestampSeconds }
}
