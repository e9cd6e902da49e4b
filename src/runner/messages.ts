import { deserialize, serialize } from 'node:v8'
import { z } from 'zod'
import type { ReadAnswer, ReadAt, ReadRequest } from '../chain/reads.ts'
import { isAddress, isBytes, isHash } from '../chain/shapes.ts'
import type { Egress } from '../edge/egress.ts'
import type { AsOfBlock, Hex, LogFilter, PinnedBlock } from '../model/block.ts'
import { Fault, type FaultRecord } from '../model/fault.ts'
import { endOfTime, type Hour, hourAt } from '../model/hour.ts'
import { hourMs } from '../model/limits.ts'
import type { ListMemory } from '../model/list-memory.ts'
import type { DescribeResult, RunOutcome } from './runner.ts'

/** Limits that the daemon and its processes of collectors share. Units are in the names. */

/** Log lines of one run of a collector; further ones are dropped, and reported once. */
export const runLogLinesMax = 500

/** The report of lines that are dropped. */
export const furtherLeftOut = 'further log lines are left out'

/** Characters of a text from a collector (an error, a log line, an unexpected value). */
export const collectorTextCharsMax = 1_000

/** Characters of one message of a child. */
export const childMessageCharsMax = 4 * 1_048_576

/** Entries of one message of a child: questions, ends of runs or of requests. It sends more of them in several messages. */
export const childMessageEntriesMax = 5_000

/** Hours before its own that a run may read a chain: a leap year. */
export const hoursBeforeMax = 366 * 24

/** Reads in one question about a chain. */
const readsMax = 10_000

/**
 * Messages between the daemon and a child that runs collectors: plain values only. The child trusts the daemon; the
 * daemon checks a child's messages (`daemon/from-child.ts`).
 */

/** The parts of a configured collector that a child needs. */
export interface CollectorRef {
  /** `{protocolId}/{own id}`. */
  readonly id: string
  /** Name of a shipped collector, or path or package of another. */
  readonly use: string
  /** Path of the configuration file: `use` is resolved from its folder. */
  readonly configFile: string
  /** As written in the configuration; `secrets` has the secrets that it names. */
  readonly options: unknown
  /** Time limit of its own for a run for one hour, in milliseconds. Default: the runner's. */
  readonly deadlineMs?: number
  /** Secrets of its options, by `secretId`; absent when it is only described. */
  readonly secrets?: Readonly<Record<string, string>>
}

export type Task =
  | { readonly kind: 'describe'; readonly collector: CollectorRef }
  /** The JSON Schema of its options. */
  | { readonly kind: 'schema'; readonly collector: CollectorRef }
  | { readonly kind: 'collect'; readonly collector: CollectorRef; readonly hour: Hour }
  /** A price of the configuration: its one value, exactly. Of the reader of a chain's tokens, those of `tokens`. */
  | {
      readonly kind: 'price'
      readonly collector: CollectorRef
      readonly hour: Hour
      /** Addresses, in lower case. */
      readonly tokens: readonly string[]
    }
  | ListTask

/** A list of the configuration. */
export interface ListTask {
  readonly kind: 'list'
  readonly collector: CollectorRef
  readonly hour: Hour
  /** The newest hour whose as-of block cannot be replaced any more; a later one than the task's, where that is past. */
  readonly finalHour: Hour
  readonly memory?: ListMemory | undefined
}

/** A list as of one hour: its addresses, or an hour that it must be read as of first. */
export interface Listed {
  /** Each address once; empty with `first`. */
  readonly items: readonly Hex[]
  /** Items for later runs to read on from; absent where there is nothing to remember. */
  readonly memory?: ListMemory | undefined
  /** The hour to read first: what is final is remembered, and a long past is read in several runs. */
  readonly first?: Hour | undefined
  /** The blocks that it depends on. Known in the daemon: those of a child's message are ignored. */
  readonly pins: readonly PinnedBlock[]
}

/**
 * A description, and the paths and secrets (by `secretId`) that the options declare; the daemon decides which it
 * grants.
 */
export type DescribedToDaemon =
  | (Omit<Extract<DescribeResult, { kind: 'usable' }>, 'secrets'> & {
      readonly declared: readonly string[]
      readonly secrets: readonly string[]
    })
  | Extract<DescribeResult, { kind: 'mistaken' }>

export type TaskEnd =
  | { readonly kind: 'described'; readonly description: DescribedToDaemon }
  | { readonly kind: 'schema'; readonly schema: unknown }
  | { readonly kind: 'collected'; readonly outcome: RunOutcome }
  /** In the order of the tokens; of a price by its name, the only one. */
  | { readonly kind: 'priced'; readonly prices: readonly PriceFound[]; readonly pins: readonly PinnedBlock[] }
  | { readonly kind: 'listed'; readonly list: Listed }
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

/** A price of one hour, in US dollars. */
export interface Priced {
  /** Its exact value, `numerator/denominator`, both whole and positive. */
  readonly exact: string
  /** The double nearest to it. */
  readonly nearest: number
  /** The blocks that it depends on. Known in the daemon: those of a child's message are ignored. */
  readonly pins: readonly PinnedBlock[]
}

/** A price as its reader gives it, or why there is none: a source that cannot be asked may have it. */
export type PriceFound = Omit<Priced, 'pins'> | { readonly failure: string; readonly isUnread?: boolean | undefined }

/** The name of the price of a token: no price and no chain of the configuration has a slash in its name. */
export function tokenPriceName(chain: string, address: string): string {
  return `${chain}/${address.toLowerCase()}`
}

/** The chain and the address in the name of the price of a token; `undefined` for another price. */
export function tokenIn(name: string): { readonly chain: string; readonly token: string } | undefined {
  const end = name.lastIndexOf('/')
  return end < 0 ? undefined : { chain: name.slice(0, end), token: name.slice(end + 1) }
}

/** A question of a run about a chain, as of the run's hour. */
export type ChainQuestion =
  | { readonly kind: 'block' }
  | { readonly kind: 'read'; readonly requests: readonly ReadRequest[] }
  /** `hours` of them, up to the one that is asked for, without a pin: they are final, and are remembered. Default: 1, with a pin. */
  | { readonly kind: 'logs'; readonly filter: LogFilter; readonly hours?: number | undefined }
  /** All from the hour `since` on, which are remembered. Not of an earlier hour. */
  | { readonly kind: 'logs-since'; readonly filter: LogFilter; readonly since: Hour }

export type ChainReply =
  | { readonly kind: 'block'; readonly at: AsOfBlock }
  | ({ readonly kind: 'read' } & ReadAt<readonly ReadAnswer[]>)
  /** The pieces of a `LogList`. */
  | ({ readonly kind: 'logs' } & ReadAt<readonly Uint8Array[]>)
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

/** An off-chain request of a run, shown to the daemon where reads are recorded or replayed. */
export interface HttpRead {
  /** The form in which the collector reads the answer. */
  readonly as: 'json' | 'text' | 'bytes'
  readonly method: 'GET' | 'POST'
  /** The whole address; it may hold secrets. */
  readonly url: string
  /** Names in lower case; the values may be secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** Body of a POST; absent otherwise. */
  readonly body?: string | undefined
  /** Number of the request in its run, from 0, in the order of asking. */
  readonly place: number
  /** The answer of the source; absent where the daemon answers. */
  readonly answer?: HttpReply | undefined
}

export type HttpReply =
  | { readonly kind: 'http'; readonly text: string }
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

/** Leave to send one request to a host, with the time left of the run; or the time for which the host must be left alone. */
export type SlotReply =
  | { readonly kind: 'granted'; readonly leftMs: number }
  | { readonly kind: 'refused'; readonly waitMs: number }

export type PriceReply =
  | { readonly kind: 'price'; readonly price: Priced }
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

export type ListReply =
  | { readonly kind: 'list'; readonly items: readonly Hex[] }
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

/**
 * A question as of the run's hour: about a chain by its name, for a price (`tokenPriceName` of a token) or a list by its
 * name; where reads are recorded or replayed also an off-chain request. A `recent` list is as it was when it was last read,
 * of whichever hour. Or whether a request may be sent to a host, by its name and port.
 */
export type RunQuestion =
  | ChainAsk
  | { readonly price: string }
  | { readonly list: string; readonly recent?: boolean | undefined }
  | { readonly http: HttpRead }
  | { readonly host: string }

/** A question about a chain, by its name. */
export interface ChainAsk {
  /** Its name in the configuration. */
  readonly chain: string
  readonly question: ChainQuestion
  /** Whole hours by which the question is of an earlier hour. Default: 0. */
  readonly hoursBefore?: number | undefined
}

/** A question of a run, with a number for its reply. */
export type Ask = RunQuestion & {
  /** Number of the question, repeated in its reply. */
  readonly ask: number
  /** Token of the run. */
  readonly run: string
}

/** The end of a request: `refused` when the host asked for fewer requests, by a 429 or `Retry-After`. */
export type RequestEnd =
  | { readonly kind: 'answered' | 'failed' }
  | { readonly kind: 'refused'; readonly retryAfterMs?: number | undefined }

/** The end of a request for which leave was granted. */
export interface SlotEnd {
  /** Number of the question for it. */
  readonly ask: number
  /** Outcome of the request. */
  readonly how: RequestEnd
}

export type ChildLogLevel = 'debug' | 'info' | 'warn'

/** A line for the log; `collectorId` is empty when it belongs to no collector. `facts` are plain values. */
export interface LogLine {
  readonly collectorId: string
  readonly level: ChildLogLevel
  /** At most `collectorTextCharsMax` characters. */
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

/**
 * A run to start, with a token that its end must carry, so that code of another run cannot end it.
 */
export interface StartedRun {
  /** Token of the run. */
  readonly run: string
  readonly task: Task
  /** Time limit of the run, in milliseconds from its start. */
  readonly deadlineMs: number
  /** Default: its requests are sent, and the daemon does not see them. */
  readonly requests?: ShownRequests
  /** Whether its own connections fail it, since a recording cannot hold what they read. Default: no. */
  readonly isGuarded?: true
}

/** Off-chain requests that the daemon sees: `sent` with their answers, to be recorded; `unsent`, to be answered by it. */
export type ShownRequests = 'sent' | 'unsent'

/** The reply to a question. */
export interface Reply {
  /** Number of the question. */
  readonly ask: number
  readonly reply: ChainReply | PriceReply | ListReply | HttpReply | SlotReply
}

/** The end of a run. */
export interface EndedRun {
  /** Token of the run. */
  readonly run: string
  readonly end: TaskEnd
}

export type ToChild =
  /** Names of the configured chains; sent before the first run. */
  | { readonly kind: 'chains'; readonly names: readonly string[] }
  /** Runs started in one tick, and how their requests leave the machine. */
  | { readonly kind: 'run'; readonly runs: readonly StartedRun[]; readonly egress: Egress }
  /** The run's deadline has passed: it must end now, with the values it has. */
  | { readonly kind: 'abort'; readonly run: string }
  | { readonly kind: 'ping' }
  /** Replies of one tick, so that the next questions can be sent together, too. */
  | { readonly kind: 'replies'; readonly replies: readonly Reply[] }

export type FromChild =
  | { readonly kind: 'ready' }
  | { readonly kind: 'pong' }
  /** Runs ended in one tick. */
  | { readonly kind: 'ended'; readonly runs: readonly EndedRun[] }
  /** Questions gathered until a tick brought no new one, so that the reads of all runs are sent together. */
  | { readonly kind: 'asks'; readonly asks: readonly Ask[] }
  /** Requests that ended in one tick of the event loop. */
  | { readonly kind: 'slot-ends'; readonly ends: readonly SlotEnd[] }
  | ({ readonly kind: 'log' } & LogLine)

const address = z.custom<Hex>(isAddress, { error: 'is no address: 0x and 40 hexadecimal digits' })
const topic = z.custom<Hex>(isHash, { error: 'is no topic: 0x and 64 hexadecimal digits' })
const slot = z.custom<Hex>(isHash, { error: 'is no storage slot: 0x and 64 hexadecimal digits' })
const input = z.custom<Hex>(isBytes, { error: 'is no call data: 0x and an even number of hexadecimal digits' })
const words = z.string().max(collectorTextCharsMax).optional()
const named = { name: words, returns: words }

const request = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('call'), to: address, input, ...named }),
  z.object({ kind: z.literal('balance'), address }),
  z.object({ kind: z.literal('call-from'), from: address, to: address, input, ...named }),
  z.object({ kind: z.literal('storage'), address, slot }),
])

const wholeHour = z
  .int({ error: 'is no full hour in milliseconds since 1970' })
  .min(0)
  .max(endOfTime)
  .multipleOf(hourMs, { error: 'is no full hour in milliseconds since 1970' })
  .transform(ms => hourAt(ms))

const filter = z.object({
  address: z.union([address, z.array(address).min(1).max(readsMax)], {
    error: 'is neither an address nor a list of addresses',
  }),
  topics: z.array(z.union([topic, z.array(topic).max(readsMax), z.null()], { error: 'is no topic' })).max(4),
})

/**
 * Schema of a question about a chain. It is sent in one request with others, so a malformed one must be found first.
 * The child checks it, and the daemon again.
 */
export const question = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('block') }),
  z.object({ kind: z.literal('read'), requests: z.array(request).max(readsMax) }),
  z.object({ kind: z.literal('logs'), filter, hours: z.int().min(1).max(hoursBeforeMax).optional() }),
  z.object({ kind: z.literal('logs-since'), filter, since: wholeHour }),
]) satisfies z.ZodType<ChainQuestion>

/** The mistake in a collector's question, to follow its chain's name; `undefined` when it is valid. */
export function questionMistake(asked: ChainQuestion): string | undefined {
  const issue = question.safeParse(asked).error?.issues[0]
  return issue && `${String(issue.path.at(-1) ?? 'what is asked')} ${issue.message}`
}

/** The Fault when blocks of a run are of two branches. */
export function reorganized(chain: string): Fault {
  return new Fault('chain-reorganized', `${chain} was reorganized while it was read: the hour is read again`, {
    facts: { chain },
  })
}

/** The Fault when a collector asks for a chain that is not configured. */
export function unknownChain(name: string, chainNames: readonly string[]): Fault {
  const add = 'add it under chains:'
  return new Fault('chain-unknown', `there is no chain "${name}" in the configuration`, {
    fix: chainNames.length > 0 ? `configured are: ${chainNames.join(', ')}; or ${add}` : add,
  })
}

/** File descriptor of the connection in a child. */
export const lineDescriptor = 3

/**
 * A message to a child: its length in four bytes, then the value in V8's serialization, which supports big integers and
 * shared references. Only a child reads it, and it trusts the daemon.
 */
export function frameOf(value: unknown): Buffer {
  const body = serialize(value)
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  return Buffer.concat([head, body])
}

/** Reads frames from pieces of bytes. @param take called with each complete value */
export function frameReader(take: (value: unknown) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = []
  let length = 0
  let bytesWanted = 4

  return piece => {
    pieces.push(piece)
    length += piece.length
    while (length >= bytesWanted) {
      const bytes = pieces.length === 1 ? (pieces[0] ?? piece) : Buffer.concat(pieces)
      const end = 4 + bytes.readUInt32LE()
      const isComplete = bytes.length >= end
      pieces = [isComplete ? bytes.subarray(end) : bytes]
      length = isComplete ? bytes.length - end : bytes.length
      bytesWanted = isComplete ? 4 : end
      if (isComplete) take(deserialize(bytes.subarray(4, end)))
    }
  }
}
