import type { AppContext } from '../app/context.ts'
import { useEgress } from '../app/context.ts'
import { openChains } from '../app/open-chains.ts'
import { type Config, ConfigError, collectorsByName } from '../config/config.ts'
import { configFolders, hiddenPaths } from '../config/include.ts'
import { loadConfig } from '../config/load.ts'
import { formatMistakes } from '../config/mistakes.ts'
import { secretsOf } from '../config/secret.ts'
import { systemTime } from '../edge/time.ts'
import { faultLine } from '../model/fault.ts'
import { ProcessRunner } from '../runner/daemon/process-runner.ts'
import { createLog } from '../telemetry/log.ts'
import { Redactor } from '../telemetry/redactor.ts'
import { ReadRecorder } from './read-recorder.ts'
import type { Recording } from './recording.ts'
import { SecretsRead } from './stand-in.ts'
import { absolutePath, configured, errorAtCall, fullHour, valuesOf } from './trial.ts'
import type { HourOf, TriedCollector } from './tried-collector.ts'

/** A run to record. */
export interface RecordedRun extends TriedCollector {
  /** Its chain must have a block past it. */
  readonly hour: HourOf
}

/**
 * Runs a collector for an hour as the daemon does, and gives all that it read, from chains, by HTTP and of prices, as a
 * JSON value for a file next to the test. It holds no secret: values of headers, secrets of the options and the
 * configuration, and what a query or a body names as a key are redacted, also where an answer repeats them. Files
 * and databases that a collector reads are not in it.
 *
 * @throws Error when the configuration or the options are mistaken, or when a label has no value
 * @example
 * ```ts
 * const run = { use: './supply.ts', configFile: 'tidegauge.yaml', options: { chain: 'local', token } }
 * writeFileSync('supply.recording.json', JSON.stringify(await record({ ...run, hour: '2026-11-20T13:00:00Z' }), null, 2))
 * ```
 */
export async function record(run: RecordedRun): Promise<Recording> {
  const redactor = new Redactor()
  try {
    return await recorded(run, redactor)
  } catch (error) {
    if (error instanceof ConfigError) throw errorAtCall(redactor.redact(formatMistakes(error.mistakes)), record)
    throw errorAtCall(redactor.redact(faultLine(error)), record)
  }
}

async function recorded({ hour: asked, ...tried }: RecordedRun, redactor: Redactor): Promise<Recording> {
  const hour = fullHour(asked)
  const collector = configured(tried)
  const config = loadConfig(absolutePath(collector.place.file))
  const context: AppContext = { config, redactor, time: systemTime, log: createLog('silent', redactor) }
  useEgress(context)
  redactor.add(secretsOf(config))
  await using stack = new AsyncDisposableStack()
  const chains = openChains(context, stack)
  const secrets = new SecretsRead(redactor)
  const recorder = new ReadRecorder(hour, chains, redactor)
  const runner = new ProcessRunner({
    ...settingsOf(config),
    chains,
    redactor,
    time: systemTime,
    log: () => {},
    interceptor: recorder,
    isGuarded: true,
    readSecret: secrets.read,
  })
  stack.defer(() => runner.stop())
  await valuesOf(runner, collector, hour)
  return recorder.recording(secrets.addresses)
}

function settingsOf(config: Config) {
  return {
    deadlineMs: config.collect.deadlineMs,
    prices: collectorsByName(config.prices),
    lists: collectorsByName(config.lists),
    hidden: hiddenPaths(config),
    configFolders: configFolders(config),
  }
}
