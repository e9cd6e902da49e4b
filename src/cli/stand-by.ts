import type { AppContext } from '../app/context.ts'
import { rolesOf } from '../app/open-outbox.ts'
import type { OpenPort } from '../edge/open-port.ts'
import { openEarly } from '../status/server/starting.ts'
import { daemonSentence } from './daemon-role.ts'
import { standbyLookMs, standbyPortMs } from './limits.ts'

/**
 * Waits while another process is the daemon of the data folder. Where the status server's port is free then, as on another
 * host, it answers after a while that this process lives and is not ready: on the same host that daemon may just be starting.
 *
 * @returns whether the role is free; `false` when this process is to end
 */
export async function standBy(context: AppContext, stopping: AbortSignal): Promise<boolean> {
  const { config, log, time } = context
  const holder = await daemonSentence(context)
  if (holder === undefined) return !stopping.aborted
  log.info(
    { daemon: holder, ...(config.data.kind === 'folder' && { data: config.data.folder }) },
    'standing by: another daemon is at work',
  )
  const sinceMs = time.steadyMs()
  let port: OpenPort | undefined
  let hasTried = false
  const roles = await rolesOf(config)
  while (!stopping.aborted && (await roles.daemon())) {
    await time.sleep(standbyLookMs, stopping).catch(() => {})
    if (hasTried || time.steadyMs() - sinceMs < standbyPortMs) continue
    hasTried = true
    port = await openEarly(config.status, 'Tidegauge stands by: another daemon is at work.')
  }
  await port?.stop()
  if (stopping.aborted) log.info('stopped')
  else log.warn('the other daemon has ended: taking over')
  return !stopping.aborted
}
