import type { ReadAnswer, ReadAt, ReadRequest } from '../chain/reads.ts'
import type { AsOfBlock, LogFilter } from '../model/block.ts'
import type { FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { DescribeResult, RunOutcome } from './runner.ts'

/**
 * Messages between the daemon and a child that runs collectors: plain values only. The child trusts the daemon; the
 * daemon checks a child's messages (`daemon/from-child.ts`).
 */

/** The parts of a configured collector that a child needs. */
export interface CollectorRef {
  readonly id: string
  readonly use: string
  /** Path of the configuration file: `use` is resolved from its folder. */
  readonly configFile: string
  readonly options: unknown
  /** Secrets of its options, by `secretId`; absent when it is only described. */
  readonly secrets?: Readonly<Record<string, string>>
}

export type Task =
  | { readonly kind: 'describe'; readonly collector: CollectorRef }
  | { readonly kind: 'collect'; readonly collector: CollectorRef; readonly hour: Hour }

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
  | { readonly kind: 'collected'; readonly outcome: RunOutcome }
  | { readonly kind: 'faulted'; readonly fault: FaultRecord }

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

/** A run's question about one chain, with a number for its reply. */
export interface Ask {
  /** Number of the question, repeated in its reply. */
  readonly ask: number
  /** Token of the run. */
  readonly run: string
  /** Name of the chain. */
  readonly chain: string
  readonly question: ChainQuestion
}

export type ChildLogLevel = 'debug' | 'info' | 'warn'

/** A line for the log; `collectorId` is empty when it belongs to no collector. `facts` are plain values. */
export interface LogLine {
  readonly collectorId: string
  readonly level: ChildLogLevel
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
}

/** The reply to a question. */
export interface Reply {
  /** Number of the question. */
  readonly ask: number
  readonly reply: ChainReply
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
  /** Runs started in one turn. */
  | { readonly kind: 'run'; readonly runs: readonly StartedRun[] }
  /** The run's deadline has passed: it must end now, with the values it has. */
  | { readonly kind: 'abort'; readonly run: string }
  | { readonly kind: 'ping'; readonly ping: number }
  /** Replies of one turn, so that the next questions can be sent together, too. */
  | { readonly kind: 'replies'; readonly replies: readonly Reply[] }

export type FromChild =
  | { readonly kind: 'ready' }
  | { readonly kind: 'pong'; readonly ping: number }
  /** Runs ended in one turn. */
  | { readonly kind: 'ended'; readonly runs: readonly EndedRun[] }
  /** Questions gathered until a turn brought no new one, so that the reads of all runs are sent together. */
  | { readonly kind: 'asks'; readonly asks: readonly Ask[] }
  | ({ readonly kind: 'log' } & LogLine)
