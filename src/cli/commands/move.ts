import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { placeOf, requireFolder } from '../../app/open-outbox.ts'
import { serviceAddress } from '../../config/config.ts'
import { databaseSecrets, readSecret, resolveDatabase } from '../../config/secret.ts'
import { Fault } from '../../model/fault.ts'
import { postgresPlaceOf } from '../../model/postgres-address.ts'
import { serviceAt } from '../../outbox/contract/fleet-store.ts'
import { moveOutbox, moveToFolder } from '../../outbox/move.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { openContext } from '../open-context.ts'
import { counted, print } from '../terminal.ts'

/** Where the address of the target is kept. */
const target = { kind: 'env', name: 'DATABASE_URL' } as const

interface MoveOptions extends ConfigOption {
  readonly to: 'postgres' | 'folder'
  readonly folder?: string
}

/** `move`: copies the outbox into the database of a fleet, or back into a folder. */
export function moveCommand(): Command {
  return configuredCommand('move')
    .description('copies the outbox into the PostgreSQL database of a fleet, or from there into a folder')
    .addOption(new Option('--to <store>', 'where to').choices(['postgres', 'folder']).makeOptionMandatory())
    .option('--folder <path>', 'with --to folder: a folder without an outbox')
    .action(async (options: MoveOptions) => {
      const copy = options.to === 'postgres' ? await toPostgres(options) : await toFolder(options)
      for (const { table, rows } of copy.tables.filter(one => one.rows > 0)) print(`${table}: ${counted(rows, 'row')}`)
      print(`copied to ${copy.place}; counts and digests are the same; ${copy.from} is kept as it is`)
      const without = options.to === 'folder' ? ', remove fleet:' : ''
      print(`now write data: ${copy.data}${without}, and start the daemon`)
    })
}

interface Moved {
  readonly tables: Awaited<ReturnType<typeof moveOutbox>>
  readonly place: string
  readonly from: string
  /** The new `data` of the configuration. */
  readonly data: string
}

async function toPostgres({ config: file, folder: other }: MoveOptions): Promise<Moved> {
  if (other !== undefined) throw new Fault('usage', '--folder goes with --to folder', { fix: 'leave it out' })
  const { config, time, redactor } = openContext(file)
  const folder = requireFolder(config, 'nothing is left to move')
  if (config.service.kind === 'embedded') {
    throw new Fault('usage', 'the outbox is that of the embedded service, which a fleet cannot share', {
      fix: 'name a service by its url first',
    })
  }
  const address = resolveDatabase(target)
  redactor.add(databaseSecrets(readSecret(target)))
  const service = serviceAt(serviceAddress(config))
  const tables = await moveOutbox({ folder, config: file, target: address, service, nowMs: time.nowMs() })
  return { tables, place: postgresPlaceOf(address), from: folder, data: `{ postgres: { env: ${target.name} } }` }
}

async function toFolder({ config: file, folder: path }: MoveOptions): Promise<Moved> {
  if (path === undefined) throw new Fault('usage', '--to folder needs --folder PATH', { fix: 'name a folder' })
  const { config, time } = openContext(file)
  const place = placeOf(config)
  if (place.kind === 'folder')
    throw new Fault('usage', 'the outbox is in a folder already', { fix: 'nothing is to be done' })
  const folder = resolve(path)
  const tables = await moveToFolder({ folder, config: file, source: place.address, nowMs: time.nowMs() })
  return { tables, place: folder, from: postgresPlaceOf(place.address), data: folder }
}
