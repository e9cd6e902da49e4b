import type { AppContext } from '../app/context.ts'
import { pollMs } from '../model/limits.ts'
import { daemonHolder } from '../outbox/roles.ts'
import { asTyped, type ConfigOption } from './configured-command.ts'

/** Who pushes what is due, or how to have it pushed. */
export function delivererSentence(context: AppContext, options: ConfigOption): string {
  const holder = daemonSentence(context)
  if (holder === undefined) return `no daemon runs; push with ${asTyped('flush', options)}`
  return `the running daemon (${holder}) pushes`
}

/** `pid 7, since 2026-11-20T13:00:04Z`; `undefined` when no daemon runs on this outbox. */
export function daemonSentence({ config }: AppContext): string | undefined {
  const holder = daemonHolder(config.data)
  if (!holder) return undefined
  const { pid = 'unknown', since, config: file } = holder
  const parts = [`pid ${pid}`, ...(since === undefined ? [] : [`since ${since.replace(/\.\d+Z$/, 'Z')}`])]
  return [...parts, ...(file === undefined || file === config.file ? [] : [`configuration ${file}`])].join(', ')
}

/**
 * Waits for a daemon to start: a command then releases the delivery role.
 *
 * @returns whether there is one; `false` once the signal is aborted
 */
export async function untilDaemon({ config, time }: AppContext, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if (isThere(config.data)) return true
    await time.sleep(pollMs, signal).catch(() => {})
  }
  return false
}

/** Whether a daemon has its role. An unreadable folder has none: the daemon could not have created its files. */
function isThere(dataFolder: string): boolean {
  try {
    return daemonHolder(dataFolder) !== undefined
  } catch {
    return false
  }
}
