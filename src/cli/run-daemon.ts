import { type AppContext, EarlyPort, KeptCounts } from '../app/context.ts'
import { systemTime } from '../edge/time.ts'
import { WatchedClock } from '../intake/hour-clock.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { DataFolders } from '../outbox/data-folders.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import { Reloads } from '../status/observed.ts'
import { namedFile } from './configured-command.ts'
import { exitCodes } from './exit.ts'
import { standbyLookMs } from './limits.ts'
import { openContext } from './open-context.ts'
import type { Signals } from './signals.ts'
import { standBy } from './stand-by.ts'
import { whileStarting } from './while-starting.ts'

/** Dependencies of `runDaemon`. */
export interface RunDaemonDeps {
  /** Processes started early; absent when none was. */
  readonly warm?: WarmProcesses
  /** Whether it waits while another daemon is at work. */
  readonly standby: boolean
  readonly signals: Signals
  /** Called with an exit code other than 0. */
  readonly ended: (code: number) => void
}

/**
 * Runs the daemon until it is to end; a standby begins when no other daemon is at work, and stands by again when another one
 * has taken the role from it.
 *
 * @throws ConfigError when it does not start because of the configuration
 */
export async function runDaemon(file: string, deps: RunDaemonDeps): Promise<void> {
  const { signals, standby, ended } = deps
  while (!signals.stopping.aborted) {
    if (standby && !(await standBy(contextOf(file), signals.stopping))) return
    const code = await (standby ? runAsStandby(file, deps) : runOnce(file, deps))
    if (!standby || code !== exitCodes.held) return ended(code)
    await systemTime.sleep(standbyLookMs, signals.stopping).catch(() => {})
  }
}

function contextOf(file: string): AppContext {
  return openContext(file, ({ log }) => log.level)
}

/**
 * As `runOnce`. Of two standbys that take over at once, one gets the role; the other may still have the port for a moment.
 *
 * @returns `exitCodes.held` when it is to stand by again
 */
async function runAsStandby(file: string, deps: RunDaemonDeps): Promise<number> {
  try {
    return await runOnce(file, deps)
  } catch (error) {
    if (!(error instanceof Fault) || (error.code !== 'outbox-held' && error.code !== 'address-unusable')) throw error
    contextOf(file).log.warn({ fault: faultLine(error) }, 'not taken over: standing by again')
    return exitCodes.held
  }
}

/**
 * Runs the daemon once. It answers that it lives as soon as the configuration was read; what else it needs is loaded then.
 *
 * @returns the exit code
 */
async function runOnce(file: string, { warm, standby, signals }: RunDaemonDeps): Promise<number> {
  let code: number = exitCodes.done
  const ended = (other: number) => {
    code = other
  }
  // Clock, data folders and counts outlive reloads.
  const lasting = { clock: new WatchedClock(systemTime), place: new DataFolders(), kept: new KeptCounts() }
  const configured = { ...contextOf(file), ...lasting, ...(warm && { warm }) }
  // Of two standbys, the one without the role must not have the port.
  await using earlyPort = standby ? undefined : await EarlyPort.open(configured.config)
  const context = { ...configured, ...(earlyPort && { earlyPort }) }
  const { checkOptions } = await whileStarting(() => import('./check-options.ts'))
  const checking = checkOptions(context, signals)
  const [{ keepRunning }] = await Promise.all([whileStarting(() => import('./keep-running.ts')), checking])
  const reloads = new Reloads(context.config.file, context.time.nowMs(), namedFile(file) && context.config.file)
  if (signals.stopping.aborted) return code
  await keepRunning({ first: context, signals, reloads, ended })
  return code
}
