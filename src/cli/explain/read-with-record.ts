import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { runnerOn } from '../../app/open-runner.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { canCollect } from '../../intake/can-collect.ts'
import { asFault, usable } from '../../intake/collect.ts'
import { faultLine } from '../../model/fault.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { createLog } from '../../telemetry/log.ts'
import { ReadRecorder } from '../../testing/read-recorder.ts'
import type { Recording } from '../../testing/recording.ts'

/** Result of reading one label of an hour again, now. */
export interface ReadAgain {
  /** Absent where there was none. */
  readonly value?: number
  /** Why there is no value, as a sentence. */
  readonly failure?: string
  /** All that the collector read, without secrets; absent where a read failed, or nothing was read. */
  readonly reads?: Recording
}

/** Runs a collector for an hour, as the daemon does, and records what it reads. Stores nothing. Never rejects. */
export async function readWithRecord(
  context: AppContext,
  collector: CollectorConfig,
  hour: Hour,
  label: string,
): Promise<ReadAgain> {
  await using stack = new AsyncDisposableStack()
  const logged = { ...context, log: createLog('silent', context.redactor) }
  const chains = openChains(logged, stack)
  const recorder = new ReadRecorder(hour, chains, context.redactor)
  try {
    const runner = runnerOn(chains, logged, stack, recorder)
    const description = usable(collector, await runner.describe(collector))
    if (!canCollect(hour, hourAt(context.time.nowMs()), description)) {
      return { failure: 'its collector can read only “now”' }
    }
    const { readings, failures } = await runner.collect(collector, hour)
    const failure = failures[label]?.message ?? 'the collector does not return it'
    const value = readings[label]
    return { ...(value === undefined ? { failure } : { value }), ...readsOf(recorder) }
  } catch (error) {
    return { failure: faultLine(asFault(error)), ...readsOf(recorder) }
  }
}

function readsOf(recorder: ReadRecorder): Pick<ReadAgain, 'reads'> {
  try {
    return recorder.hasRead ? { reads: recorder.recording({}) } : {}
  } catch {
    return {}
  }
}
