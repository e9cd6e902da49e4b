import { type Command, Option } from 'commander'
import { Fault } from '../../model/fault.ts'
import type { CollectOnceOptions } from '../collect-once.ts'
import { configuredCommand } from '../configured-command.ts'
import { endWith, exitCodes } from '../exit.ts'
import { wholeNumber } from '../selection.ts'
import { warmProcesses } from '../warm-processes.ts'

interface CollectOptions extends CollectOnceOptions {
  readonly watch?: boolean
  readonly catchUp?: boolean
  readonly maxHours?: number
}

/** `collect`: one hour, once, or all that are due. Ends with 1 when a value was not collected or not delivered. */
export function collectCommand(): Command {
  return configuredCommand('collect')
    .description(
      'one hour, once: collect, queue and push; with --dry-run only show; with --catch-up all hours that are due',
    )
    .option('--hour <hour>', 'a full hour, like 2026-11-20T13:00:00Z (default: the current one)')
    .option('--only <id...>', 'protocols or collectors')
    .option('--dry-run', 'queue and push nothing, show what would be sent')
    .option('--watch', 'with --dry-run: again at each save of the configuration, of a collector and of what it imports')
    .option('--allow-unit-change', 'allow another unit than before; it is the unit from this hour on')
    .addOption(
      new Option(
        '--catch-up',
        'every hour that is due since the last delivered one, for a cron: the current hour first, then the oldest',
      ).conflicts(['hour', 'dryRun', 'watch', 'allowUnitChange']),
    )
    .option('--max-hours <count>', 'with --catch-up: hours in all, at most (default: all)', wholeNumber(1))
    .option('--json', 'print JSON')
    .action(async (options: CollectOptions) => {
      if (options.catchUp) return collectDue(options)
      if (options.maxHours !== undefined)
        throw new Fault('usage', '--max-hours is for --catch-up', { fix: 'add --catch-up' })
      if (!options.watch) return collectNow(options)
      if (!options.dryRun) throw new Fault('usage', '--watch sends nothing', { fix: 'add --dry-run' })
      const { repeatAtSaves } = await import('../watch-files.ts')
      await repeatAtSaves(options.config, stopping => collectNow(options, stopping))
      // The person has seen what each time was like.
      endWith(exitCodes.done)
    })
}

async function collectNow(options: CollectOptions, stopping?: AbortSignal): Promise<void> {
  using warm = warmProcesses()
  const { collectOnce } = await import('../collect-once.ts')
  await collectOnce(options, warm, stopping)
}

async function collectDue(options: CollectOptions): Promise<void> {
  using warm = warmProcesses()
  const { catchUp } = await import('./catch-up.ts')
  await catchUp(options, warm)
}
