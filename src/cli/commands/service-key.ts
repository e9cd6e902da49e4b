import { resolve } from 'node:path'
import { Command } from 'commander'
import { shellWord } from '../../model/text.ts'
import type { Store } from '../../reference/store.ts'
import { keyFile } from '../key-file.ts'
import { type FileOption, withFile, withNewStore, withStore } from '../service-file.ts'
import { printTable } from '../table.ts'
import { print, printJson } from '../terminal.ts'

interface OutOptions extends FileOption {
  readonly out?: string
  readonly force?: boolean
}

/** `service key create|ls|revoke|rotate`: the keys of the reference service. */
export function keyCommand(): Command {
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
  const day = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString())
  printTable(
    ['begins with', 'name', 'created', 'revoked'],
    keys.map(({ prefix, name, createdAtMs, revokedAtMs }) => [prefix, name, day(createdAtMs), day(revokedAtMs)]),
  )
}
