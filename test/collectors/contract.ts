import type { Chains } from '../../src/chain/reads.ts'
import type { CollectorConfig } from '../../src/config/config.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAt } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { ReadInterceptor } from '../../src/runner/daemon/read-interceptor.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { contractTests } from '../../src/testing/contract.ts'
import { ReadRecorder } from '../../src/testing/read-recorder.ts'
import { runningTests } from '../../src/testing/test-runner.ts'
import { configured } from '../../src/testing/trial.ts'

/** A collector on sources that answer. Functions are called when a test runs, so they may use what `beforeAll` made. */
export interface LiveContract {
  /** As in the configuration: a name in `collectors/`, a path from `configFile`, or a package. */
  readonly use: string
  /** The file that a path in `use` counts from; it need not exist. */
  readonly configFile?: string
  /** Options under which it gives every value for every one of the hours. */
  options(): Readonly<Record<string, unknown>>
  /** Hours it has values for. */
  hours(): readonly Hour[]
  /** The chains it reads, by their name in the options; absent when it reads none. */
  chains?(): Chains
  /** For what no interceptor sees: options under which its source does not exist or answers something else. */
  broken?(): readonly Readonly<Record<string, unknown>>[]
  /** For what no interceptor sees: options under which its source never answers. */
  silent?(): Readonly<Record<string, unknown>>
}

/** The contract of `tidegauge/testing`, on real sources in place of recordings. */
export function collectorContract(name: string, parts: LiveContract): void {
  const { use, configFile = '/tidegauge.yaml', hours, chains = () => ({}), broken, silent } = parts
  const collector = (options: unknown = parts.options()): CollectorConfig => configured({ use, configFile, options })
  const openOn = (interceptor: ReadInterceptor, deadlineMs = 60_000) =>
    new ProcessRunner({ chains: chains(), deadlineMs, time: systemTime, log: () => {}, interceptor })
  const open = () => {
    const recorder = new ReadRecorder(hourAt(0), chains(), new Redactor())
    return { runner: openOn(recorder), hasRead: () => recorder.hasRead }
  }
  const own = { ...(broken && { broken }), ...(silent && { silent }) }
  contractTests(name, { collector, hours, open, openOn, ...own }, runningTests())
}
