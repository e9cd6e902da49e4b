import type { Command } from 'commander'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { fileSchema } from '../file-schema.ts'
import { readableConfig } from '../readable-config.ts'
import { schemaCommandLine } from '../schema-file.ts'
import { printJson } from '../terminal.ts'

interface SchemaOptions extends ConfigOption {
  readonly included?: boolean
}

/** `schema`: the JSON Schema of the configuration, for editors. A configuration with mistakes is left out. */
export function schemaCommand(): Command {
  return configuredCommand('schema')
    .description('the JSON Schema of the configuration, with the options of shipped collectors and of your own')
    .addHelpText('after', `\nFor the file that init wrote, after a change of options: ${schemaCommandLine}`)
    .option('--included', 'of a file that the configuration includes')
    .action(async ({ config, included }: SchemaOptions) => {
      printJson(await fileSchema(included ? 'included' : 'main', readableConfig(config)))
    })
}
