import type { AppContext } from '../app/context.ts'
import { useEgress } from '../app/context.ts'
import type { Config } from '../config/config.ts'
import { loadDespite, type ReadDespite } from '../config/despite.ts'
import { loadChains, loadConfig } from '../config/load.ts'
import { secretsOf } from '../config/secret.ts'
import { systemTime } from '../edge/time.ts'
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

/**
 * As `openContext`, without the entries of the configuration that have mistakes, which are given with it. Without a context
 * where what is left would be another configuration.
 */
export function openContextDespite(file: string): Pick<ReadDespite, 'mistakes'> & { readonly context?: AppContext } {
  const { mistakes, config } = loadDespite(file)
  if (!config) return { mistakes }
  dataInUse = config.data
  const context = contextOf(config, 'silent')
  useEgress(context)
  return { mistakes, context }
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
