import { Command } from 'commander'
import { openExistingOutbox } from '../../app/open-outbox.ts'
import { Fault } from '../../model/fault.ts'
import type { Warning } from '../../outbox/contract/metrics.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import { warningJson } from '../../status/json.ts'
import { asTyped, type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { exitCodes } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { printFirst } from '../table.ts'
import { counted, cut, instantText, note, print, printJson } from '../terminal.ts'

interface ListOptions extends ConfigOption, JsonOption {
  readonly all?: boolean
}

interface AcknowledgeOptions extends ConfigOption {
  readonly kind?: string
  readonly all?: boolean
}

/** Characters of the service's words in the table. */
const wordCharsMax = 80

/** `warnings [ls]`, `warnings ack`: the service's warnings about pushes, each kind and metric once. */
export function warningsCommand(ended: (code: number) => void): Command {
  return new Command('warnings')
    .description('the service’s warnings about pushes, each kind and metric once')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(acknowledgeCommand(ended))
}

function listCommand(): Command {
  return configuredCommand('ls')
    .description('list unacknowledged warnings (also without ls)')
    .option('--all', 'the acknowledged ones, too')
    .option('--json', 'print JSON')
    .action(async (options: ListOptions) => {
      const context = openContext(options.config)
      await using stack = new AsyncDisposableStack()
      const outbox = await openExistingOutbox(context, stack)
      const all = (await outbox?.operators.warnings()) ?? []
      const wanted = all.filter(({ isAcknowledged }) => options.all || !isAcknowledged)
      if (options.json) printJson(wanted.map(warningJson))
      else printWarnings(wanted, all.length - wanted.length, options)
    })
}

function printWarnings(wanted: readonly Warning[], silent: number, options: ListOptions): void {
  const kept = silent > 0 ? ` (${silent} acknowledged: ${asTyped('warnings --all', options)})` : ''
  if (wanted.length === 0) {
    print(`no warnings${kept}`)
    return
  }
  const rows = wanted.map(({ kind, metricId = '', count, firstSeenMs, lastSeenMs, text, isAcknowledged }) => [
    cut(kind, 30),
    metricId,
    String(count),
    instantText(firstSeenMs),
    instantText(lastSeenMs),
    ...(options.all ? [isAcknowledged ? 'yes' : 'no'] : []),
    cut(text, wordCharsMax),
  ])
  const acknowledged = options.all ? ['acknowledged'] : []
  const head = ['kind', 'metric', 'count', 'first seen', 'last seen', ...acknowledged, 'words']
  printFirst(head, rows, 'warning', ['count'])
  if (!options.all) print(`\nto acknowledge: ${asTyped('warnings ack [ID…] [--kind KIND] [--all]', options)}${kept}`)
}

function acknowledgeCommand(ended: (code: number) => void): Command {
  return configuredCommand('ack')
    .description('acknowledge warnings: further ones are counted, not shown')
    .argument('[id...]', 'metric or protocol ids')
    .option('--kind <kind>', 'as warnings ls names it')
    .option('--all', 'select all')
    .action(async (ids: readonly string[], options: AcknowledgeOptions) => {
      if (ids.length === 0 && options.kind === undefined && !options.all) {
        throw new Fault('usage', 'which warnings? Nothing is selected', {
          fix: `name metric or protocol ids, or --kind KIND; all of them: ${asTyped('warnings ack --all', options)}`,
        })
      }
      const context = openContext(options.config)
      await using stack = new AsyncDisposableStack()
      const operators = (await openExistingOutbox(context, stack))?.operators
      const count = operators ? await acknowledge(operators, ids, options) : 0
      if (count > 0 || isAll(ids, options)) print(`${counted(count, 'warning')} acknowledged`)
      else noteNone(options)
      if (count === 0 && !isAll(ids, options)) ended(exitCodes.incomplete)
    })
}

function isAll(ids: readonly string[], { kind }: AcknowledgeOptions): boolean {
  return ids.length === 0 && kind === undefined
}

async function acknowledge(
  operators: OperatorStore,
  ids: readonly string[],
  { kind }: AcknowledgeOptions,
): Promise<number> {
  const ofKind = kind === undefined ? {} : { kind }
  if (ids.length === 0) return operators.acknowledge(ofKind)
  const named = (await operators.warnings())
    .flatMap(({ metricId }) => metricId ?? [])
    .filter(metricId => ids.some(id => metricId === id || metricId.startsWith(`${id}___`)))
  return operators.acknowledge({ ids: named, ...ofKind })
}

function noteNone(options: AcknowledgeOptions): void {
  note('no warning fits that is not acknowledged yet')
  note(`  → ${asTyped('warnings --all', options)} lists them`)
}
