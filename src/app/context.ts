import type { Config } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import type { WatchedClock } from '../intake/watched-clock.ts'
import type { DataFolders } from '../outbox/file/data-folders.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'

/** What everything needs and the process edge decides. */
export interface AppContext {
  readonly config: Config
  readonly time: Time
  readonly log: Log
  readonly redactor: Redactor
  /** The same as `time`, where the machine's clock is compared with others. */
  readonly clock?: WatchedClock
  /** Where the process starts its daemon again and again: the data folders that it had open. */
  readonly place?: DataFolders
}
