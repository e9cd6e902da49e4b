import type { AppContext } from '../app/context.ts'
import { ConfigError } from '../config/config.ts'
import { configFiles } from '../config/include.ts'
import { inOrder } from '../config/mistakes.ts'
import { isPermanent } from '../model/fault.ts'
import { checkCollectors, mistakesOf } from './check-collectors.ts'
import { startLoadMsMax } from './limits.ts'
import type { Signals } from './signals.ts'

/**
 * Refuses what `check` refuses: mistakes in options, and unusable collectors. A collector that may be usable later (its
 * process was slow, or was stopped) is accepted.
 *
 * @throws ConfigError
 */
export async function checkOptions(context: AppContext, { stopping }: Signals): Promise<void> {
  const deadlineMs = Math.min(startLoadMsMax, context.config.collect.deadlineMs)
  const checked = await checkCollectors(context, deadlineMs, stopping)
  const lasting = checked.unusable.filter(({ fault }) => isPermanent(fault))
  const mistakes = inOrder(mistakesOf({ ...checked, unusable: lasting }), configFiles(context.config))
  if (mistakes.length > 0) throw new ConfigError(context.config.file, mistakes)
  for (const { collector, fault } of checked.unusable) {
    const { message: reason, fix } = fault
    if (fault.code !== 'stopped')
      context.log.error({ collector: collector.id, reason, fix }, 'collector cannot be loaded')
  }
}
