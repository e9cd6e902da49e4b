import { packed } from '../chain/log-list.ts'
import type { Chains, ReadAnswer, ReadRequest } from '../chain/reads.ts'
import type { AsOfBlock } from '../model/block.ts'
import { Fault, type FaultRecord, faultRecord } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import type { ChainRead, ReadInterceptor, ReadingRun } from '../runner/daemon/read-interceptor.ts'
import type { ChainQuestion, ChainReply, HttpRead, HttpReply, ListReply, PriceReply } from '../runner/messages.ts'
import { Redactor } from '../telemetry/redactor.ts'
import { cleanRequest, sentSecrets, withoutSecrets } from './clean.ts'
import {
  atText,
  httpKey,
  httpText,
  type LogsQuestion,
  logsAsked,
  logsKey,
  logsText,
  type RecordedAnswer,
  type RecordedHttp,
  type RecordedRead,
  type Recording,
  readKey,
  readText,
} from './recording.ts'

const hourMs = 3_600_000

/** A recording, with its entries by what asks for them. */
class Entries {
  readonly prices: Recording['prices']
  readonly lists: NonNullable<Recording['lists']>
  readonly #chains: Recording['chains']
  readonly #reads: ReadonlyMap<string, RecordedRead>
  readonly #http: ReadonlyMap<string, RecordedHttp>

  constructor({ chains, reads, prices, lists = {}, http }: Recording) {
    this.prices = prices
    this.lists = lists
    this.#chains = chains
    this.#reads = new Map(reads.map(read => [keyOfRead(read), read]))
    this.#http = new Map(http.map(entry => [httpKey(entry), entry]))
  }

  block(chain: string, hour: Hour): AsOfBlock | undefined {
    const block = Object.hasOwn(this.#chains, chain) ? this.#chains[chain]?.blocks[hourText(hour)] : undefined
    return block && { ...block, number: BigInt(block.number) }
  }

  read(chain: string, hoursBefore: number, request: ReadRequest): ReadAnswer | undefined {
    const found = this.#reads.get(readKey(chain, hoursBefore, request))
    return found && 'read' in found ? answerOf(found) : undefined
  }

  logs(chain: string, hoursBefore: number, asked: LogsQuestion): Uint8Array | undefined {
    const found = this.#reads.get(logsKey(chain, hoursBefore, asked))
    if (!found || !('logs' in found)) return undefined
    return packed(found.answer.map(log => ({ ...log, blockNumber: BigInt(log.blockNumber) })))
  }

  answers(key: string): readonly RecordedAnswer[] {
    return this.#http.get(key)?.answers ?? []
  }
}

/** Answers runs from recordings. A read that is not in them fails, and is listed. */
export class Player implements ReadInterceptor {
  readonly requests = 'unsent'
  readonly #byHour: ReadonlyMap<string, Entries>
  readonly #redactor: Redactor
  /** Secrets that the runs have sent; they are redacted in the recorded requests, too. */
  readonly #sentSecrets = new Redactor()
  /** Number of times that a run has sent a request. */
  readonly #sent = new Map<string, number>()
  readonly #missing = new Set<string>()
  #hasRead = false

  /**
   * @param recordings each of another hour
   * @param redactor knows the stand-ins of secrets before a run asks
   */
  constructor(recordings: readonly Recording[], redactor: Redactor) {
    this.#byHour = new Map(recordings.map(recording => [recording.hour, new Entries(recording)]))
    this.#redactor = redactor
  }

  /** Reads that are in no recording, in words. */
  get missing(): readonly string[] {
    return [...this.#missing]
  }

  /** Whether any run has asked for something. */
  get hasRead(): boolean {
    return this.#hasRead
  }

  async chain(run: ReadingRun, { chain, hour, question }: ChainRead): Promise<ChainReply> {
    const entries = this.#of(run)
    const hoursBefore = (run.hour - hour) / hourMs
    const asOfBlock = entries?.block(chain, hour)
    if (!asOfBlock) return this.#miss(...textsOf(chain, hoursBefore, question))
    if (question.kind === 'block') return { kind: 'block', at: asOfBlock }
    if (question.kind !== 'read') {
      const logs = logsAsked(question)
      const piece = logs && entries?.logs(chain, hoursBefore, logs)
      return piece
        ? { kind: 'logs', at: asOfBlock, value: [piece] }
        : this.#miss(...textsOf(chain, hoursBefore, question))
    }
    const answers = question.requests.map(request => entries?.read(chain, hoursBefore, request))
    const value = answers.filter(answer => answer !== undefined)
    if (value.length === answers.length) return { kind: 'read', at: asOfBlock, value }
    const lacking = question.requests.filter((_, index) => answers[index] === undefined)
    return this.#miss(...lacking.map(request => readText(chain, hoursBefore, request)))
  }

  async price(run: ReadingRun, name: string): Promise<PriceReply> {
    const prices = this.#of(run)?.prices ?? {}
    const price = Object.hasOwn(prices, name) ? prices[name] : undefined
    if (!price) return this.#miss(`the price ${name}`)
    return { kind: 'price', price: { exact: price.exact, nearest: price.usd, pins: [] } }
  }

  async list(run: ReadingRun, name: string): Promise<ListReply> {
    const lists = this.#of(run)?.lists ?? {}
    const items = Object.hasOwn(lists, name) ? lists[name] : undefined
    return items ? { kind: 'list', items } : this.#miss(`the list ${name}`)
  }

  async http(run: ReadingRun, httpRead: HttpRead): Promise<HttpReply> {
    const entries = this.#of(run)
    this.#sentSecrets.add(sentSecrets(httpRead))
    const own = cleanRequest(httpRead, this.#redactor)
    const isRecorded = (entries?.answers(httpKey(own)) ?? []).length > 0
    const request = isRecorded ? own : withoutSecrets(own, this.#sentSecrets)
    const key = httpKey(request)
    const count = this.#sent.get(`${run.token} ${key}`) ?? 0
    this.#sent.set(`${run.token} ${key}`, count + 1)
    const answers = entries?.answers(key) ?? []
    const answer = answers.length === 1 ? answers[0] : answers[count]
    if (answer) return replyOf(answer)
    const times = answers.length > 0 ? `: request ${count + 1} of this kind, and ${answers.length} are recorded` : ''
    return this.#miss(`${httpText(request)}${times}`)
  }

  #of({ hour }: ReadingRun): Entries | undefined {
    this.#hasRead = true
    const entries = this.#byHour.get(hourText(hour))
    if (!entries) this.#missing.add(`anything as of ${hourText(hour)}`)
    return entries
  }

  #miss(...words: readonly string[]): { readonly kind: 'faulted'; readonly fault: FaultRecord } {
    const clean = words.map(each => this.#redactor.redact(each))
    for (const each of clean) this.#missing.add(each)
    const message = `not in the recording: ${clean.join('; ')}`.slice(0, 1_000)
    const fault = new Fault('collector-unrecorded', message, { fix: 'record the run again, if it should read that' })
    return { kind: 'faulted', fault: faultRecord(fault) }
  }
}

function textsOf(chain: string, hoursBefore: number, question: ChainQuestion): string[] {
  if (question.kind === 'read') return question.requests.map(request => readText(chain, hoursBefore, request))
  const logs = logsAsked(question)
  return [logs ? logsText(chain, hoursBefore, logs) : `${atText(chain, hoursBefore)} the as-of block`]
}

/** Chains that are only names, for runs whose reads never reach them. */
export function namedChains({ chains }: Pick<Recording, 'chains'>, options: unknown): Chains {
  const names = [...Object.keys(chains), ...wordsIn(options)]
  const waitForever = () => new Promise<never>(() => {})
  return Object.fromEntries(
    names.map(name => {
      const reads = { block: waitForever, read: waitForever, logs: waitForever, recheck: waitForever }
      return [name, { id: chains[name]?.id ?? 0, settleMs: 0, nextLookUp: Promise.resolve(), ...reads }]
    }),
  )
}

/** All words of the options: the chains that they name are among them. */
function wordsIn(options: unknown): string[] {
  if (typeof options === 'string') return /^[\w.-]{1,100}$/.test(options) ? [options] : []
  if (typeof options !== 'object' || options === null) return []
  const names = Array.isArray(options) ? [] : Object.keys(options)
  return [...names.flatMap(wordsIn), ...Object.values(options).flatMap(wordsIn)]
}

function keyOfRead(recordedRead: RecordedRead): string {
  const { chain, hoursBefore = 0 } = recordedRead
  return 'logs' in recordedRead
    ? logsKey(chain, hoursBefore, { filter: recordedRead.logs, since: recordedRead.since })
    : readKey(chain, hoursBefore, recordedRead.read)
}

function answerOf({ returned, reverted }: Extract<RecordedRead, { readonly read: unknown }>): ReadAnswer {
  if (reverted !== undefined) return { kind: 'reverted', output: reverted }
  return { kind: 'returned', output: returned ?? '0x' }
}

function replyOf(answer: RecordedAnswer): HttpReply {
  if ('fault' in answer) {
    const { fix, ...fault } = answer.fault
    return { kind: 'faulted', fault: { ...fault, ...(fix !== undefined && { fix }) } }
  }
  return { kind: 'http', text: 'text' in answer ? answer.text : JSON.stringify(answer.json) }
}
