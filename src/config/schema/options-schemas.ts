import { isRecord, valueAt } from '../../model/json.ts'
import type { JsonSchema } from './json-schema.ts'

/** JSON Schemas of the options of collectors, by `use`. */
export type OptionsSchemas = Readonly<Record<string, unknown>>

const entryPath = ['properties', 'protocols', 'items', 'properties', 'collectors', 'items']
const pricePath = ['properties', 'prices', 'additionalProperties']

/**
 * The JSON Schema of a file with the options of collectors: those of `use` at each entry, and the sources of prices,
 * which the collector `price` reads. Each is a definition of its own.
 */
export function withOptions(file: JsonSchema, schemas: OptionsSchemas): JsonSchema {
  const whole = structuredClone(file)
  const entry = valueAt(whole, entryPath)
  const uses = Object.keys(schemas)
  if (isRecord(entry)) {
    Object.assign(entry, { allOf: uses.map(use => conditionOf(use, schemas[use])) })
    const use = valueAt(entry, ['properties', 'use'])
    // Names are offered, and any other text is valid.
    if (isRecord(use)) Object.assign(use, { anyOf: [{ enum: uses }, { type: 'string' }] })
  }
  const prices = valueAt(whole, pricePath)
  const source = valueAt(schemas['price'], ['properties', 'sources', 'items'])
  if (isRecord(prices) && isRecord(prices['items']) && isRecord(source)) {
    const { description } = prices['items']
    Object.assign(prices, { items: { description, $ref: `${pathOf('price')}/properties/sources/items` } })
  }
  const $defs = Object.fromEntries(uses.map(use => [nameOf(use), placed(schemas[use], pathOf(use))]))
  return Object.assign(whole, { $defs })
}

function conditionOf(use: string, schema: unknown) {
  const required = valueAt(schema, ['required'])
  const isDemanding = Array.isArray(required) && required.length > 0
  const options = { properties: { options: { $ref: pathOf(use) } }, ...(isDemanding && { required: ['options'] }) }
  const condition = { properties: { use: { const: use } }, required: ['use'] }
  return Object.fromEntries([
    ['if', condition],
    ['then', options],
  ])
}

/** Name of a definition: one that needs no escapes in a reference. */
const nameOf = (use: string) => `options of ${use}`.replace(/[^\w.-]+/g, '-')

const pathOf = (use: string) => `#/$defs/${nameOf(use)}`

/** A schema at another place: its references to itself lead there. */
function placed(schema: unknown, path: string): unknown {
  if (Array.isArray(schema)) return schema.map(part => placed(part, path))
  if (!isRecord(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, part]) => {
      if (name === '$schema') return []
      if (name === '$ref' && typeof part === 'string') return [[name, part.replace(/^#/, path)]]
      return [[name, placed(part, path)]]
    }),
  )
}
