import type { Command } from 'commander'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { warmProcesses } from '../warm-processes.ts'

/** `check`: configuration and collectors, offline. Ends with 78 for any mistake. */
export function checkCommand(): Command {
  return configuredCommand('check')
    .description('the configuration and its collectors, offline')
    .option('--json', 'print JSON')
    .action(async (options: ConfigOption & JsonOption) => {
      using warm = warmProcesses()
      const { checkWhole } = await import('../check-collectors.ts')
      await checkWhole(options, warm)
    })
}
