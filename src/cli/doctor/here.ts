import type { AppContext } from '../../app/context.ts'
import { readExistingOutbox, readOutbox } from '../../app/open-outbox.ts'
import { cautionsOf, tooFewHosts } from '../../config/cautions.ts'
import { certificateNotes, egressOf } from '../../config/certificates.ts'
import { configFiles } from '../../config/include.ts'
import { type PlacedMistake, placeText, shortest } from '../../config/mistakes.ts'
import { Fault } from '../../model/fault.ts'
import { shownHost } from '../../model/host.ts'
import { diskRoom, type OutboxFileCheck, openToOthers, writingFault } from '../../outbox/data-check.ts'
import { readFleet } from '../../status/fleet.ts'
import type { StatusJson } from '../../status/json.ts'
import type { ReadinessCause } from '../../status/snapshot.ts'
import { checkCollectors, mistakesOf } from '../check-collectors.ts'
import { type DaemonSeen, hasTaken, seenDaemon, silentWords } from '../daemon-answer.ts'
import { type ConfiguredDaemon, configuredDaemon } from '../daemon-role.ts'
import { bytesText, counted } from '../terminal.ts'

/** `failed`: it stops delivery or the next hour. `warning`: it will cost something later, or hides something. */
export type Outcome = 'ok' | 'warning' | 'failed'

/** Result of one question of `doctor`. */
export interface Finding {
  /** The thing asked about: `service`, `key`, a protocol, a chain with an endpoint's host, `disk`. */
  readonly subject: string
  readonly outcome: Outcome
  /** The result, as a sentence without a capital. */
  readonly found: string
  /** Instruction for a person; absent when there is nothing to do. */
  readonly fix?: string
}

/** Something that is as it should be. */
export function ok(subject: string, found: string): Finding {
  return { subject, outcome: 'ok', found }
}

/** Something that a person should know, and what to do about it. */
export function warning(subject: string, found: string, fix?: string): Finding {
  return { subject, outcome: 'warning', found, ...(fix !== undefined && { fix }) }
}

/** Something that stops delivery or the next hour, and what to do about it. */
export function failed(subject: string, found: string, fix?: string): Finding {
  return { subject, outcome: 'failed', found, ...(fix !== undefined && { fix }) }
}

/** Mistakes of the configuration. */
export function mistakeFindings(mistakes: readonly PlacedMistake[]): Finding[] {
  return mistakes.map(({ place, message, fix }) => failed('configuration', `${placeText(place)}: ${message}`, fix))
}

/**
 * The configuration's collectors and secrets, as `check` finds them.
 *
 * @param ofFile mistakes in parts that the context lacks
 */
export async function configFindings(
  context: AppContext,
  ofFile: readonly PlacedMistake[],
): Promise<readonly Finding[]> {
  const check = await checkCollectors(context)
  const mistakes = mistakeFindings([...ofFile, ...mistakesOf(check), ...tooFewHosts(context.config)])
  const cautions = cautionsOf(context.config, [...check.named, ...check.usable]).map(({ place, message, fix }) =>
    warning('configuration', `${placeText(place)}: ${message}`, fix),
  )
  const count = counted(check.usable.length, 'collector')
  const whole =
    mistakes.length === 0 ? [ok('configuration', `${shortest(context.config.file)} is in order: ${count}`)] : []
  return [...whole, ...mistakes, ...cautions]
}

/** Findings about the way out of this machine: the proxy and what cannot be checked behind it, certificates, headers for the service. */
export function egressFindings({ config, time }: AppContext): Finding[] {
  const { service } = config
  const names = service.kind === 'remote' ? Object.keys(service.headers?.headers ?? {}) : []
  return [
    ...proxyFindings(config),
    ...certificateNotes(config, time.nowMs()).map(({ place: _, ...finding }) => finding),
    ...(names.length > 0 ? [ok('headers', `the service is sent ${names.join(', ')}`)] : []),
  ]
}

function proxyFindings(config: AppContext['config']): Finding[] {
  if (!config.proxy) {
    const set = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].find(name => process.env[name])
    return set ? [ok('proxy', `${set} is set here and not used; proxy: { env: ${set} } would use it`)] : []
  }
  try {
    const { proxy = '', except } = egressOf({ proxy: config.proxy })
    const used = `${shownHost(new URL(proxy))} is used for all but ${['this machine', ...except].join(', ')}`
    const unchecked = 'whether a redirect of a source leads into a private network is for the proxy to check'
    return [ok('proxy', `${used}; ${unchecked}`)]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [failed('proxy', error.message, error.fix)]
  }
}

/**
 * The daemon of the data folder: whether one runs, on which configuration, and what it says of itself.
 *
 * @param writeFindings findings about the configuration as it is written now
 */
export async function daemonFindings(
  context: AppContext,
  writeFindings: Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const { config, time } = context
  const daemonSeen = await seenDaemon(config.status)
  const daemon = await daemonOrFault(context, daemonSeen)
  if (daemon instanceof Fault) return [failed('daemon', `cannot be looked for: ${daemon.message}`, daemon.fix)]
  const { holder, absence } = daemon
  if (absence) {
    return absence.isNamed
      ? [failed('daemon', absence.sentence, 'tidegauge run')]
      : [warning('daemon', absence.sentence, 'if this machine is to have one: tidegauge run')]
  }
  const address = `${config.status.host}:${config.status.port}`
  if (daemonSeen.kind === 'starting') return [startFinding(daemonSeen.since, time.nowMs())]
  if (holder === undefined) {
    if (daemonSeen.kind === 'stalled')
      return [failed('daemon', `one answers at ${address}, and cannot work: ${daemonSeen.reason}`)]
    return [warning('daemon', 'none runs on this outbox', 'tidegauge run')]
  }
  if (daemonSeen.kind === 'silent') return [warning('daemon', `runs (${holder}), ${silentWords}`)]
  if (daemonSeen.kind !== 'at-work') {
    const fix = 'its status.listen may be another than this configuration’s'
    return [warning('daemon', `runs (${holder}), and does not answer at ${address}`, fix)]
  }
  const { configuration, ready, reports } = daemonSeen.status
  return [
    ...forceFindings(context, configuration, await writeFindings),
    ...readinessFindings(holder, ready),
    ...reportFindings(reports),
  ]
}

async function daemonOrFault(context: AppContext, daemonSeen: DaemonSeen): Promise<ConfiguredDaemon | Fault> {
  try {
    return await configuredDaemon(context, daemonSeen)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/** Time from which a start is a trouble, in milliseconds. */
const startMsMax = 60_000

function startFinding(since: string, nowMs: number): Finding {
  if (nowMs - Date.parse(since) < startMsMax) return ok('daemon', `is starting, since ${since}`)
  return failed('daemon', `has been starting since ${since}`, 'its log says what it has loaded')
}

function forceFindings(
  { config }: AppContext,
  runningConfiguration: StatusJson['configuration'],
  writeFindings: readonly Finding[],
): Finding[] {
  const subject = 'in force'
  if (runningConfiguration.file !== config.file) {
    return [warning(subject, `the daemon runs on ${shortest(runningConfiguration.file)}, not on this configuration`)]
  }
  if (runningConfiguration.refused) {
    const { at: refusalTime, reason } = runningConfiguration.refused
    const isSaid = writeFindings.some(({ outcome }) => outcome === 'failed')
    const why = isSaid ? 'see configuration above' : reason
    const found = `the daemon refused the configuration of ${refusalTime}: ${why}`
    return [isSaid ? warning(subject, found) : failed(subject, found, 'mend it; it is read again')]
  }
  if (hasTaken(runningConfiguration, config)) {
    return [ok(subject, `the daemon runs on this configuration, as of ${runningConfiguration.inForceSince}`)]
  }
  const files = configFiles(config).map(file => shortest(file))
  const said = `saved since the daemon read the configuration of ${runningConfiguration.inForceSince}: ${files.join(' or ')}`
  return [warning(subject, said, 'it is read within seconds, or at SIGHUP')]
}

/** Causes of a red readiness that have lines of their own. */
const causesElsewhere: ReadonlySet<ReadinessCause | undefined> = new Set(['config-refused', 'fleet-stuck'] as const)

function readinessFindings(holder: string, { reasons, causes = [] }: StatusJson['ready']): Finding[] {
  const others = reasons.filter((_, place) => !causesElsewhere.has(causes[place]))
  if (others.length === 0) return [ok('daemon', `runs (${holder}), and nothing is late`)]
  return others.map(reason => warning('daemon', `is not ready: ${reason}`))
}

/** The receivers of reports, as the running daemon found them. */
function reportFindings(reports: StatusJson['reports']): Finding[] {
  return (reports ?? []).map(({ receiver, accepted, failing: failureReason }) =>
    failureReason === undefined
      ? ok(receiver, `has accepted ${counted(accepted, 'report')} since the start`)
      : warning(receiver, `takes no report: ${failureReason}`, 'mend it, then tidegauge notify test'),
  )
}

/** Free room from which nothing needs to be said, as a multiple of the least. */
const roomAdvised = 8

/**
 * The data folder: whether it can be written, its room, who else may read it, and whether the outbox is undamaged; or the
 * database: whether it can be reached, read and written.
 */
export async function dataFindings(
  context: AppContext,
  outbox: Promise<OutboxFileCheck | undefined>,
): Promise<readonly Finding[]> {
  const { data } = context.config
  if (data.kind === 'postgres') return databaseFindings(context)
  const { folder } = data
  const fault = writingFault(folder)
  const diskFinding = fault ? failed('disk', fault.message, fault.fix) : roomFinding(folder)
  const fileCheck = await outbox
  const isSound = fileCheck !== undefined && fileCheck.damage === undefined && fileCheck.hidden === undefined
  const readFailure = isSound ? await unreadFinding(context) : undefined
  return [diskFinding, ...(fault ? [] : [modeFinding(folder)]), readFailure ?? outboxFinding(fileCheck, diskFinding)]
}

/** Why no command can read an outbox whose pages are sound: another version, or program, has written it. */
async function unreadFinding(context: AppContext): Promise<Finding | undefined> {
  try {
    await readExistingOutbox(context, async outbox => outbox?.operators.backlog())
    return undefined
  } catch (error) {
    if (error instanceof Fault) return failed('outbox', error.message, error.fix)
    const fix = 'stop the daemon, move it away, and restore a backup'
    return failed('outbox', `cannot be read: ${error instanceof Error ? error.message : String(error)}`, fix)
  }
}

async function databaseFindings(context: AppContext): Promise<readonly Finding[]> {
  try {
    const { config, time } = context
    const seen = await seenDaemon(config.status)
    const daemonTroubles = seen.kind === 'at-work' ? seen.status.fleet?.troubles : undefined
    const [{ balance }, fleet] = await readOutbox(context, async outbox => {
      outbox.health.requireRoom()
      const fleetState = readFleet({ config, outbox, nowMs: time.nowMs(), daemonTroubles })
      return Promise.all([outbox.operators.backlog(), fleetState])
    })
    const { troubles = [], differences = [] } = fleet ?? {}
    return [
      ok('database', `can be reached, and holds ${counted(balance.enqueued, 'metric')}`),
      ...troubles.map(trouble => failed('fleet', trouble)),
      ...differences.map(difference => warning('fleet', difference)),
    ]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [failed('database', error.message, error.fix)]
  }
}

function roomFinding(folder: string): Finding {
  const room = diskRoom(folder)
  const where = shortest(folder)
  if (!room) return ok('disk', `${where} can be written`)
  const roomText = `${bytesText(room.free)} are free for ${where}`
  if (!room.isEnough) {
    return failed('disk', `${roomText}; nothing is collected below ${bytesText(room.least)}`, 'free some room')
  }
  if (room.free < roomAdvised * room.least) return warning('disk', roomText, 'free some room before it runs out')
  return ok('disk', roomText)
}

function modeFinding(folder: string): Finding {
  const openPaths = openToOthers(folder)
  if (openPaths.length === 0) return ok('files', 'no other user may read the data folder')
  return warning(
    'files',
    `other users may read ${openPaths.map(path => shortest(path)).join(', ')}`,
    `chmod 700 ${shortest(folder)}`,
  )
}

function outboxFinding(checked: OutboxFileCheck | undefined, disk: Finding): Finding {
  if (!checked) return ok('outbox', 'is not there yet: the daemon makes it')
  const { bytes, damage, hidden: accessFailure } = checked
  if (accessFailure !== undefined) {
    const fix = disk.outcome === 'failed' ? 'see disk above' : 'run doctor as the user that the daemon runs as'
    return warning('outbox', `cannot be looked at: ${accessFailure}`, fix)
  }
  if (damage === undefined) return ok('outbox', `all of its ${bytesText(bytes)} are sound`)
  const fix = 'stop the daemon and start it again: it saves all that can be read, and keeps the damaged file'
  return failed('outbox', `is damaged: ${damage}`, fix)
}

/** A secret's value; `undefined` for one that cannot be used: that is a finding of the configuration. */
export function usable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
