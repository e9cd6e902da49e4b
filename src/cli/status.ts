import type { Command } from 'commander'
import { connect, look, openOutbox } from '../app.ts'
import { hourText } from '../model/hour.ts'
import { statusJson } from '../status/json.ts'
import type { CellState, Snapshot } from '../status/snapshot.ts'
import { exitCodes } from './exit.ts'
import { type ConfigOption, configuredCommand, type JsonOption, setUp } from './setting.ts'
import { print, printJson, printTable } from './terminal.ts'

/** `status`: what is true now, from the outbox, whether the daemon runs or not. Ends with 1 when something is late. */
export function statusCommand(ended: (code: number) => void): Command {
  return configuredCommand('status')
    .description('what is true now: hours, backlog, last verdicts')
    .option('--json', 'print JSON, as /status.json')
    .action(async ({ config, json }: ConfigOption & JsonOption) => {
      const surroundings = setUp(config)
      await using stack = new AsyncDisposableStack()
      const outbox = openOutbox(surroundings, stack)
      const connection = await connect(surroundings, stack)
      // Nobody is catching up here: what is late is late.
      const snapshot = look(surroundings, outbox, connection, new Map(), 0)
      if (json) printJson(statusJson(snapshot))
      else printStatus(snapshot)
      if (!snapshot.ready.ok) ended(exitCodes.incomplete)
    })
}

/** One character an hour, as in the legend below the grid. */
const mark: Record<CellState, string> = {
  unexpected: '·',
  due: 'o',
  collected: '+',
  delivered: '#',
  gap: '-',
  dead: 'x',
  held: '!',
}

function printStatus({ ready, service, balance, hours, protocols, warnings }: Snapshot): void {
  print(ready.ok ? 'ready: nothing is late' : 'NOT READY')
  for (const reason of ready.reasons) print(`  ${reason}`)
  print('')
  const last = service.lastPush
    ? `, last push ${new Date(service.lastPush.atMs).toISOString()}: ${service.lastPush.verdict}`
    : ''
  print(`service ${service.host}${last}`)
  if (service.waiting !== undefined) print(`  waiting: ${service.waiting}`)
  const { queued, delivered, dead, held, due } = balance
  print(`metrics ${queued} queued = ${delivered} delivered + ${dead} dead + ${held} held + ${due} due`)
  print('')
  printGrid(hours)
  const rows = protocols.flatMap(({ metrics }) =>
    metrics.map(({ id, value, unit, hour }) => [
      id,
      value === undefined ? '' : String(value),
      unit ?? '',
      hour === undefined ? '' : hourText(hour),
    ]),
  )
  if (rows.length > 0) print('')
  if (rows.length > 0) printTable(['metric', 'last value', 'unit', 'hour'], rows, ['last value'])
  if (warnings.length > 0) print('')
  for (const { text, count, metricId } of warnings) print(`warning ${count}× ${metricId ? `${metricId}: ` : ''}${text}`)
}

function printGrid({ hours, rows }: Snapshot['hours']): void {
  const [first] = hours
  print(`last ${hours.length} hours, from ${first === undefined ? '' : hourText(first)}`)
  printTable(
    ['collector', 'hours'],
    rows.map(({ collector, cells }) => [collector, cells.map(({ state }) => mark[state]).join('')]),
  )
  print(
    Object.entries(mark)
      .map(([state, character]) => `${character} ${state}`)
      .join('  '),
  )
}
