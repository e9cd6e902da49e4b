import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { cautionsOf, tooFewHosts } from '../../config/cautions.ts'
import { ConfigError } from '../../config/config.ts'
import { configFiles } from '../../config/include.ts'
import type { PlacedMistake } from '../../config/mistakes.ts'
import { formatMistakes, inOrder } from '../../config/mistakes.ts'
import { systemTime } from '../../edge/time.ts'
import { faultLine } from '../../model/fault.ts'
import { hourAfter, hourAt } from '../../model/hour.ts'
import { metricId } from '../../model/metric.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { WarmProcesses } from '../../runner/daemon/warm-processes.ts'
import { createLog } from '../../telemetry/log.ts'
import {
  checkCollectors,
  checkEach,
  type Foreseen,
  foreseen,
  machineBusy,
  mistakesOf,
  noteForeseen,
  startLoadMsMax,
  type UsableCollector,
} from '../check-collectors.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { openContext } from '../open-context.ts'
import { otherConfiguration } from '../other-configuration.ts'
import { printTable } from '../table.ts'
import { counted, note, print, printJson, redactor } from '../terminal.ts'
import { warmProcesses, whileStarting } from '../warm-processes.ts'

/** `check`: configuration and collectors, offline. Ends with 78 for any mistake, with 1 where the machine is too busy to check. */
export function checkCommand(): Command {
  return configuredCommand('check')
    .description('the configuration and its collectors, offline')
    .option('--json', 'print JSON')
    .action(async ({ config: file, json }: ConfigOption & JsonOption) => {
      using warm = warmProcesses()
      try {
        const context = await setUpWhole(file, warm)
        const checking = checkCollectors(context)
        const opener = whileStarting(() => import('../../app/open-outbox.ts'))
        const check = await checking
        const all = inOrder(mistakesOf(check), configFiles(context.config))
        if (all.length > 0) throw new ConfigError(context.config.file, all)
        const busy = machineBusy(check)
        if (busy) throw busy
        const rows = check.usable.flatMap(metricRows)
        const warnings = await warningsOf(context, check.usable, opener)
        const shared = otherConfiguration(context.config)
        const cautions = [
          ...(shared ? [shared] : []),
          ...tooFewHosts(context.config),
          ...cautionsOf(context.config, [...check.named, ...check.usable]),
        ]
        if (json) printJson({ file: context.config.file, metrics: rows, warnings, cautions: cautions.map(mistakeJson) })
        else printChecked(context.config.file, rows, warnings, cautions)
      } catch (error) {
        if (json && error instanceof ConfigError)
          printJson({ file: resolve(file), mistakes: error.mistakes.map(mistakeJson) })
        throw error
      }
    })
}

/**
 * Reads the configuration. Mistakes of the file are reported together with those of its collectors' options.
 * @throws ConfigError
 */
async function setUpWhole(file: string, warm: WarmProcesses): Promise<AppContext> {
  try {
    return { ...openContext(file), warm }
  } catch (error) {
    if (!(error instanceof ConfigError) || error.drafts.length === 0) throw error
    const edge = { time: systemTime, log: createLog('silent', redactor), redactor, warm }
    const found = mistakesOf(await checkEach(error.drafts, edge, startLoadMsMax))
    const whole = { file: resolve(file), includes: error.includes }
    throw new ConfigError(whole.file, inOrder([...error.mistakes, ...found], configFiles(whole)))
  }
}

function mistakeJson({ place, message, fix }: PlacedMistake) {
  return { ...place, message, fix }
}

interface MetricRow {
  readonly collector: string
  readonly metric: string
  readonly unit: string | undefined
  readonly history: boolean
  readonly isPrivate: boolean
}

function metricRows({ collector, description }: UsableCollector): MetricRow[] {
  return Object.entries(description.metrics).map(([label, { unit, private: isPrivate = false }]) => ({
    collector: collector.id,
    metric: metricId(collector.protocolId, label),
    unit,
    history: description.history,
    isPrivate,
  }))
}

/**
 * Predicted warnings. Units are compared with those of the outbox, if there is one. An unusable one is reported and is
 * not a mistake of the configuration.
 */
async function warningsOf(
  context: AppContext,
  collectors: readonly UsableCollector[],
  opener: Promise<typeof import('../../app/open-outbox.ts')>,
): Promise<Foreseen[]> {
  try {
    const { readExistingOutbox } = await opener
    return await readExistingOutbox(context, outbox => foreseenOf(context, collectors, outbox))
  } catch (error) {
    note(`units are not compared with those sent so far: ${faultLine(error)}`)
    return foreseenOf(context, collectors, undefined)
  }
}

async function foreseenOf(
  context: AppContext,
  collectors: readonly UsableCollector[],
  outbox: Pick<Outbox, 'operators' | 'intake'> | undefined,
): Promise<Foreseen[]> {
  const current = hourAt(context.time.nowMs())
  const metrics = collectors.flatMap(({ collector: { protocolId }, description }) =>
    Object.entries(description.metrics).map(([label, { unit, private: isPrivate = false }]) => {
      const id = metricId(protocolId, label)
      return { id, protocolId, hour: current, ...(unit === undefined ? {} : { unit }), isPrivate }
    }),
  )
  const stored = await outbox?.operators.stored(metrics)
  const next = metrics.map((metric, place) => (stored?.[place] ? { ...metric, hour: hourAfter(current, 1) } : metric))
  const pasts = await outbox?.intake.pasts(next)
  return next.flatMap((metric, place) => foreseen({ ...metric, past: pasts?.[place], units: 'locked' }))
}

function printChecked(
  file: string,
  rows: readonly MetricRow[],
  warnings: readonly Foreseen[],
  cautions: readonly PlacedMistake[],
): void {
  const privateCount = rows.filter(({ isPrivate }) => isPrivate).length
  printTable(
    ['collector', 'metric', 'unit', 'past hours', ...(privateCount > 0 ? ['sent'] : [])],
    rows.map(({ collector, metric, unit, history, isPrivate }) => [
      ...[collector, metric, unit ?? '', history ? 'yes' : 'no'],
      ...(privateCount > 0 ? [isPrivate ? 'no, private' : 'yes'] : []),
    ]),
  )
  noteForeseen(warnings)
  if (cautions.length > 0) note(formatMistakes(cautions.map(one => ({ ...one, message: `warning: ${one.message}` }))))
  print('')
  const but = cautions.length > 0 ? `, but see ${counted(cautions.length, 'warning')} above` : ''
  print(
    `${file}: in order, ${counted(rows.length - privateCount, 'metric')} an hour${privateCount > 0 ? `, and ${privateCount} private` : ''}${but}`,
  )
}
