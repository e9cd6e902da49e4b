import type { ReadInterceptor } from '../runner/daemon/read-interceptor.ts'
import { Redactor } from '../telemetry/redactor.ts'
import { contractTests } from './contract.ts'
import { Player } from './player.ts'
import { parsedRecording, type Recording } from './recording.ts'
import { replayRunner } from './replay-runner.ts'
import { runningTests, type TestRunner } from './test-runner.ts'
import { configured, fullHour } from './trial.ts'
import type { HourOf, TriedCollector } from './tried-collector.ts'

/** A collector and the recordings of its runs. */
export interface ContractRun extends TriedCollector {
  /** Hours that it has values for, each with a recording. Default: those of the recordings. */
  readonly hours?: readonly HourOf[]
  /** One of `record`, or several, each of another hour. Default: it reads nothing. */
  readonly recording?: unknown
  /** Default: Vitest, Jest or Mocha where they run the file, else `node:test`. */
  readonly tests?: TestRunner
}

/**
 * Declares the tests that any collector passes, on recordings: it declares what it returns, calls an unknown option a
 * mistake, gives the same bytes for the same hour, fails when its source fails, and never makes a value of that.
 *
 * @example
 * ```ts
 * collectorContract('supply', { use: './supply.ts', options, hours: ['2026-11-20T13:00:00Z'], recording })
 * ```
 */
export function collectorContract(name: string, { hours, recording, tests, ...collector }: ContractRun): void {
  const recordings = () => (recording === undefined ? [] : [recording].flat().map(parsedRecording))
  const runHours = () => (hours ?? recordings().map(({ hour }) => hour)).map(fullHour)
  const redactor = new Redactor()
  const openOn = (interceptor: ReadInterceptor, deadlineMs?: number) => {
    const all = joined(recordings())
    const limit = deadlineMs === undefined ? {} : { deadlineMs }
    return replayRunner({ recording: all, interceptor, options: collector.options, redactor, ...limit })
  }
  const parts = {
    collector: (options: unknown = collector.options) => configured({ ...collector, options }),
    hours: runHours,
    openOn,
    open: () => {
      const player = new Player(recordings(), redactor)
      return { runner: openOn(player), hasRead: () => player.hasRead }
    },
  }
  contractTests(name, parts, tests ?? runningTests())
}

/** The parts that runs of all hours share. */
function joined(recordings: readonly Recording[]): Pick<Recording, 'chains' | 'addresses'> {
  return {
    chains: Object.assign({}, ...recordings.map(({ chains }) => chains)),
    addresses: Object.assign({}, ...recordings.map(({ addresses }) => addresses)),
  }
}
