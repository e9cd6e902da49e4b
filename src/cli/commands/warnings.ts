import { Command } from 'commander'
import { openExistingForListing } from '../../app/open-outbox.ts'
import { Fault } from '../../model/fault.ts'
import { instantText } from '../../model/hour.ts'
import type { Warning } from '../../outbox/contract/metrics.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import { jsonForm } from '../../status/json.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { endIncomplete } from '../exit.ts'
import { onOutbox } from '../outbox-action.ts'
import { printFirst } from '../table.ts'
import { counted, cut, note, print } from '../terminal.ts'

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
export function warningsCommand(): Command {
  return new Command('warnings')
    .description('the service’s warnings about pushes, each kind and metric once')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(acknowledgeCommand())
}

function listCommand(): Command {
  return configuredCommand('ls')
    .description('list unacknowledged warnings (also without ls)')
    .option('--all', 'the acknowledged ones, too')
    .option('--json', 'print JSON')
    .action(
      onOutbox<ListOptions>(async ({ outbox, options }) => {
        const allWarnings = (await outbox?.operators.warnings()) ?? []
        const listedWarnings = allWarnings.filter(({ isAcknowledged }) => options.all || !isAcknowledged)
        return {
          json: () => listedWarnings.map(jsonForm),
          text: () => printWarnings(listedWarnings, allWarnings.length - listedWarnings.length, options),
        }
      }, openExistingForListing),
    )
}

function printWarnings(warnings: readonly Warning[], silent: number, options: ListOptions): void {
  const remark = silent > 0 ? ` (${silent} acknowledged: tidegauge warnings --all)` : ''
  if (warnings.length === 0) {
    print(`no warnings${remark}`)
    return
  }
  const rows = warnings.map(({ kind, metricId = '', count, firstSeenMs, lastSeenMs, text, isAcknowledged }) => [
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
  if (!options.all) print(`\nto acknowledge: tidegauge warnings ack [ID…] [--kind KIND] [--all]${remark}`)
}

function acknowledgeCommand(): Command {
  return configuredCommand('ack')
    .description('acknowledge warnings: further ones are counted, not shown')
    .argument('[id...]', 'metric or protocol ids')
    .option('--kind <kind>', 'as warnings ls names it')
    .option('--all', 'select all')
    .action(
      onOutbox<AcknowledgeOptions, [ids: readonly string[]]>(async ({ outbox, options }, ids) => {
        const isAll = ids.length === 0 && options.kind === undefined
        if (isAll && !options.all) {
          throw new Fault('usage', 'which warnings? Nothing is selected', {
            fix: 'name metric or protocol ids, or --kind KIND; all of them: tidegauge warnings ack --all',
          })
        }
        const count = outbox ? await acknowledge(outbox.operators, ids, options) : 0
        if (count > 0 || isAll) return void print(`${counted(count, 'warning')} acknowledged`)
        note('no warning fits that is not acknowledged yet')
        note('  → tidegauge warnings --all lists them')
        return void endIncomplete()
      }),
    )
}

async function acknowledge(
  operators: OperatorStore,
  ids: readonly string[],
  { kind }: AcknowledgeOptions,
): Promise<number> {
  const ofKind = kind === undefined ? {} : { kind }
  if (ids.length === 0) return operators.acknowledge(ofKind)
  const metricIds = (await operators.warnings())
    .flatMap(({ metricId }) => metricId ?? [])
    .filter(metricId => ids.some(id => metricId === id || metricId.startsWith(`${id}___`)))
  return operators.acknowledge({ ids: metricIds, ...ofKind })
}
