import { statSync } from 'node:fs'
import type { AppContext } from '../../app/context.ts'
import { cautionsOf } from '../../config/cautions.ts'
import { configFiles } from '../../config/include.ts'
import { placeText, shortest } from '../../config/mistakes.ts'
import { jsonOf } from '../../model/json.ts'
import type { StatusJson } from '../../status/json.ts'
import { checkCollectors, mistakesOf } from '../check-collectors.ts'
import { asTyped, type ConfigOption } from '../configured-command.ts'
import { daemonAnswer } from '../daemon-answer.ts'
import { daemonSentence } from '../daemon-role.ts'
import { counted } from '../terminal.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

/** The configuration's collectors and secrets, as `check` finds them. */
export async function configFindings(context: AppContext): Promise<readonly Finding[]> {
  const checked = await checkCollectors(context)
  const mistakes = mistakesOf(checked).map(({ place, message, fix }) =>
    failed('configuration', `${placeText(place)}: ${message}`, fix),
  )
  const cautions = cautionsOf(context.config, [...checked.prices, ...checked.usable]).map(({ place, message, fix }) =>
    warning('configuration', `${placeText(place)}: ${message}`, fix),
  )
  const count = counted(checked.usable.length, 'collector')
  const whole =
    mistakes.length === 0 ? [ok('configuration', `${shortest(context.config.file)} is in order: ${count}`)] : []
  return [...whole, ...mistakes, ...cautions]
}

/** The daemon of the data folder: whether one runs, on which configuration, and what it says of itself. */
export async function daemonFindings(context: AppContext, options: ConfigOption): Promise<readonly Finding[]> {
  const holder = await daemonSentence(context)
  if (holder === undefined) return [warning('daemon', 'none runs on this outbox', asTyped('run', options))]
  const { config } = context
  try {
    const { body } = await daemonAnswer(config.status, '/status.json')
    const { configuration, ready, reports } = jsonOf(body) as StatusJson
    return [
      ...forceFindings(context, configuration),
      ...readinessFindings(holder, ready),
      ...reportFindings(reports, options),
    ]
  } catch {
    const fix = 'its status.listen may be another than this configuration’s'
    return [
      warning('daemon', `runs (${holder}), and does not answer at ${config.status.host}:${config.status.port}`, fix),
    ]
  }
}

/** Compares the running configuration with the written one. */
function forceFindings({ config }: AppContext, running: StatusJson['configuration']): Finding[] {
  const subject = 'in force'
  if (running.file !== config.file) {
    return [warning(subject, `the daemon runs on ${shortest(running.file)}, not on this configuration`)]
  }
  if (running.refused) {
    const { at, reason } = running.refused
    return [failed(subject, `the daemon refused the configuration of ${at}: ${reason}`, 'mend it; it is read again')]
  }
  const newer = configFiles(config).filter(file => changedMs(file) > Date.parse(running.inForceSince))
  if (newer.length === 0) return [ok(subject, `the daemon runs on this configuration, as of ${running.inForceSince}`)]
  const files = newer.map(file => shortest(file)).join(', ')
  return [warning(subject, `changed since the daemon read it: ${files}`, 'it is read within seconds, or at SIGHUP')]
}

function changedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function readinessFindings(holder: string, { ok: isReady, reasons }: StatusJson['ready']): Finding[] {
  if (isReady) return [ok('daemon', `runs (${holder}), and nothing is late`)]
  return reasons.map(reason => warning('daemon', `is not ready: ${reason}`))
}

/** The receivers of reports, as the running daemon found them. */
function reportFindings(reports: StatusJson['reports'], options: ConfigOption): Finding[] {
  return (reports ?? []).map(({ receiver, accepted, failing }) =>
    failing === undefined
      ? ok(receiver, `has accepted ${counted(accepted, 'report')} since the start`)
      : warning(receiver, `takes no report: ${failing}`, `mend it, then ${asTyped('notify test', options)}`),
  )
}
