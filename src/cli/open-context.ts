import type { AppContext } from '../app/context.ts'
import { useEgress } from '../app/context.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import { loadChains, loadConfig } from '../config/load.ts'
import { didYouMean } from '../config/mistakes.ts'
import { secretsOf } from '../config/secret.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { createLog, type LogThreshold } from '../telemetry/log.ts'
import { redactor } from './terminal.ts'

let dataInUse: Config['data'] | undefined

/** Where the outbox of this command's configuration is; absent while none was read. */
export function dataOfCommand(): Config['data'] | undefined {
  return dataInUse
}

/** As `readContext`; from here on this process connects as the configuration says. */
export function openContext(file: string, level?: (config: Config) => LogThreshold): AppContext {
  const context = readContext(file, level)
  useEgress(context)
  return context
}

/** As `openContext`, of a configuration that need have no more than its chains. */
export function openChainsContext(file: string): AppContext {
  const context = contextOf(loadChains(file), 'silent')
  useEgress(context)
  return context
}

/**
 * Reads the configuration and creates the dependencies of a command. From here on the redactor knows its secrets.
 *
 * @param level of the log on stderr; default: silent, as one-shot commands report themselves
 * @throws ConfigError
 */
export function readContext(file: string, level: (config: Config) => LogThreshold = () => 'silent'): AppContext {
  const config = loadConfig(file)
  dataInUse = config.data
  return contextOf(config, level(config))
}

function contextOf(config: Config, level: LogThreshold): AppContext {
  redactor.add(secretsOf(config))
  return { config, time: systemTime, log: createLog(level, redactor), redactor }
}

/** A context whose log is on stderr at the configured level: the person who runs the command sees that of the collectors. */
export function loud(context: AppContext): AppContext {
  return { ...context, log: createLog(context.config.log.level, context.redactor) }
}

/**
 * The collectors that a person names: by protocol id, by collector id, or by the collector's own name.
 *
 * @throws Fault `usage` for an unknown name
 */
export function selectCollectors(config: Config, only: readonly string[] | undefined): readonly CollectorConfig[] {
  const all = config.protocols.flatMap(protocol => protocol.collectors)
  if (!only || only.length === 0) return all
  const namesOf = ({ id, protocolId }: CollectorConfig) => [id, protocolId, id.slice(protocolId.length + 1)]
  const fits = (collector: CollectorConfig, name: string) => namesOf(collector).includes(name)
  const unknown = only.filter(name => !all.some(collector => fits(collector, name)))
  if (unknown.length > 0) {
    throw new Fault('usage', `no protocol or collector is called ${unknown.map(name => `"${name}"`).join(', ')}`, {
      fix: didYouMean(unknown[0] ?? '', all.flatMap(namesOf), `there are: ${all.map(({ id }) => id).join(', ')}`),
    })
  }
  return all.filter(collector => only.some(name => fits(collector, name)))
}
