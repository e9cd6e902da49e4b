import { Command } from 'commander'
import { listenAddress } from '../config/addresses.ts'
import { Fault } from '../model/fault.ts'
import { startReference } from '../reference/start.ts'
import { openStore, type Store } from '../reference/store/store.ts'
import { systemTime } from '../time.ts'
import { Signals } from './signals.ts'
import { note, print, printJson, printTable } from './terminal.ts'

interface FileOption {
  readonly file: string
}

/** `service`: the reference service alone, and its keys. */
export function serviceCommand(): Command {
  return withFile(new Command('service'))
    .description('the reference service alone, for local use and tests')
    .option('--listen <host:port>', 'address to listen on', '127.0.0.1:8787')
    .action(serve)
    .addCommand(keyCommand())
    .addCommand(protocolCommand())
}

function withFile(command: Command): Command {
  return command.option('--file <file>', 'SQLite file of the service, made when missing', 'data/service.db')
}

async function serve({ file, listen }: FileOption & { readonly listen: string }): Promise<void> {
  const signals = new Signals()
  const address = listenAddress(listen)
  if (!address.ok) throw new Fault('usage', `--listen ${listen}: ${address.wrong}`, { fix: address.fix })
  const report = (words: string) => note(`service: ${words}`)
  const service = await startReference({
    ...address.value,
    file,
    time: systemTime,
    report: error => report(String(error)),
  })
  print(`service at ${service.url}, its interface at ${service.url}/openapi.json`)
  if (service.store.keys.list().length === 0) note(`no key yet: tidegauge service key create --file ${file} NAME`)
  await signals.untilStop()
  await service.stop()
}

function keyCommand(): Command {
  const command = new Command('key').description('API keys of the reference service')
  withFile(command.command('create'))
    .description('make a key: it is printed this once, and stored as a hash')
    .argument('[name]', 'to tell keys apart', 'local')
    .action((name: string, { file }: FileOption) => withStore(file, ({ keys }) => print(keys.create(name))))
  withFile(command.command('ls'))
    .description('the keys, without what they open')
    .option('--json', 'print JSON')
    .action(({ file, json }: FileOption & { readonly json?: boolean }) =>
      withStore(file, ({ keys }) => (json ? printJson(keys.list()) : printKeys(keys.list()))),
    )
  withFile(command.command('revoke'))
    .description('make a key invalid at once')
    .argument('<key>', 'its name, or how it begins')
    .action((key: string, { file }: FileOption) => withStore(file, ({ keys }) => keys.revoke(key)))
  withFile(command.command('rotate'))
    .description('another key for the same owner; the old one is invalid at once')
    .argument('<key>', 'its name, or how it begins')
    .action((key: string, { file }: FileOption) => withStore(file, ({ keys }) => print(keys.rotate(key))))
  return command
}

function protocolCommand(): Command {
  const command = new Command('protocol').description('protocols of the reference service')
  for (const visibility of ['public', 'private'] as const) {
    withFile(command.command(visibility))
      .description(`make a protocol ${visibility}`)
      .argument('<id>', 'protocol id')
      .action((id: string, { file }: FileOption) =>
        withStore(file, ({ protocols }) => {
          protocols.setVisibility(id, visibility)
          print(`${id} is ${visibility}`)
        }),
      )
  }
  return command
}

function printKeys(keys: ReturnType<Store['keys']['list']>): void {
  const day = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString())
  printTable(
    ['begins with', 'name', 'created', 'revoked'],
    keys.map(({ prefix, name, createdAtMs, revokedAtMs }) => [prefix, name, day(createdAtMs), day(revokedAtMs)]),
  )
}

function withStore(file: string, act: (store: Store) => void): void {
  const store = openStore(file, systemTime)
  try {
    act(store)
  } finally {
    store.close()
  }
}
