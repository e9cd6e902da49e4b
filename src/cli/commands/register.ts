import type { Command } from 'commander'
import { type Connection, connect } from '../../app/connection.ts'
import type { ProtocolConfig } from '../../config/config.ts'
import { registerProtocol } from '../../delivery/push.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { endIncomplete } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { selectProtocols } from '../selection.ts'
import { print } from '../terminal.ts'

/** `register [ID…]`: registers protocols. Ends with 1 when one could not be registered. */
export function registerCommand(): Command {
  return configuredCommand('register')
    .description('register the configuration’s protocols with the service')
    .argument('[id...]', 'protocol ids (default: all)')
    .action(async (ids: readonly string[], { config }: ConfigOption) => {
      const context = openContext(config)
      const protocols = selectProtocols(context.config.protocols, ids)
      await using stack = new AsyncDisposableStack()
      const connection = await connect(context, stack)
      for (const protocol of protocols) {
        const refusal = await register(connection, protocol)
        print(refusal === undefined ? `${protocol.id}: registered` : `${protocol.id}: ${refusal.text}`)
        if (refusal && !refusal.owned) endIncomplete()
      }
    })
}

/** Registers a protocol. A taken id that this key can read counts as its own, as far as the interface shows. */
async function register(
  { client, keyOf }: Connection,
  protocol: ProtocolConfig,
): Promise<{ readonly text: string; readonly owned: boolean } | undefined> {
  const key = keyOf(protocol.id)
  const refusal = await registerProtocol(client, protocol, key)
  if (refusal === undefined) return undefined
  const readable = await client.widget(protocol.id, key).then(
    () => true,
    () => false,
  )
  return readable ? { text: 'registered before', owned: true } : { text: refusal.reason, owned: false }
}
