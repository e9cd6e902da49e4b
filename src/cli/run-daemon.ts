import { type AppContext, EarlyPort, KeptCounts } from '../app/context.ts'
import { rolesOf } from '../app/open-outbox.ts'
import type { OpenPort } from '../edge/open-port.ts'
import { systemTime } from '../edge/time.ts'
import { WatchedClock } from '../intake/hour-clock.ts'
import { adviseFile } from '../model/advice.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { DataFolders } from '../outbox/data-folders.ts'
import type { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import { openEarly } from '../status/server/starting.ts'
import { Reloads } from '../status/sources.ts'
import { namedFile } from './configured-command.ts'
import { daemonSentence } from './daemon-role.ts'
import { endWith, exitCodes } from './exit.ts'
import { openContext } from './open-context.ts'
import { otherConfiguration } from './other-configuration.ts'
import type { Signals } from './signals.ts'
import { whileStarting } from './warm-processes.ts'
import { filesAsRead } from './watch-files.ts'

/** Interval at which a standby looks whether the daemon has ended. */
const standbyLookMs = 250

/** Time after which a standby opens the status server's port, if it is free. */
const standbyPortMs = 10_000

/**
 * Runs the daemon until it is to end; a standby begins when no other daemon is at work, and stands by again when another one
 * has taken the role from it.
 *
 * @param warm processes started early; a standby has none: it would keep them for months
 * @throws ConfigError when it does not start because of the configuration
 */
export async function runDaemon(file: string, signals: Signals, warm: WarmProcesses | undefined): Promise<void> {
  if (warm) return endWith(await runOnce(file, signals, warm))
  while (!signals.stopSignal.aborted) {
    if (!(await standBy(contextOf(file), signals.stopSignal))) return
    const code = await runAsStandby(file, signals)
    if (code !== exitCodes.outboxOwned) return endWith(code)
    await systemTime.sleep(standbyLookMs, signals.stopSignal).catch(() => {})
  }
}

function contextOf(file: string): AppContext {
  return openContext(file, ({ log }) => log.level)
}

/**
 * As `runOnce`. When two standbys take over at once, one gets the role; the other may still have the port for a moment.
 *
 * @returns `exitCodes.outboxOwned` when it is to stand by again
 */
async function runAsStandby(file: string, signals: Signals): Promise<number> {
  try {
    return await runOnce(file, signals)
  } catch (error) {
    if (!(error instanceof Fault) || (error.code !== 'outbox-held' && error.code !== 'address-unusable')) throw error
    contextOf(file).log.warn({ fault: faultLine(error) }, 'not taken over: standing by again')
    return exitCodes.outboxOwned
  }
}

/**
 * Runs the daemon once. It answers that it lives as soon as the configuration was read; what else it needs is loaded then.
 *
 * @returns the exit code
 */
async function runOnce(file: string, signals: Signals, warm?: WarmProcesses): Promise<number> {
  // Clock, data folders and counts outlive reloads.
  const lasting = { clock: new WatchedClock(systemTime), place: new DataFolders(), keptCounts: new KeptCounts() }
  const fileContext = { ...contextOf(file), ...lasting, ...(warm && { warm }) }
  // When two standbys take over, the one without the role must not have the port.
  await using earlyPort = warm && (await EarlyPort.open(fileContext.config))
  const context = { ...fileContext, ...(earlyPort && { earlyPort }) }
  const asRead = filesAsRead(context.config)
  const { checkOptions } = await whileStarting(() => import('./check-collectors.ts'))
  const checking = checkOptions(context, signals)
  const [{ keepRunning }] = await Promise.all([whileStarting(() => import('./keep-running.ts')), checking])
  // Its advice is read elsewhere than where it was started.
  adviseFile(namedFile(file) && context.config.file)
  const reloads = new Reloads(context.config, context.time.nowMs())
  if (signals.stopSignal.aborted) return exitCodes.done
  const shared = otherConfiguration(context.config)
  if (shared)
    context.log.warn({ reason: shared.message, fix: shared.fix }, 'another configuration has the same data folder')
  return await keepRunning({ context, asRead }, signals, reloads)
}

/**
 * Waits while another process is the daemon of the data folder. Where the status server's port is free then, as on another
 * host, it answers after a while that this process lives and is not ready: on the same host that daemon may just be starting.
 *
 * @returns whether the role is free; `false` when this process is to end
 */
async function standBy(context: AppContext, stopSignal: AbortSignal): Promise<boolean> {
  const { config, log, time } = context
  const holder = await daemonSentence(context)
  if (holder === undefined) return !stopSignal.aborted
  log.info(
    { daemon: holder, ...(config.data.kind === 'folder' && { data: config.data.folder }) },
    'standing by: another daemon is at work',
  )
  const sinceMs = time.steadyMs()
  let port: OpenPort | undefined
  let hasTried = false
  const roles = await rolesOf(config)
  while (!stopSignal.aborted && (await roles.daemon())) {
    await time.sleep(standbyLookMs, stopSignal).catch(() => {})
    if (hasTried || time.steadyMs() - sinceMs < standbyPortMs) continue
    hasTried = true
    port = await openEarly(config.status, 'Tidegauge stands by: another daemon is at work.')
  }
  await port?.stop()
  if (stopSignal.aborted) log.info('stopped')
  else log.warn('the other daemon has ended: taking over')
  return !stopSignal.aborted
}
