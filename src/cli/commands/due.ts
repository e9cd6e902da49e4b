import { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openExistingForListing } from '../../app/open-outbox.ts'
import { pushedMetric } from '../../model/batch.ts'
import { hourText } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import { numberText } from '../../model/number-text.ts'
import type { Backlog } from '../../outbox/contract/delivery-store.ts'
import type { JsonOption } from '../configured-command.ts'
import { type OutboxCall, onOutbox } from '../outbox-action.ts'
import {
  changeSelected,
  changingCommand,
  isNarrow,
  noteMisfits,
  printDropped,
  type SelectedMetrics,
  type SelectionOptions,
  selectingCommand,
  selectionOf,
} from '../selection.ts'
import { printTable, rowsMax } from '../table.ts'
import { cut, grouped, print, printJson } from '../terminal.ts'

const wordCharsMax = 80

/** `due ls|drop`: metrics that wait for delivery and why, and giving up those of a removed protocol. */
export function dueCommand(): Command {
  return new Command('due')
    .description('due metrics: list, drop')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(dropCommand())
}

function listCommand(): Command {
  return selectingCommand('ls')
    .description('list due metrics, and why they wait (also without ls)')
    .option('--json', 'print JSON: all of them, in full')
    .action(
      onDue(async call => {
        if (call.options.json) printJson(call.metrics.map(metric => dueJson(metric, call.whyOf(metric))))
        else printDue(call)
      }, openExistingForListing),
    )
}

function dueJson(metric: Metric, reason: string) {
  const { module } = pushedMetric(metric)
  const { id, protocolId, hour, value, unit } = metric
  return { id, protocolId, hour: hourText(hour), value, unit, module, why: reason }
}

function dropCommand(): Command {
  return changingCommand('drop')
    .description('drop them for ever: not sent, not collected again')
    .action(
      onDue(call =>
        changeSelected('drop', call, async () => {
          const { reason: _, state: __, ...selection } = call.selection
          printDropped((await call.outbox?.operators.dropDue({ ...selection, protocolIds: call.protocolIds })) ?? 0)
        }),
      ),
    )
}

interface SelectedDue extends OutboxCall<SelectionOptions & JsonOption>, SelectedMetrics<'due'> {
  readonly options: SelectionOptions & JsonOption
  /** Protocols whose metrics wait for the given reason. */
  readonly protocolIds: readonly string[]
  whyOf(metric: Pick<Metric, 'protocolId'>): string
}

function onDue(act: (call: SelectedDue) => Promise<void>, openOutbox?: typeof openExistingForListing) {
  return onOutbox<SelectionOptions & JsonOption, [ids: readonly string[]]>(async (call, ids) => {
    const selection = selectionOf('due', ids, call.options)
    const { state: _, reason = '', ...filters } = selection
    const operators = call.outbox?.operators
    const backlog = await operators?.backlog()
    const whyOf = whyIn(call.context, backlog)
    const protocolIds = [...(backlog?.byProtocol ?? [])]
      .filter(([protocolId, { due }]) => due > 0 && whyOf({ protocolId }).toLowerCase().includes(reason.toLowerCase()))
      .map(([id]) => id)
    const metrics = (await operators?.due({ ...filters, protocolIds })) ?? []
    const dueCall = { ...call, selection, metrics, protocolIds, whyOf }
    await act(dueCall)
    await noteMisfits(dueCall, name => `nothing of ${name} is due`)
    return undefined
  }, openOutbox)
}

/** Why due metrics of a protocol are not delivered, as far as known. */
function whyIn({ config }: AppContext, backlog: Backlog | undefined): SelectedDue['whyOf'] {
  const protocolIds = new Set(config.protocols.map(({ id }) => id))
  const waiting = (backlog?.waiting ?? []).flatMap(state => state.waiting ?? [])
  const why = waiting.length > 0 ? waiting.join('; ') : 'its turn has not come'
  return ({ protocolId }) => (protocolIds.has(protocolId) ? why : `${protocolId} is no longer in the configuration`)
}

/** Prints the due metrics of each protocol, and single ones when some were selected. */
function printDue({ metrics, selection, whyOf }: SelectedDue): void {
  if (metrics.length === 0) {
    if (!isNarrow(selection)) print('nothing is due')
    return
  }
  // They come by hour.
  const byProtocol = [...Map.groupBy(metrics, ({ protocolId }) => protocolId)].sort(([a], [b]) => (a < b ? -1 : 1))
  printTable(
    ['protocol', 'metrics', 'oldest', 'newest', 'why it waits'],
    byProtocol.map(([protocolId, own]) => {
      const ends = [own[0], own.at(-1)].map(metric => (metric ? hourText(metric.hour) : ''))
      return [protocolId, grouped(own.length), ...ends, cut(whyOf({ protocolId }), wordCharsMax)]
    }),
    ['metrics'],
  )
  if (isNarrow(selection)) printRows(metrics)
  else print('which ones: tidegauge due ls PROTOCOL; to give some up: tidegauge due drop PROTOCOL')
}

function printRows(metrics: readonly Metric[]): void {
  const newestRows = metrics.slice(-rowsMax)
  print('')
  printTable(
    ['metric', 'hour', 'value', 'unit'],
    newestRows.map(({ id, hour, value, unit = '' }) => [id, hourText(hour), numberText(value), unit]),
    ['value'],
  )
  if (newestRows.length < metrics.length) print(`the newest ${newestRows.length} shown; --json has all`)
}
