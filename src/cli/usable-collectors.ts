import type { AppContext } from '../app/context.ts'
import { type CollectorConfig, ConfigError } from '../config/config.ts'
import { type Checked, checkCollectors } from './check-collectors.ts'
import { exitCodes } from './exit.ts'
import { selectCollectors } from './open-context.ts'
import type { Signals } from './signals.ts'
import { note } from './terminal.ts'

/** A collector that is loaded, with its description. */
export type UsableCollector = Checked['usable'][number]

/**
 * Loads all collectors and gives those of a selection. One that cannot be loaded is reported and left out, and the command
 * then ends as incomplete.
 *
 * @param only ids that are selected. Default: all
 * @throws ConfigError when options are mistaken
 */
export async function usableCollectors(
  context: AppContext,
  only: readonly string[] | undefined,
  { stopping }: Pick<Signals, 'stopping'>,
  ended: (code: number) => void,
): Promise<readonly UsableCollector[]> {
  const { config } = context
  const selected = selectCollectors(config, only)
  const { usable, unusable, mistakes } = await checkCollectors(context, config.collect.deadlineMs, stopping)
  if (mistakes.length > 0) throw new ConfigError(config.file, mistakes)
  const isMeant = ({ collector }: { readonly collector: CollectorConfig }) => selected.includes(collector)
  for (const { collector, fault } of unusable.filter(isMeant)) {
    note(`${collector.id} is left out: ${fault.message}${fault.fix === undefined ? '' : ` – ${fault.fix}`}`)
  }
  const meant = usable.filter(isMeant)
  if (meant.length < selected.length) ended(exitCodes.incomplete)
  return meant
}
