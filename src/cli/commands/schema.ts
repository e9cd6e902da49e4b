import { existsSync, globSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { openOfflineRunner } from '../../app/open-runner.ts'
import { type CollectorConfig, type Config, ConfigError } from '../../config/config.ts'
import { editorSchema, type JsonSchema, withOptions } from '../../config/explain.ts'
import { loadConfig } from '../../config/load.ts'
import { formatMistakes } from '../../config/mistakes.ts'
import { systemTime } from '../../edge/time.ts'
import { originOf, shippedCollectors } from '../../runner/origin.ts'
import { createLog } from '../../telemetry/log.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { note, printJson, redactor } from '../terminal.ts'

interface SchemaOptions extends ConfigOption {
  readonly included?: boolean
}

/** `schema`: the JSON Schema of the configuration, for editors. A configuration with mistakes is left out. */
export function schemaCommand(): Command {
  return configuredCommand('schema')
    .description('the JSON Schema of the configuration, with the options of shipped collectors and of your own')
    .option('--included', 'of a file that the configuration includes')
    .action(async ({ config, included }: SchemaOptions) => {
      printJson(await fileSchema(included ? 'included' : 'main', readableConfig(config)))
    })
}

/** Name of the schema that `init` writes next to the configuration, which names it for editors. */
export const schemaFile = 'tidegauge.schema.json'

/** The command that brings the schema up to date. */
export const schemaCommandLine = `npx tidegauge schema > ${schemaFile}`

/** Text of the schema; of no configuration, with the options of shipped collectors alone. */
export async function schemaText(config: Config | undefined): Promise<string> {
  return `${JSON.stringify(await fileSchema('main', config), null, 2)}\n`
}

/** Writes the schema again where it lies next to the configuration. With mistakes in that, the command is noted instead. */
export async function refreshSchema(configFile: string): Promise<void> {
  const file = join(dirname(resolve(configFile)), schemaFile)
  if (!existsSync(file)) return
  try {
    writeFileSync(file, await schemaText(loadConfig(configFile)))
    note(`brought up to date: ${schemaFile}`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    note(`the configuration has mistakes; once they are corrected: ${schemaCommandLine}`)
  }
}

/** The kind of file that a schema is of: the configuration, or one that it includes. */
type SchemaKind = 'main' | 'included'

/**
 * The JSON Schema of a configuration's files, with the options of every shipped collector and of those that the
 * configuration uses; the configuration's own file also knows those in `collectors/` and the packages next to it. One that cannot be loaded
 * may have any options, and is left out where nothing uses it.
 *
 * @param config absent where none can be read
 */
async function fileSchema(kind: SchemaKind, config?: Config): Promise<JsonSchema> {
  await using stack = new AsyncDisposableStack()
  const edge = { time: systemTime, log: createLog('silent', redactor), redactor }
  const runner = openOfflineRunner({ ...edge, ...(config && { config }) }, loadMsMax, stack)
  const collectors = [
    ...shippedCollectors().map(use => withoutOptions(use, '/tidegauge.yaml')),
    ...ownCollectors(config),
  ]
  const isUsed = new Set(collectors.map(({ use }) => use))
  const near = kind === 'main' && config ? [...collectorsNextTo(config.file), ...packagesNextTo(config.file)] : []
  const unused = near.filter(({ use }) => !isUsed.has(use))
  const schemas = await Promise.all(
    [...collectors, ...unused].map(async collector => {
      const schema = await runner.optionsSchema(collector).catch(() => (isUsed.has(collector.use) ? {} : undefined))
      return schema === undefined ? [] : [[collector.use, schema] as const]
    }),
  )
  return withOptions(editorSchema(kind), Object.fromEntries(schemas.flat()))
}

/** Time limit for loading one collector. */
const loadMsMax = 60_000

/** Files in `collectors/` next to the configuration, which an entry may be about to use. */
function collectorsNextTo(configFile: string): CollectorConfig[] {
  const folder = join(dirname(resolve(configFile)), 'collectors')
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  const sources = readdirSync(folder, { withFileTypes: true }).filter(
    entry => entry.isFile() && /^[^.].*\.m?[jt]s$/.test(entry.name) && !/\.(test|spec|d)\.m?[jt]s$/.test(entry.name),
  )
  return sources.map(({ name }) => withoutOptions(`./collectors/${name}`, resolve(configFile))).toSorted(byUse)
}

/** Packages with a collector, by their names, in `node_modules` next to the configuration. */
function packagesNextTo(configFile: string): CollectorConfig[] {
  const folder = join(dirname(resolve(configFile)), 'node_modules')
  const names = globSync(['tidegauge-collector-*', '@*/tidegauge-collector-*'], { cwd: folder })
  return names.map(name => withoutOptions(name, resolve(configFile))).toSorted(byUse)
}

const byUse = (one: CollectorConfig, other: CollectorConfig) => (one.use < other.use ? -1 : 1)

function withoutOptions(use: string, file: string): CollectorConfig {
  const place = { file, line: 1, column: 1 }
  return { id: `schema/${use}`, protocolId: 'schema', use, options: {}, place, placeOf: () => place }
}

/** Collectors of one's own, each once: of two files with the same text the first counts. */
function ownCollectors(config: Config | undefined): CollectorConfig[] {
  const all = config?.protocols.flatMap(({ collectors }) => collectors) ?? []
  const own = all.filter(({ use, place }) => originOf({ use, configFile: place.file }).kind !== 'shipped')
  return [...new Map(own.toReversed().map(collector => [collector.use, collector])).values()]
}

/** The configuration; `undefined` when it has mistakes, which are noted: an editor needs its schema all the more. */
export function readableConfig(file: string): Config | undefined {
  try {
    return loadConfig(file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    note(`${formatMistakes(error.mistakes)}\n→ the schema is without the options of its own collectors`)
    return undefined
  }
}
