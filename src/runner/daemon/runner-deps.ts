import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import type { readOption } from '../../config/secret.ts'
import type { Time } from '../../edge/time.ts'
import type { ChildLogLevel } from '../messages.ts'
import type { RunnerLimits } from './limits.ts'
import type { ReadInterceptor } from './read-interceptor.ts'
import type { Redacting } from './redacting.ts'
import type { WarmProcesses } from './warm-processes.ts'

/** Dependencies of a runner on the daemon. */
export interface RunnerDeps {
  readonly chains: Chains
  /** The configured prices by name. Default: none. */
  readonly prices?: Readonly<Record<string, CollectorConfig>>
  /** Time limit for one collector and hour, unless it has its own, or for loading one collector, in milliseconds. */
  readonly deadlineMs: number
  readonly time: Time
  /** Files and folders, with all below them, that no collector may read. Default: none. */
  readonly hidden?: readonly string[]
  /** Folders whose YAML files no collector may read. Default: that of the file that uses the collector. */
  readonly configFolders?: readonly string[]
  /** Writes a line of a collector, or of a process as a whole (collectorId is then empty). `facts` are plain values. */
  readonly log: (
    collectorId: string,
    level: ChildLogLevel,
    message: string,
    facts: Readonly<Record<string, unknown>>,
  ) => void
  /** Overrides for tests. Default: `runnerLimits`. */
  readonly limits?: Partial<RunnerLimits>
  /** Records or answers what collectors read. Default: nothing does. */
  readonly interceptor?: ReadInterceptor
  /** Whether a run fails that connects past the daemon, as by `fetch`: no interceptor sees that. Default: no. */
  readonly isGuarded?: boolean
  /** Reads a secret of a collector's options. Default: from where the configuration says that it is kept. */
  readonly readSecret?: typeof readOption
  /** Removes secrets from all output of collectors. Default: no secret is known. */
  readonly redactor?: Redacting
  /** Processes to take in place of a start. Default: none. */
  readonly warm?: WarmProcesses
  /** Whether it leaves its processes there when it is stopped. Default: they are ended. */
  readonly leavesWarm?: boolean
}
