import type { Command } from 'commander'
import { openExistingOutbox } from '../../app/open-outbox.ts'
import { Fault } from '../../model/fault.ts'
import { hourText } from '../../model/hour.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { type CollectorDiff, diffCollector, replaced, type ValueChange } from '../diff.ts'
import { exitCodes } from '../exit.ts'
import { openContext, selectCollectors } from '../open-context.ts'
import { printTable } from '../table.ts'
import { counted, cut, print, printJson } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

interface DiffOptions extends ConfigOption, JsonOption {
  readonly collector: string
  readonly hours: number
  readonly only?: string
}

const hoursDefault = 24
const hoursMax = 8_760
const rowsMax = 50
const reasonCharsMax = 60

/** `diff`: what a changed collector would have given for delivered hours. Ends with 1 when that is something else. */
export function diffCommand(ended: (code: number) => void): Command {
  return configuredCommand('diff')
    .description('what a changed collector would have given for delivered hours; nothing is stored or sent')
    .requiredOption('--collector <file>', 'the changed collector')
    .option('--hours <count>', 'the last delivered hours that are compared', wholeNumber(1, hoursMax), hoursDefault)
    .option('--only <id>', 'the configured collector that it would replace; default: the one of the same file name')
    .option('--json', 'print JSON')
    .action(async (options: DiffOptions) => {
      const context = openContext(options.config)
      const { only, collector: file, hours } = options
      const collectors = selectCollectors(context.config, only === undefined ? undefined : [only])
      const collector = replaced(collectors, file, only !== undefined)
      await using stack = new AsyncDisposableStack()
      const outbox = await openExistingOutbox(context, stack)
      if (!outbox) throw new Fault('usage', 'nothing was delivered yet', { fix: 'there is nothing to compare with' })
      const diff = await diffCollector(context, outbox, { collector, file, hoursMax: hours })
      if (options.json) printJson(diffJson(diff))
      else printDiff(diff)
      if (diff.unread || diff.hours.length === 0 || diff.changes.length > 0) ended(exitCodes.incomplete)
    })
}

function printDiff({ collector, hours, equal, changes, unread }: CollectorDiff): void {
  const [first, last] = [hours[0], hours.at(-1)]
  if (unread || first === undefined || last === undefined) {
    return void print(
      unread ? `${collector} cannot be compared: ${unread.reason}` : `nothing of ${collector} was delivered yet`,
    )
  }
  const span = `${counted(hours.length, 'delivered hour')} of ${collector}, ${hourText(first)} to ${hourText(last)}`
  if (changes.length === 0) return void print(`${span}: ${counted(equal, 'value')}, all the same, bit for bit`)
  printTable(['metric', 'hour', 'stored', 'changed', 'difference'], changes.slice(0, rowsMax).map(rowOf), [
    'stored',
    'changed',
    'difference',
  ])
  if (changes.length > rowsMax) print(`and ${counted(changes.length - rowsMax, 'value')} more: --json has all`)
  print(`\n${span}: ${counted(equal, 'value')} the same, ${counted(changes.length, 'value')} not`)
}

function rowOf({ metric, hour, stored, changed, reason }: ValueChange): string[] {
  const difference = stored !== undefined && changed !== undefined ? differenceText(stored, changed) : ''
  const now = changed === undefined ? `none: ${cut(reason ?? '', reasonCharsMax)}` : String(changed)
  return [metric, hourText(hour), stored === undefined ? 'none' : String(stored), now, difference]
}

/** The change relative to the stored value, in percent; the bare difference where that is 0. */
function differenceText(stored: number, changed: number): string {
  const difference = changed - stored
  if (stored === 0) return difference > 0 ? `+${difference}` : String(difference)
  const percent = (difference / Math.abs(stored)) * 100
  return `${percent > 0 ? '+' : ''}${Number(percent.toPrecision(3))} %`
}

function diffJson({ collector, hours, equal, changes, unread }: CollectorDiff) {
  return {
    collector,
    hours: hours.map(hourText),
    equal,
    changes: changes.map(change => ({ ...change, hour: hourText(change.hour) })),
    ...(unread && { cannotRun: unread.reason }),
  }
}
