import { type Command, Option } from 'commander'
import { readExistingOutbox } from '../../app/open-outbox.ts'
import { hourText, parseHour } from '../../model/hour.ts'
import { labelOf } from '../../model/metric.ts'
import type { HistoryEntry } from '../../outbox/contract/hours.ts'
import { csvField } from '../../status/history.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { openContext } from '../open-context.ts'
import { demandOrder } from '../selection.ts'
import { isOutputRead, note, printStored } from '../terminal.ts'

const formats = ['csv', 'openmetrics'] as const

interface ExportOptions extends ConfigOption {
  readonly from: string
  readonly to: string
  readonly format: (typeof formats)[number]
  readonly all?: boolean
}

/** `export`: the values of a range of hours for other programs, metric by metric, the oldest hour first. */
export function exportCommand(): Command {
  return configuredCommand('export')
    .description('the delivered values of a range of hours, for other programs')
    .requiredOption('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z')
    .requiredOption('--to <hour>', 'the last hour, included')
    .addOption(
      new Option('--format <format>', 'for Prometheus: promtool tsdb create-blocks-from openmetrics')
        .choices(formats)
        .default('csv'),
    )
    .option('--all', 'also what is due, held, dead, dropped or private')
    .action(async (options: ExportOptions) => {
      const range = { from: parseHour(options.from), to: parseHour(options.to) }
      demandOrder(range)
      const { head, rowOf, end } = options.format === 'csv' ? csv : openMetrics(options.all ?? false)
      for (const line of head) printStored(line)
      const count = await readExistingOutbox(openContext(options.config), async outbox => {
        let values = 0
        const ids = ((await outbox?.status.newest(range.from, range.to, options.all)) ?? []).map(({ id }) => id)
        for (const id of ids.sort()) {
          if (!isOutputRead()) break
          const entries = (await outbox?.operators.history(id, range.from, range.to)) ?? []
          const wanted = entries.filter(({ state }) => options.all || state === 'delivered')
          if (wanted.length > 0) printStored(wanted.map(rowOf).join('\n'))
          values += wanted.length
        }
        return values
      })
      for (const line of end) printStored(line)
      if (count === 0) note(`no value from ${hourText(range.from)} to ${hourText(range.to)}`)
    })
}

/** Text before the values, of each value, and after them. */
interface ExportFormat {
  readonly head: readonly string[]
  rowOf(entry: HistoryEntry): string
  readonly end: readonly string[]
}

const csv: ExportFormat = {
  head: ['metric,hour,value,unit,state'],
  rowOf: ({ id, hour, value, unit = '', state }) =>
    [csvField(id), hourText(hour), String(value), csvField(unit), state].join(','),
  end: [],
}

const family = 'tidegauge_metric_value'

/** OpenMetrics 1.0, under the name and labels that the daemon serves. @param hasStates whether values say their state: others than delivered ones are among them */
function openMetrics(hasStates: boolean): ExportFormat {
  return {
    head: [`# TYPE ${family} gauge`, `# HELP ${family} The value of each metric as of an hour.`],
    rowOf: entry => {
      const { protocolId: protocol, hour, value, unit = '', state } = entry
      const labels = { protocol, metric: labelOf(entry), unit, ...(hasStates && { state }) }
      const text = Object.entries(labels).map(([name, one]) => `${name}="${escaped(one)}"`)
      return `${family}{${text.join(',')}} ${value} ${hour / 1000}`
    },
    end: ['# EOF'],
  }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
