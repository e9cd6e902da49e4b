import { z } from 'zod'
import { includedFile } from './included-file.ts'
import { operatorFile } from './schema.ts'

export type JsonSchema = z.core.JSONSchema.JSONSchema

/** The JSON Schema of a file, for messages. */
export function jsonSchema(file: z.ZodType = operatorFile): JsonSchema {
  return z.toJSONSchema(file, {
    io: 'input',
    reused: 'inline',
    // zod takes examples for outputs and leaves them out before a transform; ours are inputs.
    override({ zodSchema, jsonSchema }) {
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (Array.isArray(examples)) jsonSchema.examples = examples
    },
  })
}

/**
 * The JSON Schema of a file, for editors. `config/tidegauge.schema.json` and `config/included.schema.json` hold them;
 * after a change of schema.ts: `node src/config/schema/json-schema.ts > config/tidegauge.schema.json`,
 * `node src/config/schema/json-schema.ts included > config/included.schema.json`, and `npm run fix`.
 */
export function editorSchema(kind: 'main' | 'included'): JsonSchema {
  if (kind === 'included') return { ...jsonSchema(includedFile), minProperties: 1 }
  return { ...jsonSchema(), anyOf: [{ required: ['protocols'] }, { required: ['include'] }] }
}

if (import.meta.main) {
  const kind = process.argv[2] === 'included' ? 'included' : 'main'
  process.stdout.write(`${JSON.stringify(editorSchema(kind), null, 2)}\n`)
}
