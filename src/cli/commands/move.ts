import { type Command, Option } from 'commander'
import { requireFolder } from '../../app/outbox-place.ts'
import { databaseSecrets, readSecret, resolveDatabase } from '../../config/secret.ts'
import { Fault } from '../../model/fault.ts'
import { postgresPlaceOf } from '../../model/postgres-address.ts'
import { moveOutbox } from '../../outbox/move.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { openContext } from '../open-context.ts'
import { counted, print } from '../terminal.ts'

/** Where the address of the target is kept. */
const target = { kind: 'env', name: 'DATABASE_URL' } as const

/** `move --to postgres`: copies the outbox into the database of a fleet. */
export function moveCommand(): Command {
  return configuredCommand('move')
    .description('copies the outbox into the PostgreSQL database of a fleet')
    .addOption(new Option('--to <store>', 'where to').choices(['postgres']).makeOptionMandatory())
    .addHelpText(
      'after',
      '\nThe variable DATABASE_URL names the database, which must hold no rows. The folder is kept.',
    )
    .action(async ({ config: file }: ConfigOption) => {
      const { config, time, redactor } = openContext(file)
      const folder = requireFolder(config, 'nothing is left to move')
      if (config.service.kind === 'embedded') {
        throw new Fault('usage', 'the outbox is that of the embedded service, which a fleet cannot share', {
          fix: 'name a service by its url first',
        })
      }
      const address = resolveDatabase(target)
      redactor.add(databaseSecrets(readSecret(target)))
      const copied = await moveOutbox({ folder, config: file, target: address, nowMs: time.nowMs() })
      for (const { table, rows } of copied.filter(one => one.rows > 0)) print(`${table}: ${counted(rows, 'row')}`)
      print(`copied to ${postgresPlaceOf(address)}; counts and digests are the same; ${folder} is kept as it is`)
      print(`now write data: { postgres: { env: ${target.name} } } and start the daemon`)
    })
}
