import { resolve } from 'node:path'
import type { Command } from 'commander'
import { namedService } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { observationOf } from '../../app/observation.ts'
import { readOutbox } from '../../app/open-outbox.ts'
import { statusAddress } from '../../config/addresses.ts'
import { ConfigError } from '../../config/config.ts'
import { type Hour, hourText, parseHour } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import { numberText } from '../../model/number-text.ts'
import { type StatusJson, statusJson } from '../../status/json.ts'
import { observe } from '../../status/observe.ts'
import type { Observed } from '../../status/observed.ts'
import { Reloads } from '../../status/reloads.ts'
import type { CellState, Snapshot } from '../../status/snapshot.ts'
import { type StatusSummary, summarize } from '../../status/summary.ts'
import { asTyped, type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { daemonAnswer } from '../daemon-answer.ts'
import { daemonSentence } from '../daemon-role.ts'
import { exitCodes } from '../exit.ts'
import { printFleet } from '../fleet-table.ts'
import { openContext } from '../open-context.ts'
import { printTable } from '../table.ts'
import { counted, cut, note, print, printJson } from '../terminal.ts'

/** `status`: the present state, from the outbox, whether or not the daemon runs. Ends with 1 when an hour is late. */
export function statusCommand(ended: (code: number) => void): Command {
  return configuredCommand('status')
    .description('what is true now: hours, backlog, last verdicts')
    .option('--json', 'print JSON, as /status.json')
    .action(async ({ config, json }: ConfigOption & JsonOption) => {
      const running = await runningStatus(config)
      // Where the file has mistakes, the daemon runs on what it was before, and that judges.
      const context = running?.configuration.refused ? undefined : readable(config, running)
      if (!context) {
        if (running) printRunning(running, { config, ...(json && { json }) })
        if (!running?.ready.ok) ended(exitCodes.incomplete)
        return
      }
      // This command does not catch up: a late hour is late.
      const daemon = await daemonSentence(context)
      const reloads = daemon === undefined || !running ? undefined : reloadsOf(running)
      const { ready } = await readOutbox(context, async outbox => {
        const observed = observationOf(context, outbox, namedService(context.config), 0, [], reloads)
        return json ? printedJson(observed) : printed(observed, daemon, { config })
      })
      if (!ready.ok) ended(exitCodes.incomplete)
    })
}

function printRunning(running: StatusJson, options: ConfigOption & JsonOption): void {
  if (options.json) printJson(running)
  else printStatus(summaryOf(running), `runs on its configuration of ${running.configuration.inForceSince}`, options)
}

async function printedJson(observed: Observed): Promise<Snapshot> {
  const snapshot = await observe(observed)
  printJson(statusJson(snapshot))
  return snapshot
}

async function printed(observed: Observed, daemon: string | undefined, options: ConfigOption): Promise<StatusSummary> {
  const summary = await summarize(observed)
  printStatus(summary, daemon, options)
  return summary
}

/** Reads the configuration; `undefined` when it has mistakes and a daemon runs on what it was before. @throws ConfigError */
function readable(file: string, running: StatusJson | undefined): AppContext | undefined {
  try {
    return openContext(file)
  } catch (error) {
    if (error instanceof ConfigError && running) return undefined
    if (error instanceof ConfigError) note('A daemon that runs already goes on with the configuration it has.')
    throw error
  }
}

/** The running daemon's own status, as of its configuration; `undefined` without one, and for another program. */
async function runningStatus(file: string): Promise<StatusJson | undefined> {
  try {
    const server = statusAddress(file)
    if (!server) return undefined
    const running = jsonOf((await daemonAnswer(server, '/status.json')).body) as StatusJson
    return running.configuration.file === resolve(file) ? running : undefined
  } catch {
    return undefined
  }
}

/** All that is printed for a person. */
interface ShownStatus extends Pick<StatusSummary, 'ready' | 'balance' | 'hours' | 'fleet'> {
  readonly service: Omit<StatusSummary['service'], 'gates'>
  readonly newest: readonly {
    readonly id: string
    readonly value: number
    readonly unit?: string
    readonly hour: Hour
    readonly state: string
  }[]
  readonly warnings: readonly Pick<
    StatusSummary['warnings'][number],
    'text' | 'count' | 'metricId' | 'isAcknowledged'
  >[]
}

function reloadsOf({ startedAt, configuration }: StatusJson): Reloads {
  const reloads = new Reloads(configuration.file, Date.parse(startedAt))
  reloads.taken(configuration.file, Date.parse(configuration.inForceSince))
  return reloads
}

/** The part of a daemon's status that is shown here. */
function summaryOf(running: StatusJson): ShownStatus {
  const { ready, service, balance, hours, protocols, warnings } = running
  const { lastPush, nextAttempt, gates: _, ...shown } = service
  return {
    ready,
    balance,
    warnings,
    service: {
      ...shown,
      ...(lastPush && { lastPush: { atMs: Date.parse(lastPush.at), verdict: lastPush.verdict } }),
      ...(nextAttempt !== undefined && { nextAttemptMs: Date.parse(nextAttempt) }),
    },
    hours: { hours: hours.hours.map(parseHour), rows: hours.rows },
    newest: protocols.flatMap(({ metrics }) =>
      metrics.flatMap(({ id, value, unit = '', hour, state = '' }) =>
        value === undefined || hour === undefined ? [] : [{ id, value, unit, hour: parseHour(hour), state }],
      ),
    ),
  }
}

/** Headline when nothing is late: without a daemon it will be. */
function headline(isReady: boolean, daemon: string | undefined): string {
  if (!isReady) return 'NOT READY'
  return daemon === undefined ? 'nothing is late yet, and no daemon runs' : 'ready: nothing is late'
}

/** One character for each hour, as in the legend below the grid. */
const mark: Record<CellState, string> = {
  unexpected: '·',
  due: 'o',
  collected: '+',
  delivered: '#',
  gap: '-',
  dead: 'x',
  held: '!',
}

/** Warnings shown; further ones are counted. */
const warningsShown = 10

function printStatus(summary: ShownStatus, daemon: string | undefined, options: ConfigOption): void {
  const { ready, hours, newest } = summary
  print(headline(ready.ok, daemon))
  for (const reason of ready.reasons) print(`  ${reason}`)
  for (const warning of ready.warnings ?? []) print(`  warning: ${warning}`)
  print('')
  printDelivery(summary, daemon, options)
  if (summary.fleet) printFleet(summary.fleet)
  print('')
  printGrid(hours)
  const rows = newest.map(({ id, value, unit, hour, state }) => [
    id,
    numberText(value),
    unit ?? '',
    hourText(hour),
    state,
  ])
  if (rows.length > 0) print('')
  if (rows.length > 0) printTable(['metric', 'last value', 'unit', 'hour', 'state'], rows, ['last value'])
  printWarnings(summary, options)
}

function printDelivery({ service, balance }: ShownStatus, daemon: string | undefined, options: ConfigOption): void {
  const last = service.lastPush
    ? `, last push ${new Date(service.lastPush.atMs).toISOString()}: ${service.lastPush.verdict}`
    : ''
  print(`daemon  ${daemon ?? `none runs on this outbox (${asTyped('run', options)})`}`)
  print(`service ${service.host}${last}`)
  if (service.waiting !== undefined) print(`  waiting: ${service.waiting}`)
  if (service.nextAttemptMs !== undefined) print(`  next attempt ${new Date(service.nextAttemptMs).toISOString()}`)
  if (service.skewMs !== undefined) print(`clock   ${skewWords(service.skewMs)}`)
  const { enqueued, delivered, dead, held, due, dropped } = balance
  print(`metrics ${enqueued} enqueued = ${delivered} delivered + ${dead} dead + ${held} held + ${due} due`)
  if (dead > 0) print(`  ${dead} dead: ${asTyped('dead ls', options)}`)
  if (held > 0) print(`  ${held} held: ${asTyped('held ls', options)}`)
  if (dropped > 0) print(`  ${dropped} dropped, not counted above`)
}

/** Clock skew in words. The service's `Date` has whole seconds, so less than one counts as none. */
function skewWords(skewMs: number): string {
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  if (seconds <= 1) return 'as the service’s'
  return `${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the service’s`
}

function printWarnings({ warnings }: ShownStatus, options: ConfigOption): void {
  const news = warnings.filter(({ isAcknowledged }) => !isAcknowledged)
  const silent = warnings.length - news.length
  if (warnings.length > 0) print('')
  for (const { text, count, metricId } of news.slice(0, warningsShown)) {
    print(`warning ${count}× ${metricId ? `${metricId}: ` : ''}${cut(text, 160)}`)
  }
  const more = news.length - warningsShown
  if (more > 0) print(`and ${counted(more, 'warning')} more: ${asTyped('warnings', options)}`)
  else if (news.length > 0) print(`to acknowledge: ${asTyped('warnings ack --all', options)}`)
  if (silent > 0) print(`${counted(silent, 'acknowledged warning')}: ${asTyped('warnings --all', options)}`)
}

function printGrid({ hours, rows }: StatusSummary['hours']): void {
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
