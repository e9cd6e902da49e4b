import type { Command } from 'commander'
import { systemTime } from '../../edge/time.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { Signals } from '../signals.ts'
import { keepHeapSmall } from '../small-heap.ts'
import { warmProcesses } from '../warm-processes.ts'

/** `run`: the daemon. Ends with 0 after SIGTERM or SIGINT; SIGHUP and a changed file reload the configuration. */
export function runCommand(ended: (code: number) => void): Command {
  return configuredCommand('run')
    .description('the daemon: collects every full hour and delivers')
    .option('--standby', 'wait while another daemon is at work, and take over when it ends')
    .action(async ({ config, standby = false }: ConfigOption & { readonly standby?: boolean }) => {
      const signals = new Signals()
      // A standby waits for months: it starts its processes when it takes over.
      using warm = standby ? undefined : warmProcesses()
      using _ = keepHeapSmall(systemTime)
      const { runDaemon } = await import('../run-daemon.ts')
      await runDaemon(config, { ...(warm && { warm }), standby, signals, ended })
    })
}
