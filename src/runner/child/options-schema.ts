import { z } from 'zod'
import type { CollectorRef } from '../messages.ts'
import { loadCollector } from './load.ts'

/**
 * JSON Schema of a collector's options as they are written, for editors. Parts that JSON Schema cannot express allow
 * anything.
 *
 * @throws Fault `collector-unusable`
 */
export async function optionsSchema(ref: CollectorRef): Promise<unknown> {
  const { definition } = await loadCollector(ref)
  try {
    return z.toJSONSchema(definition.options, {
      io: 'input',
      reused: 'inline',
      unrepresentable: 'any',
      override({ zodSchema, jsonSchema }) {
        const examples = z.globalRegistry.get(zodSchema)?.examples
        if (Array.isArray(examples)) jsonSchema.examples = examples
        // Placeholders such as {hour} are part of an address here, and of no URI.
        if (jsonSchema.format === 'uri') delete jsonSchema.format
      },
    })
  } catch {
    // A schema of another zod, or one that refers to itself in a way that has no JSON Schema.
    return {}
  }
}
