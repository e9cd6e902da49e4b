import type { Command } from 'commander'
import { readExistingOutbox } from '../../app/open-outbox.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText, instantText, parseHour } from '../../model/hour.ts'
import type { MetricId } from '../../model/metric.ts'
import { exactText } from '../../model/number-text.ts'
import { type HistoryHour, historyCsv, type MetricHistory, metricHistory } from '../../status/history.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { endIncomplete } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { demandOrder, unknownMetric } from '../selection.ts'
import { printTable } from '../table.ts'
import { counted, cut, instant, note, print, printStored } from '../terminal.ts'

interface HistoryOptions extends ConfigOption, JsonOption {
  readonly from?: string
  readonly to?: string
  readonly csv?: boolean
}

/** Hours shown by default. */
const hoursShown = 48
/** Characters of a reason in the table. */
const reasonCharsMax = 60

/** `history ID`: the values of a metric, when each was collected, delivered and corrected. */
export function historyCommand(): Command {
  return configuredCommand('history')
    .description('the values of a metric, when each was collected, delivered, corrected')
    .argument('<id>', 'metric id, like awesome-vault___TVL')
    .option('--from <hour>', `the first hour, like 2026-11-20T13:00:00Z (default: ${hoursShown} hours up to the last)`)
    .option('--to <hour>', 'the last hour, included (default: the current hour)')
    .option('--csv', 'print CSV')
    .option('--json', 'print JSON')
    .action(async (id: string, options: HistoryOptions) => {
      if (options.csv && options.json) throw new Fault('usage', '--csv and --json exclude each other')
      const context = openContext(options.config)
      const to = options.to === undefined ? hourAt(context.time.nowMs()) : parseHour(options.to)
      const from = options.from === undefined ? hourAfter(to, 1 - hoursShown) : parseHour(options.from)
      demandOrder({ from, to })
      const { config, time } = context
      const history = await readExistingOutbox(context, async outbox => {
        if (!outbox) return undefined
        const known = await outbox.intake.pasts([{ id: id as MetricId, hour: to }])
        const found = await metricHistory({ config, outbox, nowMs: time.nowMs(), from, to }, id)
        if (found || known[0]) return found ?? 'elsewhere'
        throw await unknownMetric(missing(id), id, { context, outbox })
      })
      if (history === undefined) throw await unknownMetric(missing(id), id, { context, outbox: undefined })
      if (history === 'elsewhere') {
        note(`no value of ${id} from ${hourText(from)} to ${hourText(to)}`)
        endIncomplete()
      } else show(history, { from, to }, options)
    })
}

const missing = (id: string) => `no value of a metric "${id}" is stored`

function show(
  history: MetricHistory,
  range: { readonly from: Hour; readonly to: Hour },
  options: HistoryOptions,
): void {
  if (options.csv) printStored(historyCsv(history).replaceAll('\r\n', '\n').trimEnd())
  else if (options.json) printStored(historyJson(history))
  else printHistory(history, hoursFrom(range.from, range.to).length)
}

function historyJson({ id, protocolId, collector, isRemoved, unit, hours }: MetricHistory) {
  return {
    id,
    protocolId,
    collector,
    isRemoved,
    unit,
    hours: hours.map(({ hour, collectedMs, deliveredMs, earlier: earlierValues, ...rest }) => ({
      hour: hourText(hour),
      ...rest,
      collected: instant(collectedMs),
      delivered: instant(deliveredMs),
      earlier: earlierValues?.map(({ value, untilMs }) => ({ value, until: instant(untilMs) })),
    })),
  }
}

function printHistory({ id, collector, isRemoved, hours }: MetricHistory, hoursWanted: number): void {
  const isCorrected = hours.some(({ earlier }) => earlier)
  const hasReason = hours.some(({ reason }) => reason !== undefined)
  const head = ['hour', 'value', 'unit', 'state', 'collected', 'delivered']
  const extraColumns = [...(isCorrected ? ['corrected'] : []), ...(hasReason ? ['reason'] : [])]
  const rows = hours.map(hour => [
    ...cellsOf(hour),
    ...(isCorrected ? [correctedText(hour)] : []),
    ...(hasReason ? [cut(hour.reason ?? '', reasonCharsMax)] : []),
  ])
  printTable([...head, ...extraColumns], rows, ['value'])
  const remark = isRemoved ? ', which is no longer configured' : ''
  const before =
    hoursWanted > hours.length ? `; nothing is known of the ${counted(hoursWanted - hours.length, 'hour')} before` : ''
  print(`\n${id}, by ${collector}${remark}${before}`)
}

function cellsOf({ hour, value, unit = '', state, collectedMs, deliveredMs }: HistoryHour): string[] {
  const timeText = (ms: number | undefined) => (ms === undefined ? '' : instantText(ms))
  return [
    hourText(hour),
    value === undefined ? '' : exactText(value),
    unit,
    state,
    timeText(collectedMs),
    timeText(deliveredMs),
  ]
}

/** `2026-11-20T13:00:04Z, before: 5, 7`. */
function correctedText({ earlier = [] }: HistoryHour): string {
  const last = earlier.at(-1)
  return last ? `${instantText(last.untilMs)}, before: ${earlier.map(({ value }) => exactText(value)).join(', ')}` : ''
}
