import type { AppContext } from '../app/context.ts'
import { daemonHolder } from '../outbox/roles.ts'
import { openEarly } from '../status/server/starting.ts'
import { daemonSentence } from './daemon-role.ts'
import { standbyLookMs } from './limits.ts'

/**
 * Waits while another process is the daemon of the data folder. Where the status server's port is free, as on another
 * host, it answers meanwhile that this process lives and is not ready.
 *
 * @returns whether the role is free; `false` when this process is to end
 */
export async function standBy(context: AppContext, stopping: AbortSignal): Promise<boolean> {
  const { config, log, time } = context
  const holder = daemonSentence(context)
  if (holder === undefined) return !stopping.aborted
  const port = await openEarly(config.status, 'Tidegauge stands by: another daemon is at work.')
  log.info({ daemon: holder, data: config.data }, 'standing by: another daemon is at work')
  while (!stopping.aborted && daemonHolder(config.data)) await time.sleep(standbyLookMs, stopping).catch(() => {})
  await port?.stop()
  if (stopping.aborted) log.info('stopped')
  else log.warn('the other daemon has ended: taking over')
  return !stopping.aborted
}
