import { z } from 'zod'
import { operatorFile } from './schema.ts'

export type JsonSchema = z.core.JSONSchema.JSONSchema

/**
 * The JSON Schema of the operator's file, for editors and for messages. `config/tidegauge.schema.json` holds it; after
 * a change of schema.ts: `node src/config/schema/json-schema.ts > config/tidegauge.schema.json && npm run fix`.
 */
export function jsonSchema(): JsonSchema {
  return z.toJSONSchema(operatorFile, {
    io: 'input',
    reused: 'inline',
    // zod takes examples for outputs and leaves them out before a transform; ours are inputs.
    override({ zodSchema, jsonSchema }) {
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (Array.isArray(examples)) jsonSchema.examples = examples
    },
  })
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(jsonSchema(), null, 2)}\n`)
