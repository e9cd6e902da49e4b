import { resolve } from 'node:path'
import type { Command } from 'commander'
import { namedService } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { readOutbox } from '../../app/open-outbox.ts'
import { presentState } from '../../app/present-state.ts'
import { statusAddress } from '../../config/addresses.ts'
import { ConfigError } from '../../config/config.ts'
import { overdueMs } from '../../model/limits.ts'
import { numberText } from '../../model/number-text.ts'
import type { Reader } from '../../model/waiting.ts'
import { rolesText } from '../../status/fleet.ts'
import { type StatusJson, statusJson } from '../../status/json.ts'
import { observe } from '../../status/observe.ts'
import { failingSentence, pushText, strandedSentence } from '../../status/sentences.ts'
import type { CellState } from '../../status/snapshot.ts'
import { Reloads } from '../../status/sources.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { type DaemonSeen, seenDaemon, silentWords, startingSentence, untakenSentence } from '../daemon-answer.ts'
import { configuredDaemon } from '../daemon-role.ts'
import { endIncomplete } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { printTable } from '../table.ts'
import { counted, cut, note, print, printJson } from '../terminal.ts'

/** `status`: the present state, from the outbox, whether or not the daemon runs. Ends with 1 when an hour is late. */
export function statusCommand(): Command {
  return configuredCommand('status')
    .description('what is true now: hours, backlog, last verdicts')
    .option('--json', 'print JSON, as /status.json')
    .action(async ({ config, json }: ConfigOption & JsonOption) => {
      const daemonSeen = await daemonOf(config)
      const runningStatus =
        daemonSeen.kind === 'at-work' && daemonSeen.status.configuration.file === resolve(config)
          ? daemonSeen.status
          : undefined
      // The configuration in force judges: the file may have mistakes, or be saved and not taken yet.
      const context = runningStatus?.configuration.refused ? undefined : readable(config, runningStatus)
      const untaken = context && untakenSentence(daemonSeen, context.config)
      if (untaken !== undefined) note(untaken)
      if (!context || untaken !== undefined) {
        if (runningStatus) printRunning(runningStatus, json)
        if (!runningStatus?.ready.ok) endIncomplete()
        return
      }
      const { holder, absence } = await configuredDaemon(context, daemonSeen)
      const { daemon, trouble } = daemonState(daemonSeen, holder, context.config.status)
      const reloads = holder !== undefined && runningStatus ? reloadsOf(runningStatus) : undefined
      const outboxStatus = await readOutbox(context, async outbox => {
        const service = namedService(context.config)
        // None catches up where no daemon runs: a late hour is late.
        const startedAtMs = reloads?.startedAtMs ?? 0
        const read = presentState(context, outbox, service, startedAtMs, [], reloads, daemon === undefined)
        const daemonTroubles = runningStatus?.fleet?.troubles
        const observed = { ...read, ...(daemonTroubles && { daemonTroubles }) }
        return statusJson(await observe({ ...observed, isForceUnknown: trouble !== undefined }))
      })
      // The present folder says nothing of a daemon that has no outbox.
      const isJudged = trouble === undefined || daemonSeen.kind === 'silent'
      const reasons = isJudged ? outboxStatus.ready.reasons : []
      const status =
        trouble === undefined ? outboxStatus : { ...outboxStatus, ready: { ok: false, reasons: [trouble, ...reasons] } }
      if (json) printJson(reloads && runningStatus ? withNodesOf(runningStatus, status) : withoutStart(status))
      else printStatus(status, absence?.isNamed ? absence.sentence : daemon, isJudged)
      if (!status.ready.ok) endIncomplete()
    })
}

/** With what the daemon alone knows: its nodes, its reports, the address of its service. */
function withNodesOf({ endpoints, reports, service }: StatusJson, status: StatusJson): StatusJson {
  return { ...status, endpoints, service: { ...status.service, host: service.host }, ...(reports && { reports }) }
}

/** Without instants of a daemon: none is there. */
function withoutStart({ startedAt: _, configuration, ...status }: StatusJson) {
  const { inForceSince: __, ...configured } = configuration
  return { ...status, configuration: configured }
}

function printRunning(runningStatus: StatusJson, json: boolean | undefined): void {
  if (json) printJson(runningStatus)
  else printStatus(runningStatus, `runs on its configuration of ${runningStatus.configuration.inForceSince}`)
}

/** Reads the configuration; `undefined` when it has mistakes and a daemon runs on what it was before. @throws ConfigError */
function readable(file: string, runningStatus: StatusJson | undefined): AppContext | undefined {
  try {
    return openContext(file)
  } catch (error) {
    if (error instanceof ConfigError && runningStatus) return undefined
    if (error instanceof ConfigError) note('A daemon that runs already goes on with the configuration it has.')
    throw error
  }
}

/** The daemon at the status server's address of a file, as far as that can be read. */
async function daemonOf(file: string): Promise<DaemonSeen> {
  const server = statusAddress(file)
  return server ? seenDaemon(server) : { kind: 'none' }
}

/**
 * The daemon as a line of `status`; absent when none runs. `trouble`: a sentence when it cannot be at work.
 *
 * @param holder who has the daemon's role, if anyone does
 */
function daemonState(
  daemonSeen: DaemonSeen,
  holder: string | undefined,
  { host, port }: AppContext['config']['status'],
): { readonly daemon?: string | undefined; readonly trouble?: string } {
  const place = `at ${host}:${port}`
  switch (daemonSeen.kind) {
    case 'starting':
      return { daemon: `is starting, ${place}`, trouble: startingSentence(daemonSeen) }
    case 'stalled':
      if (holder !== undefined) break
      return {
        daemon: `one answers ${place}, without this outbox`,
        trouble: `the daemon cannot work: ${daemonSeen.reason}`,
      }
    case 'silent':
      if (holder === undefined) break
      return { daemon: holder, trouble: `The daemon (${holder}) ${silentWords}. What it has planned is not known.` }
  }
  return { daemon: holder }
}

/** The configuration of a daemon that runs. */
function reloadsOf({ startedAt, configuration }: StatusJson): Reloads {
  const reloads = new Reloads(configuration, Date.parse(startedAt))
  reloads.taken(configuration, Date.parse(configuration.inForceSince))
  return reloads
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

/** @param isJudged whether its reasons are those of its hours and deliveries */
function printStatus(status: StatusJson, daemon: string | undefined, isJudged = true): void {
  const { ready, hours, protocols, fleet } = status
  print(headline(ready.ok, daemon))
  for (const reason of ready.reasons) print(`  ${reason}`)
  for (const warning of ready.warnings ?? []) print(`  warning: ${warning}`)
  const reader = { nowMs: Date.parse(status.now), isUnattended: daemon === undefined }
  for (const sentence of failingSentences(status, reader, isJudged)) print(`  ${sentence}`)
  print('')
  printDelivery(status, daemon, isJudged)
  if (fleet) printFleet(fleet)
  print('')
  printGrid(hours)
  const rows = protocols.flatMap(({ metrics }) =>
    metrics.flatMap(({ id, value, unit = '', hour, state = '' }) =>
      value === undefined || hour === undefined ? [] : [[id, numberText(value), unit, hour, state]],
    ),
  )
  if (rows.length > 0) print('')
  if (rows.length > 0) printTable(['metric', 'last value', 'unit', 'hour', 'state'], rows, ['last value'])
  printWarnings(status)
}

/** Collectors whose newest hour has failed so far, where no reason above says why: that has the oldest overdue hour. */
function failingSentences({ hours }: StatusJson, reader: Reader, isJudged: boolean): string[] {
  return hours.rows.flatMap(({ collector, cells }) => {
    const failures = cells.flatMap(({ state, fault }, place) => {
      return state === 'due' && fault ? [{ fault, hour: hours.hours[place] ?? '' }] : []
    })
    const [oldestFailure, newestFailure] = [failures.at(0), failures.at(-1)]
    if (!oldestFailure || !newestFailure) return []
    const isOverdue = Date.parse(oldestFailure.hour) <= reader.nowMs - overdueMs
    if (isJudged && isOverdue && oldestFailure.fault.message === newestFailure.fault.message) return []
    return [failingSentence(collector, newestFailure.hour, newestFailure.fault, reader)]
  })
}

function printDelivery({ service, balance, backlog }: StatusJson, daemon: string | undefined, isJudged: boolean): void {
  const { lastPush, nextAttempt, gates } = service
  const removed = backlog.byProtocol.filter(({ isRemoved }) => isRemoved)
  const stranded = strandedSentence([], new Map(removed.map(counts => [counts.protocolId, counts])))
  // Each sentence once: where metrics are late, a reason above says why they wait, and when the next attempt is.
  const waitSentence = isJudged && backlog.late ? stranded : service.waiting
  const last = lastPush ? `, last push ${lastPush.at}: ${pushText(lastPush)}` : ''
  print(`daemon  ${daemon ?? 'none runs on this outbox (tidegauge run)'}`)
  print(`service ${service.host}${last}`)
  if (waitSentence !== undefined) print(`  waiting: ${waitSentence}`)
  if (gates.every(gate => gate.waiting === undefined) && nextAttempt !== undefined && daemon !== undefined)
    print(`  next attempt ${nextAttempt}`)
  if (service.skewMs !== undefined) print(`clock   ${skewWords(service.skewMs)}`)
  const sumText = `${balance.delivered} delivered + ${balance.dead} dead + ${balance.held} held + ${balance.due} due`
  print(`metrics ${balance.enqueued} enqueued = ${sumText}`)
  if (balance.dead > 0) print(`  ${balance.dead} dead: tidegauge dead ls`)
  if (balance.held > 0) print(`  ${balance.held} held: tidegauge held ls`)
  if (balance.dropped > 0) print(`  ${balance.dropped} dropped, not counted above`)
}

/** Clock skew in words. The service's `Date` has whole seconds, so less than one counts as none. */
function skewWords(skewMs: number): string {
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  if (seconds <= 1) return 'as the service’s'
  return `${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the service’s`
}

function printWarnings({ warnings }: StatusJson): void {
  const news = warnings.filter(({ isAcknowledged }) => !isAcknowledged)
  const acknowledgedCount = warnings.length - news.length
  if (warnings.length > 0) print('')
  for (const { text, count, metricId } of news.slice(0, warningsShown)) {
    print(`warning ${count}× ${metricId ? `${metricId}: ` : ''}${cut(text, 160)}`)
  }
  const more = news.length - warningsShown
  if (more > 0) print(`and ${counted(more, 'warning')} more: tidegauge warnings`)
  else if (news.length > 0) print('to acknowledge: tidegauge warnings ack --all')
  if (acknowledgedCount > 0) print(`${counted(acknowledgedCount, 'acknowledged warning')}: tidegauge warnings --all`)
}

function printGrid({ hours, rows }: StatusJson['hours']): void {
  const [first] = hours
  print(`last ${hours.length} hours, from ${first ?? ''}`)
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

/** Prints the daemons of a fleet, and what a person should see to. */
function printFleet({ daemons, idleLanes, differences }: NonNullable<StatusJson['fleet']>): void {
  print('')
  if (daemons.length === 0) print('fleet: no daemon is there')
  else {
    printTable(
      ['daemon', 'version', 'configuration', 'last seen', 'lanes', 'roles'],
      daemons.map(({ name, version, configuration, lanes, seenAt, isAway, ...roles }) => [
        name,
        version,
        configuration,
        `${seenAt}${isAway ? ' (away)' : ''}`,
        lanes.join(' '),
        rolesText(roles),
      ]),
    )
  }
  for (const line of [...idleLanes.map(({ reason }) => reason), ...differences]) print(`  ${line}`)
}
