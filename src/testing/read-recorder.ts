import { LogList, type RawLog } from '../chain/log-list.ts'
import type { Chains, ReadAnswer, ReadRequest } from '../chain/reads.ts'
import type { AsOfBlock, Hex } from '../model/block.ts'
import { Fault, faultFromRecord, faultLine } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import type { ChainRead, ReadInterceptor, ReadingRun } from '../runner/daemon/read-interceptor.ts'
import type { ChainReply, HttpRead, HttpReply, ListReply, PriceReply } from '../runner/messages.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import { cleanAnswer, cleanRequest, sentSecrets, withoutSecrets } from './clean.ts'
import {
  httpKey,
  logsAsked,
  logsKey,
  type RecordedAnswer,
  type RecordedHttp,
  type RecordedRead,
  type Recording,
  readKey,
  recordingForm,
} from './recording.ts'

interface AnsweredRequest {
  readonly request: Omit<RecordedHttp, 'answers'>
  readonly answers: { readonly place: number; readonly answer: RecordedAnswer }[]
}

const hourMs = 3_600_000

/** Records what the runs of one hour read. */
export class ReadRecorder implements ReadInterceptor {
  readonly requests = 'sent'
  readonly #hour: Hour
  readonly #chains: Chains
  readonly #redactor: Redactor
  readonly #blocks = new Map<string, Map<string, AsOfBlock>>()
  readonly #reads = new Map<string, RecordedRead>()
  readonly #prices = new Map<string, Recording['prices'][string]>()
  readonly #lists = new Map<string, Hex[]>()
  readonly #http: HttpRead[] = []
  readonly #failures: Fault[] = []

  /** @param redactor knows the secrets before anything is read */
  constructor(hour: Hour, chains: Chains, redactor: Redactor) {
    this.#hour = hour
    this.#chains = chains
    this.#redactor = redactor
  }

  async chain(
    run: ReadingRun,
    { chain, hour, question }: ChainRead,
    ask: () => Promise<ChainReply>,
  ): Promise<ChainReply> {
    const reply = await ask()
    if (reply.kind === 'faulted') {
      this.#failures.push(faultFromRecord(reply.fault))
      return reply
    }
    const hoursBefore = (run.hour - hour) / hourMs
    const place = { chain, ...(hoursBefore > 0 && { hoursBefore }) }
    const blocks = this.#blocks.get(chain) ?? new Map<string, AsOfBlock>()
    this.#blocks.set(chain, blocks.set(hourText(hour), reply.at))
    if (question.kind === 'read' && reply.kind === 'read') {
      for (const [index, read] of question.requests.entries()) {
        const answer = reply.value[index]
        if (answer) this.#reads.set(readKey(chain, hoursBefore, read), { ...place, ...answered(read, answer) })
      }
    }
    const logs = logsAsked(question)
    if (logs && reply.kind === 'logs') {
      const { filter, ...since } = logs
      const answer = [...new LogList(reply.value)].map(plainLog)
      this.#reads.set(logsKey(chain, hoursBefore, logs), { ...place, logs: filter, ...since, answer })
    }
    return reply
  }

  async price(_run: ReadingRun, name: string, ask: () => Promise<PriceReply>): Promise<PriceReply> {
    const reply = await ask()
    if (reply.kind === 'faulted') this.#failures.push(faultFromRecord(reply.fault))
    else this.#prices.set(name, { usd: reply.price.nearest, exact: reply.price.exact })
    return reply
  }

  async list(_run: ReadingRun, name: string, ask: () => Promise<ListReply>): Promise<ListReply> {
    const reply = await ask()
    if (reply.kind === 'faulted') this.#failures.push(faultFromRecord(reply.fault))
    else this.#lists.set(name, [...reply.items])
    return reply
  }

  async http(_run: ReadingRun, httpRead: HttpRead): Promise<HttpReply> {
    if (!httpRead.answer) throw new Fault('collector-output', 'a request came without its answer')
    this.#http.push(httpRead)
    return httpRead.answer
  }

  /** Items of the lists that were read, by name. */
  get lists(): ReadonlyMap<string, readonly Hex[]> {
    return this.#lists
  }

  /** Whether anything was read. */
  get hasRead(): boolean {
    return this.#blocks.size + this.#prices.size + this.#lists.size + this.#http.length + this.#failures.length > 0
  }

  /**
   * All reads so far, in an order that does not depend on that of reading.
   *
   * @param addresses stand-ins of the secrets that are addresses
   * @throws Fault of a chain or a price that could not be read: there is nothing to replay in its place
   */
  recording(addresses: Readonly<Record<string, string>>): Recording {
    const [failed] = this.#failures
    if (failed) throw new Fault(failed.code, `nothing is recorded, since a read failed: ${faultLine(failed)}`)
    return {
      recording: recordingForm,
      hour: hourText(this.#hour),
      chains: byName(this.#blocks, (blocks, name) => ({
        id: this.#chains[name]?.id ?? 0,
        blocks: byName(blocks, block => ({ ...block, number: Number(block.number) })),
      })),
      reads: inOrder(this.#reads),
      prices: byName(this.#prices, price => price),
      ...(this.#lists.size > 0 && { lists: byName(this.#lists, items => items) }),
      http: inOrder(this.#answeredRequests()).map(({ request, answers }) => ({
        ...request,
        answers: inPlaces(answers),
      })),
      ...(Object.keys(addresses).length > 0 && { addresses }),
    }
  }

  /** The requests and their answers, cleaned when all are known: any answer may repeat what any request has sent. */
  #answeredRequests(): Map<string, AnsweredRequest> {
    const entries = new Map<string, AnsweredRequest>()
    const own = this.#http.map(httpRead => ({ httpRead, request: cleanRequest(httpRead, this.#redactor) }))
    this.#redactor.add(this.#http.flatMap(sentSecrets))
    for (const { httpRead, request: part } of own) {
      if (!httpRead.answer) continue
      const request = withoutSecrets(part, this.#redactor)
      const key = httpKey(request)
      const entry = entries.get(key) ?? { request, answers: [] }
      entry.answers.push({ place: httpRead.place, answer: cleanAnswer(httpRead.answer, httpRead.as, this.#redactor) })
      entries.set(key, entry)
    }
    return entries
  }
}

function answered(read: ReadRequest, { kind, output }: ReadAnswer) {
  if (kind === 'reverted') return { read, reverted: output }
  return { read, returned: output, ...(output.length === 66 && { number: String(BigInt(output)) }) }
}

function plainLog({ blockNumber, topics, ...same }: RawLog) {
  return { ...same, topics: [...topics], blockNumber: Number(blockNumber) }
}

/** The answers of one request in the order of asking; one, where all are equal. */
function inPlaces(answers: AnsweredRequest['answers']): RecordedAnswer[] {
  const all = answers.toSorted((a, b) => a.place - b.place).map(({ answer }) => answer)
  return new Set(all.map(answer => JSON.stringify(answer))).size === 1 ? all.slice(0, 1) : all
}

function inOrder<T>(byKey: ReadonlyMap<string, T>): T[] {
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
}

function byName<T, R>(entries: ReadonlyMap<string, T>, entryOf: (value: T, name: string) => R): Record<string, R> {
  const names = [...entries.keys()].sort()
  return Object.fromEntries(
    names.flatMap(name => {
      const value = entries.get(name)
      return value === undefined ? [] : [[name, entryOf(value, name)] as const]
    }),
  )
}
