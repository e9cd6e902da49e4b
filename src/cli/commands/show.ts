import type { Command } from 'commander'
import { connect } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { Fault } from '../../model/fault.ts'
import { numberText, signedText } from '../../model/number-text.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { seenDaemon, silentWords, startingSentence, untakenSentence } from '../daemon-answer.ts'
import { openContext } from '../open-context.ts'
import { printResult } from '../outbox-action.ts'
import { selectProtocols } from '../selection.ts'
import { printTable } from '../table.ts'
import { print } from '../terminal.ts'

/** `show ID`: a protocol's widget, as the service has it. */
export function showCommand(): Command {
  return configuredCommand('show')
    .description('a protocol’s widget values, as the service has them')
    .argument('<id>', 'protocol id')
    .option('--json', 'print JSON')
    .action(async (id: string, { config, json }: ConfigOption & JsonOption) => {
      const context = openContext(config)
      selectProtocols(context.config.protocols, [id])
      await using stack = new AsyncDisposableStack()
      const connection = await connect(context, stack)
      const metrics = await connection.client.widget(id, connection.keyOf(id)).catch(async error => {
        throw await withWayOut(error, context, id)
      })
      const text = () => {
        const rows = metrics.map(({ id: metric, value, unit, change1h, change24h, timestamp }) => [
          metric.slice(id.length + 3),
          numberText(value),
          unit ?? '',
          change(change1h),
          change(change24h),
          timestamp,
        ])
        if (rows.length === 0) print(`the service has no metrics of ${id} yet`)
        else printTable(['label', 'value', 'unit', '1h', '24h', 'at'], rows, ['value', '1h', '24h'])
      }
      await printResult({ json: () => metrics, text }, { json })
    })
}

/** The error of a protocol that the service does not know, with what has it registered as things are now; others unchanged. */
async function withWayOut(error: unknown, { config }: AppContext, id: string): Promise<unknown> {
  if (!(error instanceof Fault) || error.facts['status'] !== 404) return error
  const daemonSeen = await seenDaemon(config.status)
  const isRegistered = config.protocols.some(protocol => protocol.id === id && protocol.register)
  const first = 'the daemon registers it with its first push; tidegauge status says what is due'
  const ways = {
    starting: daemonSeen.kind === 'starting' ? startingSentence(daemonSeen) : '',
    'at-work': untakenSentence(daemonSeen, config) ?? first,
    stalled: 'tidegauge status says why the daemon cannot work',
    silent: `the daemon ${silentWords}`,
    none: 'start the daemon, which registers it: tidegauge run',
  }
  if (!isRegistered && untakenSentence(daemonSeen, config) === undefined) return error
  return new Fault(error.code, error.message, { facts: error.facts, fix: ways[daemonSeen.kind] })
}

function change(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : signedText(value)
}
