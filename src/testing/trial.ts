import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CollectorConfig } from '../config/config.ts'
import { pathText } from '../config/mistakes.ts'
import { Fault, faultFromRecord, faultLine } from '../model/fault.ts'
import { type Hour, hourAt, hourText, parseHour } from '../model/hour.ts'
import type { Runner, RunOutcome } from '../runner/runner.ts'
import type { HourOf, TriedCollector } from './tried-collector.ts'

/** The full hour. @throws Fault `usage` for another text, and for an instant within an hour */
export function fullHour(hour: HourOf): Hour {
  if (typeof hour === 'string') return parseHour(hour)
  const full = hourAt(hour)
  if (full === hour) return full
  throw new Fault('usage', `${hour} is not a full hour`, { fix: `the hour before it is ${hourText(full)}` })
}

/** A path or a file URL as an absolute path. */
export function absolutePath(file: string | URL): string {
  return file instanceof URL || file.startsWith('file:') ? fileURLToPath(file) : resolve(file)
}

/** The collector as the runner takes it. */
export function configured({ use, configFile = 'tidegauge.yaml', options = {} }: TriedCollector): CollectorConfig {
  const place = { file: absolutePath(configFile), line: 1, column: 1 }
  const path = use.startsWith('file:') ? fileURLToPath(use) : use
  return { id: `test/${path}`, protocolId: 'test', use: path, options, place, placeOf: () => place }
}

/** The values of one hour. @throws Error that names each label without a value, and why */
export async function valuesOf(
  runner: Runner,
  collector: CollectorConfig,
  hour: Hour,
): Promise<Record<string, number>> {
  await demandUsable(runner, collector)
  const outcome = await runner.collect(collector, hour)
  const failed = Object.entries(outcome.failures)
  if (failed.length === 0) return { ...outcome.readings }
  throw new Error(`${collector.use} has no value as of ${hourText(hour)}:\n${failuresText(outcome)}`)
}

/** The failures of a run, one a line. */
export function failuresText({ failures }: RunOutcome): string {
  return Object.entries(failures)
    .map(([label, fault]) => `  ${label === '' ? 'all' : label}: ${faultLine(faultFromRecord(fault))}`)
    .join('\n')
}

/** @throws Error with the mistakes in the options; Fault `collector-unusable` */
async function demandUsable(runner: Runner, collector: CollectorConfig): Promise<void> {
  const description = await runner.describe(collector)
  if (description.kind === 'usable') return
  const lines = description.mistakes.map(({ path, message }) => `  ${pathText(['options', ...path])}: ${message}`)
  throw new Error(`the options of ${collector.use} are mistaken:\n${lines.join('\n')}`)
}

/**
 * The error of a call that an author made: its stack begins at that call. Node prints the line of an error that is not caught,
 * and the whole program is one line.
 *
 * @param call the function that the author called
 */
export function errorAtCall(message: string, call: (run: never) => unknown): Error {
  const error = new Error(message)
  Error.captureStackTrace(error, call)
  return error
}
