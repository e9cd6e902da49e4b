import type { Chains } from '../../chain/reads.ts'
import type { Time } from '../../edge/time.ts'
import type { LogLine, Task, TaskEnd } from '../messages.ts'
import type { HostLimits } from './host-limits.ts'
import type { RunnerLimits } from './limits.ts'
import type { Meeting } from './meeting.ts'
import type { Prices } from './prices.ts'
import type { ReadInterceptor } from './read-interceptor.ts'
import type { RunBlocks } from './run-blocks.ts'
import type { RunDeadline } from './run-deadline.ts'

/** The process ended, or was ended because it did not answer, before the run was done. */
export interface Lost {
  readonly kind: 'lost'
  /** Fate of the process, to follow "its process ". */
  readonly how: string
  /** Advice about the collector; absent when there is none. */
  readonly fix?: string
}

/** A run of a child process. */
export interface ChildRun {
  readonly task: Task
  /** Aborted when the run is over, however it ended, to end its timer and its chain reads. */
  readonly over: AbortController
  readonly pins: RunBlocks
  /** Absent until the run is sent to the process. */
  deadline?: RunDeadline
  settle(end: TaskEnd | Lost): void
}

/** Dependencies of a child process on the daemon. */
export interface ChildDeps {
  readonly chains: Chains
  readonly deadlineMs: number
  readonly limits: RunnerLimits
  readonly time: Time
  readonly log: (line: LogLine) => void
  /** Where the first questions of all processes meet. */
  readonly meeting: Meeting
  readonly prices: Prices
  /** Records or answers what collectors read. Default: nothing does. */
  readonly interceptor?: ReadInterceptor | undefined
  /** Whether a run fails that connects past the daemon. Default: no. */
  readonly isGuarded?: boolean | undefined
  /** Limits of the hosts that all processes send requests to. */
  readonly hosts: HostLimits
  /** Whether it is ended as soon as it stops answering; otherwise only a run's deadline ends it. */
  readonly pinged: boolean
}
