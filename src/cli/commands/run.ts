import type { Command } from 'commander'
import { systemTime } from '../../edge/time.ts'
import { WatchedClock } from '../../intake/watched-clock.ts'
import { DataFolders } from '../../outbox/data-folders.ts'
import { Reloads } from '../../status/reloads.ts'
import { checkOptions } from '../check-options.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { openContext } from '../open-context.ts'
import { Signals } from '../signals.ts'
import { keepHeapSmall } from '../small-heap.ts'
import { warmStart } from '../warm-start.ts'
import { whileStarting } from '../while-starting.ts'

/** `run`: the daemon. Ends with 0 after SIGTERM or SIGINT; SIGHUP and a changed file reload the configuration. */
export function runCommand(ended: (code: number) => void): Command {
  return configuredCommand('run')
    .description('the daemon: collects every full hour and delivers')
    .action(async ({ config }: ConfigOption) => {
      const signals = new Signals()
      using warm = warmStart(config, true)
      using _ = keepHeapSmall(systemTime)
      // Clock and data folders outlive reloads.
      const [clock, place] = [new WatchedClock(systemTime), new DataFolders()]
      const context = { ...openContext(config, ({ log }) => log.level), clock, place, warm }
      const checking = checkOptions(context, signals)
      const [{ keepRunning }] = await Promise.all([whileStarting(() => import('../keep-running.ts')), checking])
      const { file } = context.config
      const reloads = new Reloads(file, context.time.nowMs())
      if (!signals.stopping.aborted) await keepRunning({ first: context, signals, reloads, ended })
    })
}
