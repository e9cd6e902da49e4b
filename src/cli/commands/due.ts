import { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openExistingOutbox } from '../../app/open-outbox.ts'
import { pushedMetric } from '../../model/batch.ts'
import { hourText } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import { numberText } from '../../model/number-text.ts'
import type { Backlog } from '../../outbox/contract/metrics.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import { asTyped, type JsonOption } from '../configured-command.ts'
import { type EndWith, exitCodes } from '../exit.ts'
import { openContext } from '../open-context.ts'
import {
  changingCommand,
  demandSelection,
  isNarrow,
  type SelectionOptions,
  selectingCommand,
  selectionOf,
} from '../selection.ts'
import { printTable, rowsMax } from '../table.ts'
import { counted, cut, grouped, note, print, printJson } from '../terminal.ts'

const wordCharsMax = 80

/** `due ls|drop`: metrics that wait for delivery and why, and giving up those of a removed protocol. */
export function dueCommand(ended: EndWith): Command {
  return new Command('due')
    .description('due metrics: list, drop')
    .addCommand(listCommand(ended), { isDefault: true })
    .addCommand(dropCommand(ended))
}

function listCommand(ended: EndWith): Command {
  return selectingCommand('ls')
    .description('list due metrics, and why they wait (also without ls)')
    .option('--json', 'print JSON: all of them, in full')
    .action((ids: readonly string[], options: SelectionOptions & JsonOption) =>
      withFound(ids, options, ended, async found => {
        if (options.json) printJson(found.metrics.map(metric => ({ ...jsonOf(metric), why: found.whyOf(metric) })))
        else printDue(found, options)
      }),
    )
}

function dropCommand(ended: EndWith): Command {
  return changingCommand('drop')
    .description('drop them for ever: not sent, not collected again')
    .action(async (ids: readonly string[], options: SelectionOptions) => {
      demandSelection('drop', selectionOf('due', ids, options), options)
      await withFound(ids, options, ended, async ({ operators, metrics, protocolIds, isNarrow }) => {
        const { hour } = selectionOf('due', ids, options)
        const selection = { protocolIds, ...(ids.length > 0 && { ids }), ...(hour !== undefined && { hour }) }
        const count = metrics.length === 0 ? 0 : ((await operators?.dropDue(selection)) ?? 0)
        if (count > 0) print(`${counted(count, 'metric')} dropped: not sent, and not collected again`)
        else if (!isNarrow) print('nothing is due')
      })
    })
}

/** The selected due metrics, and what was asked for. */
interface SelectedDue {
  /** Absent when nothing was ever collected. */
  readonly operators: OperatorStore | undefined
  readonly metrics: readonly Metric[]
  /** Protocols whose metrics wait for the given reason. */
  readonly protocolIds: readonly string[]
  readonly isNarrow: boolean
  whyOf(metric: Pick<Metric, 'protocolId'>): string
}

async function withFound(
  ids: readonly string[],
  options: SelectionOptions,
  ended: EndWith,
  act: (found: SelectedDue) => Promise<void>,
): Promise<void> {
  const { reason, ...selection } = selectionOf('due', ids, options)
  const context = openContext(options.config)
  await using stack = new AsyncDisposableStack()
  const operators = (await openExistingOutbox(context, stack))?.operators
  const backlog = await operators?.backlog()
  const whyOf = whyIn(context, backlog)
  const fits = (protocolId: string) =>
    whyOf({ protocolId })
      .toLowerCase()
      .includes((reason ?? '').toLowerCase())
  const withDue = [...(backlog?.byProtocol ?? [])].filter(([, { due }]) => due > 0).map(([id]) => id)
  const protocolIds = withDue.filter(fits)
  const metrics = (await operators?.due({ ...selection, protocolIds })) ?? []
  const narrow = isNarrow({ ...selection, ...(reason === undefined ? {} : { reason }) })
  await act({ operators, metrics, protocolIds, isNarrow: narrow, whyOf })
  noteMisfits(ids, metrics, narrow, options, ended)
}

/** Why due metrics of a protocol are not delivered, as far as known. */
function whyIn({ config }: AppContext, backlog: Backlog | undefined): SelectedDue['whyOf'] {
  const configured = new Set(config.protocols.map(({ id }) => id))
  const waiting = backlog?.waiting ?? []
  const why = waiting.length > 0 ? waiting.join('; ') : 'its turn has not come'
  return ({ protocolId }) => (configured.has(protocolId) ? why : `${protocolId} is no longer in the configuration`)
}

function jsonOf(metric: Metric) {
  const { id, protocolId, value, unit, module } = { ...pushedMetric(metric), ...metric }
  return {
    id,
    protocolId,
    hour: hourText(metric.hour),
    value,
    ...(unit === undefined ? {} : { unit }),
    ...(module === undefined ? {} : { module }),
  }
}

/** Prints the due metrics of each protocol, and single ones when some were selected. */
function printDue({ metrics, isNarrow, whyOf }: SelectedDue, options: SelectionOptions): void {
  if (metrics.length === 0) {
    if (!isNarrow) print('nothing is due')
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
  if (isNarrow) printRows(metrics)
  else
    print(
      `which ones: ${asTyped('due ls PROTOCOL', options)}; to give some up: ${asTyped('due drop PROTOCOL', options)}`,
    )
}

function printRows(metrics: readonly Metric[]): void {
  const shown = metrics.slice(-rowsMax)
  print('')
  printTable(
    ['metric', 'hour', 'value', 'unit'],
    shown.map(({ id, hour, value, unit = '' }) => [id, hourText(hour), numberText(value), unit]),
    ['value'],
  )
  if (shown.length < metrics.length) print(`the newest ${shown.length} shown; --json has all`)
}

/** Reports names without due metrics; the command then ends with 1. */
function noteMisfits(
  ids: readonly string[],
  metrics: readonly Metric[],
  isNarrow: boolean,
  options: SelectionOptions,
  ended: EndWith,
): void {
  const strangers = ids.filter(name => !metrics.some(({ id, protocolId }) => name === id || name === protocolId))
  for (const name of strangers) note(`nothing of ${name} is due`)
  if (metrics.length === 0 && strangers.length === 0 && isNarrow) note('no due metric fits')
  if (!isNarrow || (metrics.length > 0 && strangers.length === 0)) return
  note(`  → ${asTyped('due ls', options)} lists what is due`)
  ended(exitCodes.incomplete)
}
