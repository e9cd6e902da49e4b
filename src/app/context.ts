import type { Config } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import type { WatchedClock } from '../intake/hour-clock.ts'
import type { DataFolders } from '../outbox/data-folders.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import type { EarlyPort } from './early-port.ts'
import type { KeptCounts } from './kept-counts.ts'

/** Dependencies set by the process: configuration, time, log, redactor. */
export interface AppContext {
  readonly config: Config
  readonly time: Time
  readonly log: Log
  readonly redactor: Redactor
  /** The same as `time`, if the machine's clock is compared with others; absent otherwise. */
  readonly clock?: WatchedClock
  /** Processes of collectors that one runner leaves to the next; absent when each starts its own. */
  readonly warm?: WarmProcesses
  /** Port of the status server, open since the start of the process; absent when the status server opens it. */
  readonly earlyPort?: EarlyPort
  /** Data folders that the process had open, if it starts its daemon repeatedly; absent otherwise. */
  readonly place?: DataFolders
  /** Counts of the process, if it starts its daemon repeatedly; absent otherwise. */
  readonly kept?: KeptCounts
}
