import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Config, ConfigError } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { fileSchema } from './file-schema.ts'
import { note } from './terminal.ts'

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
