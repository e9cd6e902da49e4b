import type { Command } from 'commander'
import { requireFolder } from '../../app/open-outbox.ts'
import { backUpOutbox } from '../../outbox/backup.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { openContext } from '../open-context.ts'
import { bytesText, print } from '../terminal.ts'

/** `backup FILE`: a consistent copy of the outbox, also while the daemon runs. */
export function backupCommand(): Command {
  return configuredCommand('backup')
    .description('a consistent copy of the outbox, also while the daemon runs')
    .argument('<file>', 'where to; it must not exist yet')
    .action((target: string, { config: configFile }: ConfigOption) => {
      const { config } = openContext(configFile)
      const { file, bytes } = backUpOutbox(requireFolder(config, 'back the database up with pg_dump'), target)
      print(`${file}: ${bytesText(bytes)}, checked and on disk`)
    })
}
