import type { AppContext } from '../app/context.ts'
import { openOfflineRunner } from '../app/open-runner.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import { editorSchema, type JsonSchema } from '../config/schema/json-schema.ts'
import { withOptions } from '../config/schema/options-schemas.ts'
import { originOf, shippedCollectors } from '../runner/origin.ts'

/** The kind of file that a schema is of: the configuration, or one that it includes. */
export type SchemaKind = 'main' | 'included'

/**
 * The JSON Schema of a configuration's files, with the options of every shipped collector and of those that the
 * configuration uses. One that cannot be loaded may have any options.
 *
 * @param config absent where none can be read
 */
export async function fileSchema(
  kind: SchemaKind,
  edge: Pick<AppContext, 'time' | 'log' | 'redactor'>,
  config?: Config,
): Promise<JsonSchema> {
  await using stack = new AsyncDisposableStack()
  const runner = openOfflineRunner({ ...edge, ...(config && { config }) }, loadMsMax, stack)
  const all = [...shippedCollectors().map(shipped), ...ownCollectors(config)]
  const schemas = await Promise.all(
    all.map(async collector => [collector.use, await runner.optionsSchema(collector).catch(() => ({}))] as const),
  )
  return withOptions(editorSchema(kind), Object.fromEntries(schemas))
}

/** Time limit for loading one collector. */
const loadMsMax = 60_000

function shipped(use: string): CollectorConfig {
  const place = { file: '/tidegauge.yaml', line: 1, column: 1 }
  return { id: `schema/${use}`, protocolId: 'schema', use, options: {}, place, placeOf: () => place }
}

/** Collectors of one's own, each once: of two files with the same text the first counts. */
function ownCollectors(config: Config | undefined): CollectorConfig[] {
  const all = config?.protocols.flatMap(({ collectors }) => collectors) ?? []
  const own = all.filter(({ use, place }) => originOf({ use, configFile: place.file }).kind !== 'shipped')
  return [...new Map(own.toReversed().map(collector => [collector.use, collector])).values()]
}
