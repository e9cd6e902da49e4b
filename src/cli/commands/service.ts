import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command } from 'commander'
import { listenAddress } from '../../config/addresses.ts'
import { makeFolders } from '../../edge/make-folders.ts'
import { systemTime } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { shellWord } from '../../model/text.ts'
import { startReference } from '../../reference/server.ts'
import { openStore, type Store } from '../../reference/store.ts'
import { Signals } from '../signals.ts'
import { printTable } from '../table.ts'
import { instant, note, print, printJson } from '../terminal.ts'

/** `service`: the reference service alone, and its keys. */
export function serviceCommand(): Command {
  return withFile(new Command('service'))
    .description('the reference service alone, for local use and tests')
    .option('--listen <host:port>', 'address to listen on', '127.0.0.1:8787')
    .action(serve)
    .addCommand(keyCommand())
    .addCommand(protocolCommand())
}

async function serve({ file, listen }: FileOption & { readonly listen: string }): Promise<void> {
  const signals = new Signals('stop')
  const address = listenAddress(listen)
  if (!address.ok) {
    const { message, ...rest } = address.mistake
    throw new Fault('usage', `--listen ${listen}: ${message}`, rest)
  }
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

interface OutOptions extends FileOption {
  readonly out?: string
  readonly force?: boolean
}

/** `service key create|ls|revoke|rotate`: the keys of the reference service. */
function keyCommand(): Command {
  const command = new Command('key').description('API keys of the reference service')
  withOut(command.command('create'))
    .description('create a key: it is shown only now, and stored as a hash')
    .argument('[name]', 'to tell keys apart', 'local')
    .action((name: string, options: OutOptions) =>
      give(options, () => withNewStore(options.file, ({ keys }) => keys.create(name))),
    )
  withFile(command.command('ls'))
    .description('list the keys, without their secrets')
    .option('--json', 'print JSON')
    .action(({ file, json }: FileOption & { readonly json?: boolean }) =>
      withStore(file, ({ keys }) => (json ? printJson(keys.list()) : printKeys(keys.list()))),
    )
  withFile(command.command('revoke'))
    .description('make a key invalid at once')
    .argument('<key>', 'its name, or how it begins')
    .action((key: string, { file }: FileOption) =>
      withStore(file, ({ keys }) => {
        keys.revoke(key)
        print(`${key} is revoked`)
      }),
    )
  withOut(command.command('rotate'))
    .description('another key for the same owner; the old one is invalid at once')
    .argument('<key>', 'its name, or how it begins')
    .action((key: string, options: OutOptions) =>
      give(options, () => withStore(options.file, ({ keys }) => keys.rotate(key))),
    )
  return command
}

function withOut(command: Command): Command {
  return withFile(command)
    .option('--out <file>', 'write the key into this file, readable only by its owner, instead of printing it')
    .option('--force', 'also if --out names an existing file')
}

/** Prints a new key, or writes it to a file. The file is checked before the key is created. */
function give({ out, force = false }: OutOptions, make: () => string): void {
  if (out === undefined) {
    print(make())
    return
  }
  using file = keyFile(out, force)
  file.write(make())
  print(`the key is in ${out}, readable only by its owner`)
  print(`  key: { file: ${shellWord(resolve(out))} }`)
}

function printKeys(keys: ReturnType<Store['keys']['list']>): void {
  printTable(
    ['begins with', 'name', 'created', 'revoked'],
    keys.map(({ prefix, name, createdAtMs, revokedAtMs }) => [
      prefix,
      name,
      instant(createdAtMs) ?? '',
      instant(revokedAtMs) ?? '',
    ]),
  )
}

/** Option with the file of the reference service. */
interface FileOption {
  readonly file: string
}

/** Adds that option to a command. */
function withFile(command: Command): Command {
  return command.option('--file <file>', 'SQLite file of the service', 'data/service.db')
}

/**
 * Works on the service's existing file.
 *
 * @throws Fault `usage` when there is none, or it is not the service's; errors of `act`
 */
function withStore<T>(file: string, act: (store: Store) => T): T {
  if (!existsSync(file)) {
    throw new Fault('usage', `the service has no file ${file}`, {
      fix: `name it with --file FILE; tidegauge service key create --file ${file} makes one`,
    })
  }
  return withNewStore(file, act)
}

/** Works on the service's file, creating it if missing. */
function withNewStore<T>(file: string, act: (store: Store) => T): T {
  const store = open(file)
  try {
    return act(store)
  } finally {
    store.close()
  }
}

function open(file: string): Store {
  try {
    return openStore(file, systemTime)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('usage', `cannot open the service's file ${file}: ${why}`, {
      fix: 'name another one with --file FILE, in a folder that can be written',
      cause,
    })
  }
}

/**
 * Checks that a key can be written to a file, readable only by its owner (0600), creating missing folders. `write` writes it,
 * atomically and only once; disposing before that leaves nothing behind.
 *
 * @param replaces whether an existing file may be replaced
 * @throws Fault `usage` when it cannot
 */
function keyFile(file: string, replaces: boolean) {
  if (!replaces && existsSync(file)) throw taken(file)
  const temporaryFile = `${file}.${process.pid}`
  const descriptor = attempt(file, () => {
    makeFolders(dirname(file), 0o700)
    return openSync(temporaryFile, 'wx', 0o600)
  })
  return {
    write(key: string) {
      attempt(file, () => {
        writeSync(descriptor, `${key}\n`)
        fsyncSync(descriptor)
        // A link fails if another process created the file meanwhile; a rename would replace it.
        if (replaces) renameSync(temporaryFile, file)
        else linkSync(temporaryFile, file)
      })
    },
    [Symbol.dispose]() {
      closeSync(descriptor)
      rmSync(temporaryFile, { force: true })
    },
  }
}

function taken(file: string): Fault {
  return new Fault('usage', `${file} already exists`, {
    fix: 'name another file, or replace it with --force: the key in it is lost then',
  })
}

function attempt<T>(file: string, act: () => T): T {
  try {
    return act()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    // The code is also used for a folder on the path that is a file.
    if (code === 'EEXIST' && existsSync(file)) throw taken(file)
    throw new Fault('usage', `the key cannot be written into ${file} (${code})`, {
      fix: 'name a file in a folder that this user may write',
      cause,
    })
  }
}
