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
 * The JSON Schema of a file, without the options of collectors, which `tidegauge schema` adds.
 */
export function editorSchema(kind: 'main' | 'included'): JsonSchema {
  if (kind === 'included') return { ...jsonSchema(includedFile), minProperties: 1 }
  return { ...jsonSchema(), anyOf: [{ required: ['protocols'] }, { required: ['include'] }] }
}
