import type { ReadAnswer, ReadAt, ReadRequest } from '../chain/reads.ts'
import type { AsOfBlock, LogFilter, PinnedBlock } from '../model/block.ts'
import type { FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { DescribeResult, RunOutcome } from './runner.ts'

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
  /** A price of the configuration: its one value, exactly. */
  | { readonly kind: 'price'; readonly collector: CollectorRef; readonly hour: Hour }

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
  | { readonly kind: 'priced'; readonly price: Priced }
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

/** A question of a run about a chain, as of the run's hour. */
export type ChainQuestion =
  | { readonly kind: 'block' }
  | { readonly kind: 'read'; readonly requests: readonly ReadRequest[] }
  | { readonly kind: 'logs'; readonly filter: LogFilter }

export type ChainReply =
  | { readonly kind: 'block'; readonly at: AsOfBlock }
  | ({ readonly kind: 'read' } & ReadAt<readonly ReadAnswer[]>)
  /** The pieces of a `LogList`. */
  | ({ readonly kind: 'logs' } & ReadAt<readonly Uint8Array[]>)
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

/** An off-chain request of a run, shown to the daemon where reads are recorded or replayed. */
export interface HttpRead {
  /** The form in which the collector reads the answer. */
  readonly as: 'json' | 'text'
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

export type PriceReply =
  | { readonly kind: 'price'; readonly price: Priced }
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

/**
 * A question as of the run's hour: about a chain by its name, for a price by its name; where reads are recorded or
 * replayed also an off-chain request.
 */
export type RunQuestion = ChainAsk | { readonly price: string } | { readonly http: HttpRead }

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

/** A run's question for a turn: leave to send one request to a host. */
export interface TurnAsk {
  /** Number of the turn, repeated in its reply and its end. */
  readonly turn: number
  /** Token of the run. */
  readonly run: string
  /** Name and port. */
  readonly host: string
}

/** A granted turn, with the time left of the run; or the time for which the host must be left alone, past the deadline. */
export type TurnReply =
  | { readonly turn: number; readonly kind: 'granted'; readonly leftMs: number }
  | { readonly turn: number; readonly kind: 'refused'; readonly waitMs: number }

/** The end of a request: `refused` when the host asked for fewer requests, by a 429 or `Retry-After`. */
export type RequestEnd =
  | { readonly kind: 'answered' | 'failed' }
  | { readonly kind: 'refused'; readonly retryAfterMs?: number | undefined }

/** The end of a granted turn. */
export interface TurnEnd {
  /** Number of the turn, as in the request for it. */
  readonly turn: number
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
 * A run to start, with a token that its end must carry, so that code of another run cannot end it. Runs of one
 * collector share its `collector`.
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
  readonly guarded?: boolean
}

/** Off-chain requests that the daemon sees: `sent` with their answers, to be recorded; `unsent`, to be answered by it. */
export type ShownRequests = 'sent' | 'unsent'

/** The reply to a question. */
export interface Reply {
  /** Number of the question. */
  readonly ask: number
  readonly reply: ChainReply | PriceReply | HttpReply
}

/** The end of a run. */
export interface EndedRun {
  /** Token of the run. */
  readonly run: string
  readonly end: TaskEnd
  /** Whether the run left pending work behind in the child. */
  readonly leaks: boolean
}

export type ToChild =
  /** Names of the configured chains; sent before the first run. */
  | { readonly kind: 'chains'; readonly names: readonly string[] }
  /** Runs started in one turn. */
  | { readonly kind: 'run'; readonly runs: readonly StartedRun[] }
  /** The run's deadline has passed: it must end now, with the values it has. */
  | { readonly kind: 'abort'; readonly run: string }
  | { readonly kind: 'ping'; readonly ping: number }
  /** Replies of one turn, so that the next questions can be sent together, too. */
  | { readonly kind: 'replies'; readonly replies: readonly Reply[] }
  | { readonly kind: 'turns'; readonly turns: readonly TurnReply[] }

export type FromChild =
  | { readonly kind: 'ready' }
  | { readonly kind: 'pong'; readonly ping: number }
  /** Runs ended in one turn. */
  | { readonly kind: 'ended'; readonly runs: readonly EndedRun[] }
  /** Questions gathered until a turn brought no new one, so that the reads of all runs are sent together. */
  | { readonly kind: 'asks'; readonly asks: readonly Ask[] }
  /** Turns asked for, and ended, in one turn of the event loop. */
  | { readonly kind: 'turn-asks'; readonly asks: readonly TurnAsk[] }
  | { readonly kind: 'turn-ends'; readonly ends: readonly TurnEnd[] }
  | ({ readonly kind: 'log' } & LogLine)
