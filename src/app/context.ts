import { CallOutcomes } from '../chain/endpoint/call-meter.ts'
import { egressOf } from '../config/certificates.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import { proxySecrets } from '../config/secret.ts'
import { setEgress } from '../edge/egress.ts'
import type { OpenPort } from '../edge/open-port.ts'
import type { Time } from '../edge/time.ts'
import type { WatchedClock } from '../intake/hour-clock.ts'
import type { DataFolders } from '../outbox/data-folders.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import { ProcessMetrics } from '../status/exposition/exposition.ts'
import { openEarly, StartProgress } from '../status/server/starting.ts'
import { Counters } from '../telemetry/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'

/** Dependencies set by the process: configuration, time, log, redactor. */
export interface AppContext {
  readonly config: Config
  readonly time: Time
  readonly log: Log
  readonly redactor: Redactor
  /** The machine's clock as it is compared with others; in a daemon the same as `time`. Absent where it is not compared. */
  readonly clock?: WatchedClock
  /** Processes of collectors that one runner leaves to the next; absent when each starts its own. */
  readonly warm?: WarmProcesses
  /** Port of the status server, open since the start of the process; absent when the status server opens it. */
  readonly earlyPort?: EarlyPort
  /** Data folders that the process had open, if it starts its daemon repeatedly; absent otherwise. */
  readonly place?: DataFolders
  /** Counts of the process, if it starts its daemon repeatedly; absent otherwise. */
  readonly keptCounts?: KeptCounts
}

/** Counts since the start of the process. They outlive the daemon's parts, which a reload starts again. */
export class KeptCounts {
  readonly counters = new Counters()
  readonly ofProcess = new ProcessMetrics()
  readonly #calls = new Map<string, CallOutcomes>()

  /** Counts of the calls to an endpoint. @param url a secret, kept in memory alone */
  callsTo({ name, id }: Pick<ChainConfig, 'name' | 'id'>, url: string): CallOutcomes {
    const key = `${name} ${id} ${url}`
    const counts = this.#calls.get(key) ?? new CallOutcomes()
    this.#calls.set(key, counts)
    return counts
  }
}

/** The status server's port while a daemon starts. The daemon takes it; if none does, it is closed when disposed of. */
export class EarlyPort implements AsyncDisposable {
  readonly progress: StartProgress
  #port: OpenPort | undefined

  private constructor(port: OpenPort | undefined, progress: StartProgress) {
    this.#port = port
    this.progress = progress
  }

  /** Opens it where that is possible; errors are the status server's to report. */
  static async open(config: Pick<Config, 'status'>): Promise<EarlyPort> {
    const progress = new StartProgress()
    return new EarlyPort(await openEarly(config.status, progress), progress)
  }

  take(): OpenPort | undefined {
    const port = this.#port
    this.#port = undefined
    return port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.take()?.stop()
  }
}

/** Has this process connect as its configuration says, from now on: through its proxy, with its authorities. */
export function useEgress({ config, redactor }: Pick<AppContext, 'config' | 'redactor'>): void {
  setEgress(() => {
    const egress = egressOf(config)
    if (egress.proxy !== undefined) redactor.add(proxySecrets(egress.proxy))
    return egress
  })
}
