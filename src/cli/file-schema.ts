import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { openOfflineRunner } from '../app/open-runner.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import { editorSchema, type JsonSchema, withOptions } from '../config/explain.ts'
import { systemTime } from '../edge/time.ts'
import { originOf, shippedCollectors } from '../runner/origin.ts'
import { createLog } from '../telemetry/log.ts'
import { redactor } from './terminal.ts'

/** The kind of file that a schema is of: the configuration, or one that it includes. */
export type SchemaKind = 'main' | 'included'

/**
 * The JSON Schema of a configuration's files, with the options of every shipped collector and of those that the
 * configuration uses; the configuration's own file also knows those in `collectors/` next to it. One that cannot be loaded
 * may have any options, and is left out where nothing uses it.
 *
 * @param config absent where none can be read
 */
export async function fileSchema(kind: SchemaKind, config?: Config): Promise<JsonSchema> {
  await using stack = new AsyncDisposableStack()
  const edge = { time: systemTime, log: createLog('silent', redactor), redactor }
  const runner = openOfflineRunner({ ...edge, ...(config && { config }) }, loadMsMax, stack)
  const used = [...shippedCollectors().map(shipped), ...ownCollectors(config)]
  const isUsed = new Set(used.map(({ use }) => use))
  const unused = kind === 'main' && config ? collectorsNextTo(config.file).filter(({ use }) => !isUsed.has(use)) : []
  const schemas = await Promise.all(
    [...used, ...unused].map(async collector => {
      const schema = await runner.optionsSchema(collector).catch(() => (isUsed.has(collector.use) ? {} : undefined))
      return schema === undefined ? [] : [[collector.use, schema] as const]
    }),
  )
  return withOptions(editorSchema(kind), Object.fromEntries(schemas.flat()))
}

/** Time limit for loading one collector. */
const loadMsMax = 60_000

function shipped(use: string): CollectorConfig {
  return withoutOptions(use, '/tidegauge.yaml')
}

/** Files in `collectors/` next to the configuration, which an entry may be about to use. */
function collectorsNextTo(configFile: string): CollectorConfig[] {
  const folder = join(dirname(resolve(configFile)), 'collectors')
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  const sources = readdirSync(folder, { withFileTypes: true }).filter(
    entry => entry.isFile() && /^[^.].*\.m?[jt]s$/.test(entry.name) && !/\.(test|spec|d)\.m?[jt]s$/.test(entry.name),
  )
  return sources.map(({ name }) => withoutOptions(`./collectors/${name}`, resolve(configFile))).toSorted(byUse)
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
