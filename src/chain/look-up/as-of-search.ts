import type { Hex } from '../../model/block.ts'
import type { Hour } from '../../model/hour.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { RpcAnswer } from '../endpoint/wire.ts'
import { singleHoursMax } from '../limits.ts'
import { hexOf, parseHeader } from '../shapes.ts'
import { type AsOfAnswer, nearPresentSeconds, nextStep, type Question } from './as-of.ts'
import { type BlockHeader, KnownHeaders } from './known-headers.ts'

/** What is looked for, and what may shorten the search without changing its answers. */
export interface Search {
  readonly hours: readonly Hour[]
  /** Headers from earlier searches; when they contradict the chain they are forgotten and it starts again. */
  readonly seeds: readonly BlockHeader[]
  /** Where the as-of block of an hour was before: it is asked for first. */
  readonly hints?: ReadonlyMap<Hour, bigint>
  /** Seconds since 1970. */
  readonly nowSeconds: number
  /** Told, in the turn in which it is asked for, of a block that is the hour's as-of block if it is not too late. */
  readonly likely?: (hour: Hour, block: Likely) => void
}

/** A block whose timestamp alone is not known yet. */
export interface Likely {
  readonly number: bigint
  readonly hash: Hex
}

/** What a search came to, for each of its hours. */
export interface AsOfSearchResult {
  readonly answers: ReadonlyMap<Hour, AsOfAnswer>
  readonly known: KnownHeaders
  /** Why the endpoint did not give a block, by its number. */
  readonly absent: ReadonlyMap<bigint, EndpointFailure>
}

/** More than any search takes: the range halves with each round. */
const roundsMax = 100

/** Rounds in a row that give an hour no block: the node has none of those around it. Chains with holes have short ones. */
const emptyRoundsMax = 5

/**
 * Searches for all hours in lockstep on one endpoint: what they ask for in one round travels together, and each header
 * helps all of them.
 *
 * @throws EndpointFailure
 */
export async function findAsOf(endpoint: Endpoint, search: Search, signal: AbortSignal): Promise<AsOfSearchResult> {
  let session = new Session(search, search.seeds)
  for (let round = 0; round < roundsMax; round++) {
    const question = session.question()
    if (!question) return session
    if (!session.learn(await readHeaders(endpoint, question, signal))) session = new Session(search, [])
  }
  throw new EndpointFailure(endpoint.host, 'answered headers that are not of one chain')
}

/** The state of one search. Pure but for `likely`. */
export class Session implements AsOfSearchResult {
  readonly answers = new Map<Hour, AsOfAnswer>()
  readonly known = new KnownHeaders()
  readonly absent = new Map<bigint, EndpointFailure>()
  readonly #search: Search
  #pending: readonly Hour[]
  #rounds = 0
  /** Of each hour: what it asked for last, and for how many rounds it was given nothing. */
  readonly #asked = new Map<Hour, { readonly numbers: readonly bigint[]; readonly emptyRounds: number }>()

  constructor(search: Search, seeds: readonly BlockHeader[]) {
    this.#search = search
    this.#pending = search.hours
    if (seeds.every(seed => this.known.add(seed))) return
    this.known = new KnownHeaders()
  }

  /** What all hours together ask for next; `undefined` when every hour has its answer. */
  question(): Question | undefined {
    const asked = this.#pending.map(hour => [hour, this.#step(hour)] as const)
    const open = asked.flatMap(([hour, step]) => (step.kind === 'ask' ? [[hour, step] as const] : []))
    for (const [hour, step] of asked) if (step.kind !== 'ask') this.answers.set(hour, step)
    this.#pending = open.map(([hour]) => hour)
    if (open.length === 0) return undefined
    for (const [hour, step] of open) this.#tellLikely(hour, step)
    this.#rounds += 1
    const numbers = new Set(open.flatMap(([, step]) => step.numbers))
    return { kind: 'ask', latest: open.some(([, step]) => step.latest), numbers: [...numbers] }
  }

  /** @returns whether the headers are of one chain with what is known */
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
    const thrift = hours.length <= singleHoursMax ? 'few-rounds' : 'few-calls'
    const emptyRounds = this.#emptyRoundsOf(hour)
    const step = nextStep(this.known, hour / 1000, { rounds: this.#rounds, emptyRounds, thrift, nowSeconds })
    if (step.kind !== 'ask') return step
    const hint = this.#rounds === 0 ? hints?.get(hour) : undefined
    return this.#unlessInVain(
      hour,
      hint === undefined ? step : { kind: 'ask', latest: true, numbers: [hint, hint + 1n] },
    )
  }

  /** Ends the search for one hour where the node has given none of the blocks around it for some rounds. */
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

  /** The parent of a block past the hour, when it alone is asked for: near the present that is nearly certain. */
  #tellLikely(hour: Hour, { numbers }: Question): void {
    const { high } = this.known.around(hour / 1000)
    const [number] = numbers
    if (this.#search.nowSeconds - hour / 1000 > nearPresentSeconds) return
    if (numbers.length !== 1 || number === undefined || number + 1n !== high?.number || !high.parentHash) return
    this.#search.likely?.(hour, { number, hash: high.parentHash })
  }
}

/** Headers that a node has given. */
interface Headers {
  readonly latest: BlockHeader | undefined
  readonly headers: readonly BlockHeader[]
  /** Blocks it did not give although they are not past its head, each with its reason. */
  readonly absent: ReadonlyMap<bigint, EndpointFailure>
}

/** The headers asked for, in one round trip. @throws EndpointFailure without the last block, or for garbage */
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
    // Past the last block there is none, in whatever words a node says so: that is an answer.
    if (!head || number <= head.number) absent.set(number, header)
    return []
  })
  return { latest: head, headers, absent }
}

/** One block's header, or why the node did not give it. @throws EndpointFailure for another block's header, or none */
function headerOf(
  endpoint: Endpoint,
  number: bigint | 'latest',
  answer: RpcAnswer | undefined,
): BlockHeader | EndpointFailure {
  if (answer?.kind === 'error') return endpoint.failure(answer.error)
  if (answer?.result === null) return new EndpointFailure(endpoint.host, `does not have block ${number}`)
  const header = parseHeader(answer?.result)
  if (header && (number === 'latest' || header.number === number)) return header
  // Some nodes give the block before a null round in its place.
  if (header && number !== 'latest' && header.number < number) {
    return new EndpointFailure(endpoint.host, `does not have block ${number}`)
  }
  throw new EndpointFailure(endpoint.host, `answered something else than the header of block ${number}`)
}

/** The call that reads a block’s header. */
export function headerCall(number: bigint | 'latest') {
  return { method: 'eth_getBlockByNumber', params: [number === 'latest' ? number : hexOf(number), false] }
}
