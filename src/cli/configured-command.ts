import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import type { AppContext } from '../app/context.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { secretsOf } from '../config/secret.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { createLog, type LogThreshold } from '../telemetry/log.ts'
import { redactor } from './terminal.ts'

/** Used when neither `--config` nor `TIDEGAUGE_CONFIG` names a file: everything can be tried with no account. */
const embeddedDefaults = fileURLToPath(new URL('../../config/local.yaml', import.meta.url))

/** The file of a configured command. */
export interface ConfigOption {
  readonly config: string
}

let folderInUse: string | undefined

/** The data folder of the configuration this command works on; absent while none was read. */
export function dataFolder(): string | undefined {
  return folderInUse
}

/** A command line to type, as advice, with the configuration file where one is named by hand. */
export function asTyped(words: string, { config }: ConfigOption): string {
  const isDefault = config === defaultFile()
  return `tidegauge ${words}${isDefault ? '' : ` --config ${quoted(config)}`}`
}

/** As a shell takes it for one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Of every command that reads. */
export interface JsonOption {
  readonly json?: boolean
}

/** A command that works on a configuration. */
export function configuredCommand(name: string): Command {
  return new Command(name).option('-c, --config <file>', 'configuration file', defaultFile())
}

function defaultFile(): string {
  return process.env['TIDEGAUGE_CONFIG'] || embeddedDefaults
}

/**
 * Reads the configuration and makes what a command works with. Its secrets are known to the redactor from here on.
 *
 * @param level of the log on stderr; one-shot commands keep quiet and say themselves what is to be said
 * @throws ConfigError
 */
export function openContext(file: string, level: (config: Config) => LogThreshold = () => 'silent'): AppContext {
  const config = loadConfig(file)
  folderInUse = config.data
  redactor.add(secretsOf(config))
  return { config, time: systemTime, log: createLog(level(config), redactor), redactor }
}

/**
 * The collectors a person names: by protocol id, by collector id, or by the collector's own name.
 *
 * @throws Fault `usage` for a name that fits none
 */
export function selectCollectors(config: Config, only: readonly string[] | undefined): readonly CollectorConfig[] {
  const all = config.protocols.flatMap(protocol => protocol.collectors)
  if (!only || only.length === 0) return all
  const fits = ({ id, protocolId }: CollectorConfig, name: string) =>
    name === id || name === protocolId || id === `${protocolId}/${name}`
  const unknown = only.filter(name => !all.some(collector => fits(collector, name)))
  if (unknown.length > 0) {
    throw new Fault('usage', `no protocol or collector is called ${unknown.map(name => `"${name}"`).join(', ')}`, {
      fix: `there are: ${all.map(({ id }) => id).join(', ')}`,
    })
  }
  return all.filter(collector => only.some(name => fits(collector, name)))
}
