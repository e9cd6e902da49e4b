import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { Redactor } from '../telemetry/redactor.ts'
import { Player } from './player.ts'
import { parsedRecording, type Recording } from './recording.ts'
import { replayRunner } from './replay-runner.ts'
import { configured, errorAtCall, fullHour, valuesOf } from './trial.ts'
import type { HourOf, TriedCollector } from './tried-collector.ts'

/** A run to replay. */
export interface ReplayedRun extends TriedCollector {
  /** Default: the hour of the recording. */
  readonly hour?: HourOf
  /** As `record` gave it, or as parsed from its file. */
  readonly recording: unknown
}

/**
 * Runs a collector in a process as the daemon does, on a recording: offline, without the configuration and its secrets.
 *
 * @returns the values by label
 * @throws Error that names what the collector asked for and the recording does not have, also if the collector caught
 * that; or when a label has no value
 * @example
 * ```ts
 * assert.deepEqual(await replay({ ...run, recording }), { Supply: 17_002_751 })
 * ```
 */
export async function replay(run: ReplayedRun): Promise<Record<string, number>> {
  const redactor = new Redactor()
  try {
    const recording = parsedRecording(run.recording)
    const hour = sameHour(run.hour, recording)
    const player = new Player([recording], redactor)
    await using stack = new AsyncDisposableStack()
    const runner = replayRunner({ recording, interceptor: player, options: run.options, redactor })
    stack.defer(() => runner.stop())
    const values = await valuesOf(runner, configured(run), hour).catch(error => {
      demandRecorded(player)
      throw error
    })
    demandRecorded(player)
    return values
  } catch (error) {
    throw errorAtCall(redactor.redact(faultLine(error)), replay)
  }
}

/** @throws Fault `usage` when the recording is of another hour */
function sameHour(asked: HourOf | undefined, recording: Recording): Hour {
  const hour = fullHour(asked ?? recording.hour)
  if (hourText(hour) === recording.hour) return hour
  throw new Fault('usage', `the recording is of ${recording.hour}, not of ${hourText(hour)}`, {
    fix: 'replay that hour, or record this one',
  })
}

/** @throws Fault that lists what was asked for and is not recorded */
function demandRecorded({ missing }: Player): void {
  if (missing.length === 0) return
  const list = missing.map(words => `\n  ${words}`).join('')
  throw new Fault('collector-unrecorded', `the collector reads what is not in the recording:${list}\n`, {
    fix: 'if it should, record the run again: record({ use, configFile, options, hour })',
  })
}
