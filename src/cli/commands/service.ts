import { Command } from 'commander'
import { listenAddress } from '../../config/addresses.ts'
import { systemTime } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { startReference } from '../../reference/server.ts'
import { type FileOption, withFile, withStore } from '../service-file.ts'
import { Signals } from '../signals.ts'
import { note, print } from '../terminal.ts'
import { keyCommand } from './service-key.ts'

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
