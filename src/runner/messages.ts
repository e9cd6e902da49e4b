import type { ReadAnswer, ReadAt, ReadRequest } from '../chain/reads.ts'
import type { AsOfBlock, LogFilter } from '../model/block.ts'
import type { FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { DescribeResult, RunOutcome } from './runner.ts'

/**
 * What travels between the daemon and a child of it that runs collectors: plain values only. The child
 * believes the daemon; what a child says is checked first (`daemon/from-child.ts`).
 */

/** A configured collector, as far as a child needs it. */
export interface CollectorRef {
  readonly id: string
  readonly use: string
  /** The configuration file: `use` is resolved from its folder. */
  readonly configFile: string
  readonly options: unknown
  /** What its options ask for in secret, by `secretId`; absent where it is only described. */
  readonly secrets?: Readonly<Record<string, string>>
}

export type Task =
  | { readonly kind: 'describe'; readonly collector: CollectorRef }
  | { readonly kind: 'collect'; readonly collector: CollectorRef; readonly hour: Hour }

/** A description, and the paths and secrets (by `secretId`) that the options declare, which the daemon decides about. */
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

/** What a run wants to know of a chain, as of the run's hour. */
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

/** A question of one run about one chain, with the number its reply will bear. */
export interface Ask {
  readonly ask: number
  readonly run: string
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

/** One run that is to start, with the token its end will bear: nobody can guess one that is not its own. Runs of one collector share its `collector`. */
export interface StartedRun {
  readonly run: string
  readonly task: Task
  readonly deadlineMs: number
}

/** The reply to a question. */
export interface Reply {
  readonly ask: number
  readonly reply: ChainReply
}

/** How a run ended. */
export interface EndedRun {
  readonly run: string
  readonly end: TaskEnd
  /** Something of the run never settled and stays behind in the child. */
  readonly leaks: boolean
}

export type ToChild =
  /** Started in one turn. */
  | { readonly kind: 'run'; readonly runs: readonly StartedRun[] }
  /** The run's deadline has passed: it is to end now, with what it has. */
  | { readonly kind: 'abort'; readonly run: string }
  | { readonly kind: 'ping'; readonly ping: number }
  /** Known in one turn, so that what is asked next can travel together, too. */
  | { readonly kind: 'replies'; readonly replies: readonly Reply[] }

export type FromChild =
  | { readonly kind: 'ready' }
  | { readonly kind: 'pong'; readonly ping: number }
  /** Ended in one turn. */
  | { readonly kind: 'ended'; readonly runs: readonly EndedRun[] }
  /** Asked until a whole turn brought nothing new, so that the reads of all runs can travel together. */
  | { readonly kind: 'asks'; readonly asks: readonly Ask[] }
  | ({ readonly kind: 'log' } & LogLine)
