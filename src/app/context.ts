import type { Config } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import type { WatchedClock } from '../intake/watched-clock.ts'
import type { DataFolders } from '../outbox/data-folders.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'

/** Dependencies set by the process: configuration, time, log, redactor. */
export interface AppContext {
  readonly config: Config
  readonly time: Time
  readonly log: Log
  readonly redactor: Redactor
  /** The same as `time`, if the machine's clock is compared with others; absent otherwise. */
  readonly clock?: WatchedClock
  /** Data folders that the process had open, if it starts its daemon repeatedly; absent otherwise. */
  readonly place?: DataFolders
}
