import type { Hex } from '../../model/block.ts'
import type { Hour } from '../../model/hour.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { RpcAnswer } from '../endpoint/wire.ts'
import { type BlockHeader, hexOf, parseHeader } from '../shapes.ts'
import { type AsOfAnswer, nearPresentSeconds, nextStep, type Question } from './as-of.ts'
import { KnownHeaders } from './known-headers.ts'
import { singleHoursMax } from './limits.ts'

/** Input of a search, with hints that shorten it without changing its result. */
export interface Search {
  /** Ascending, each once. */
  readonly hours: readonly Hour[]
  /** Headers from earlier searches. When they contradict the chain they are discarded, and the search starts again. */
  readonly seeds: readonly BlockHeader[]
  /** Earlier as-of blocks of hours, asked for first. */
  readonly hints?: ReadonlyMap<Hour, bigint>
  /** Seconds since 1970. */
  readonly nowSeconds: number
  /**
   * Called in the turn in which a candidate is asked for: it is the hour's as-of block unless its timestamp is too
   * late.
   */
  readonly onCandidate?: (hour: Hour, block: CandidateBlock) => void
}

/** A block of which only the timestamp is still unknown. */
export interface CandidateBlock {
  readonly number: bigint
  readonly hash: Hex
}

/** Result of a search, for each of its hours. */
export interface AsOfSearchResult {
  readonly answers: ReadonlyMap<Hour, AsOfAnswer>
  readonly known: KnownHeaders
  /** Why the endpoint did not return a block, by its number. */
  readonly absent: ReadonlyMap<bigint, EndpointFailure>
}

/** More than any search takes: the range halves with each round. */
const roundsMax = 100

/** Searches begun again because headers contradicted each other: after a reorg the next one fits. */
const contradictionsMax = 4

/** Later instants, in seconds since 1970, are of another unit: they are of the year 5138. */
const secondsMax = 1e11

/** Rounds in a row without any block for an hour: the node has none around it. Chains with holes have short ones. */
const emptyRoundsMax = 5

/**
 * Searches for all hours in lockstep on one endpoint: their requests of one round are sent together, and each header
 * helps every hour.
 *
 * @throws EndpointFailure
 */
export async function findAsOf(endpoint: Endpoint, search: Search, signal: AbortSignal): Promise<AsOfSearchResult> {
  let session = new AsOfSearch(search, search.seeds)
  for (let [round, contradictions] = [0, 0]; round < roundsMax; round += 1) {
    const question = session.question()
    if (!question) return session
    if (session.learn(await readHeaders(endpoint, question, signal))) continue
    contradictions += 1
    const text = `answered headers that are not of one chain: ${session.known.mismatch}`
    if (contradictions > contradictionsMax) throw headerFailure(endpoint, text)
    session = new AsOfSearch(search, [])
  }
  throw headerFailure(endpoint, 'answered headers among which no block is found')
}

function headerFailure({ host }: Endpoint, reason: string): EndpointFailure {
  const fix =
    'compare its blocks with those of another node: this one is damaged, or several of different chains answer'
  return new EndpointFailure(host, reason, 'unreachable', undefined, fix)
}

/** State of one search. Pure but for `onCandidate`. */
export class AsOfSearch implements AsOfSearchResult {
  readonly answers = new Map<Hour, AsOfAnswer>()
  readonly known = new KnownHeaders()
  readonly absent = new Map<bigint, EndpointFailure>()
  readonly #search: Search
  #pending: readonly Hour[]
  #rounds = 0
  /** For each hour: the numbers last asked for, and the rounds in a row that returned no block. */
  readonly #asked = new Map<Hour, { readonly numbers: readonly bigint[]; readonly emptyRounds: number }>()

  constructor(search: Search, seeds: readonly BlockHeader[]) {
    this.#search = search
    this.#pending = search.hours
    if (seeds.every(seed => this.known.add(seed))) return
    this.known = new KnownHeaders()
  }

  /** The next blocks to ask for, of all hours; `undefined` when every hour has its answer. */
  question(): Question | undefined {
    const asked = this.#pending.map(hour => [hour, this.#step(hour)] as const)
    const open = asked.flatMap(([hour, step]) => (step.kind === 'ask' ? [[hour, step] as const] : []))
    for (const [hour, step] of asked) if (step.kind !== 'ask') this.answers.set(hour, step)
    this.#pending = open.map(([hour]) => hour)
    if (open.length === 0) return undefined
    for (const [hour, step] of open) this.#reportCandidate(hour, step)
    this.#rounds += 1
    const numbers = new Set(open.flatMap(([, step]) => step.numbers))
    return { kind: 'ask', latest: open.some(([, step]) => step.latest), numbers: [...numbers] }
  }

  /** Adds headers. @returns whether they are of one chain with the known ones */
  learn({ latest, headers, absent }: Headers): boolean {
    if (latest) this.known.head = latest
    for (const [number, failure] of absent) {
      this.absent.set(number, failure)
      this.known.addAbsent(number)
    }
    return [...headers, ...(latest ? [latest] : [])].every(header => this.known.add(header))
  }

  #step(hour: Hour): AsOfAnswer | Question {
    const { hours, hints, nowSeconds } = this.#search
    const minimise = hours.length <= singleHoursMax ? 'rounds' : 'calls'
    const emptyRounds = this.#emptyRoundsOf(hour)
    const step = nextStep(this.known, hour / 1000, { rounds: this.#rounds, emptyRounds, minimise, nowSeconds })
    if (step.kind !== 'ask') return step
    const hint = this.#rounds === 0 ? hints?.get(hour) : undefined
    return this.#unlessInVain(
      hour,
      hint === undefined ? step : { kind: 'ask', latest: true, numbers: [hint, hint + 1n] },
    )
  }

  /** Ends the search for an hour after some rounds in which the node returned none of the blocks around it. */
  #unlessInVain(hour: Hour, question: Question): AsOfAnswer | Question {
    const emptyRounds = this.#emptyRoundsOf(hour)
    const [number] = this.#asked.get(hour)?.numbers ?? []
    if (number !== undefined && emptyRounds >= emptyRoundsMax) return { kind: 'missing', number }
    this.#asked.set(hour, { numbers: question.numbers, emptyRounds })
    return question
  }

  #emptyRoundsOf(hour: Hour): number {
    const { numbers, emptyRounds } = this.#asked.get(hour) ?? { numbers: [], emptyRounds: 0 }
    return numbers.length > 0 && numbers.every(number => this.known.isAbsent(number)) ? emptyRounds + 1 : 0
  }

  /**
   * Reports the parent of a block past the hour, when it is the only number asked for: near the present that is nearly
   * certain.
   */
  #reportCandidate(hour: Hour, { numbers }: Question): void {
    const { high } = this.known.around(hour / 1000)
    const [number] = numbers
    if (this.#search.nowSeconds - hour / 1000 > nearPresentSeconds) return
    if (numbers.length !== 1 || number === undefined || number + 1n !== high?.number || !high.parentHash) return
    this.#search.onCandidate?.(hour, { number, hash: high.parentHash })
  }
}

/** Headers returned by a node. */
interface Headers {
  readonly latest: BlockHeader | undefined
  readonly headers: readonly BlockHeader[]
  /** Blocks it did not return although they are not past its head, each with the reason. */
  readonly absent: ReadonlyMap<bigint, EndpointFailure>
}

/**
 * Reads the headers in one round trip.
 * @throws EndpointFailure when the last block is missing or an answer cannot be understood
 */
async function readHeaders(endpoint: Endpoint, { latest, numbers }: Question, signal: AbortSignal): Promise<Headers> {
  const asked = [...(latest ? (['latest'] as const) : []), ...numbers]
  const answers = await endpoint.call(asked.map(headerCall), signal)
  const read = asked.map((number, place) => headerOf(endpoint, number, answers[place]))
  const head = latest ? read[0] : undefined
  if (head instanceof EndpointFailure) throw head
  const absent = new Map<bigint, EndpointFailure>()
  const headers = read.slice(latest ? 1 : 0).flatMap((header, place) => {
    if (!(header instanceof EndpointFailure)) return [header]
    const number = numbers[place] ?? 0n
    // Past the last block there is no block, whatever words a node uses: that is an answer.
    if (!head || number <= head.number) absent.set(number, header)
    return []
  })
  return { latest: head, headers, absent }
}

/** One block's header, or why the node did not return it. @throws EndpointFailure when it is of another block */
function headerOf(
  endpoint: Endpoint,
  number: bigint | 'latest',
  answer: RpcAnswer | undefined,
): BlockHeader | EndpointFailure {
  if (answer?.kind === 'error') return endpoint.failure(answer.error)
  if (answer?.result === null) return new EndpointFailure(endpoint.host, `does not have block ${number}`)
  const header = parseHeader(answer?.result)
  if (header && header.timestampSeconds > secondsMax) {
    const text = `answered timestamps that are not in seconds: block ${header.number} is of ${header.timestampSeconds}`
    throw headerFailure(endpoint, text)
  }
  if (header && (number === 'latest' || header.number === number)) return header
  // Some nodes return the block before a null round in its place.
  if (header && number !== 'latest' && header.number < number) {
    return new EndpointFailure(endpoint.host, `does not have block ${number}`)
  }
  if (header) throw headerFailure(endpoint, `answered block ${header.number} when asked for block ${number}`)
  throw headerFailure(endpoint, `answered something else than the header of block ${number}`)
}

/** The call that reads a block's header. */
export function headerCall(number: bigint | 'latest') {
  return { method: 'eth_getBlockByNumber', params: [number === 'latest' ? number : hexOf(number), false] }
}
