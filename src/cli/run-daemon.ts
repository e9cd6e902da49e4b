import { EarlyPort } from '../app/early-port.ts'
import { systemTime } from '../edge/time.ts'
import { WatchedClock } from '../intake/watched-clock.ts'
import { DataFolders } from '../outbox/data-folders.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import { Reloads } from '../status/reloads.ts'
import { openContext } from './open-context.ts'
import type { Signals } from './signals.ts'
import { whileStarting } from './while-starting.ts'

/** Dependencies of `runDaemon`. */
export interface RunDaemonDeps {
  readonly warm: WarmProcesses
  readonly signals: Signals
  /** Called with an exit code other than 0. */
  readonly ended: (code: number) => void
}

/**
 * Runs the daemon until it is to end. It answers that it lives as soon as the configuration was read; what else it needs
 * is loaded then.
 *
 * @throws ConfigError when it does not start because of the configuration
 */
export async function runDaemon(file: string, { warm, signals, ended }: RunDaemonDeps): Promise<void> {
  // Clock and data folders outlive reloads.
  const [clock, place] = [new WatchedClock(systemTime), new DataFolders()]
  const configured = { ...openContext(file, ({ log }) => log.level), clock, place, warm }
  await using earlyPort = await EarlyPort.open(configured.config)
  const context = { ...configured, earlyPort }
  const { checkOptions } = await whileStarting(() => import('./check-options.ts'))
  const checking = checkOptions(context, signals)
  const [{ keepRunning }] = await Promise.all([whileStarting(() => import('./keep-running.ts')), checking])
  const reloads = new Reloads(context.config.file, context.time.nowMs())
  if (!signals.stopping.aborted) await keepRunning({ first: context, signals, reloads, ended })
}
