/** The part of JSON Schema that the configuration uses. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

/** One key of a document. */
export interface SchemaRow {
  readonly path: string
  readonly type: string
  /** Its default as JSON; absent without one. */
  readonly standard?: string
  readonly meaning: string
}

/** Levels of keys that are listed; deeper ones are described by their parents. */
const depthMax = 6

/**
 * The keys of a schema, the deeper ones after their parents.
 *
 * @param path of the schema itself; it is a row if it is no map of fixed keys
 */
export function rowsOf(schema: JsonSchema, path: string, root: JsonSchema): SchemaRow[] {
  const rows = below(schema, path, root, 0)
  const isLeaf = !schema.properties && path !== ''
  return unique(isLeaf ? [rowOf(schema, path, false, root), ...rows] : rows)
}

function below(schema: JsonSchema, path: string, root: JsonSchema, depth: number): SchemaRow[] {
  if (depth > depthMax) return []
  const resolved = resolve(schema, root)
  const { properties = {}, required = [], additionalProperties, items, anyOf = [], oneOf = [] } = resolved
  const own = Object.entries(properties).flatMap(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`
    return [rowOf(value, at, required.includes(key), root), ...below(value, at, root, depth + 1)]
  })
  const named =
    typeof additionalProperties === 'object' ? below(additionalProperties, `${path}.NAME`, root, depth + 1) : []
  const listed = items ? below(items, `${path}[]`, root, depth + 1) : []
  const either = [...anyOf, ...oneOf].flatMap(one => below(one, path, root, depth + 1))
  return [...own, ...named, ...listed, ...either]
}

function rowOf(schema: JsonSchema, path: string, isRequired: boolean, root: JsonSchema): SchemaRow {
  const { description = '', default: standard } = { ...resolve(schema, root), ...schema }
  const isPlain =
    standard !== undefined && standard !== '' && JSON.stringify(standard) !== '{}' && JSON.stringify(standard) !== '[]'
  return {
    path,
    type: typeOf(schema, root, 0),
    ...(isPlain && { standard: typeof standard === 'string' ? standard : JSON.stringify(standard) }),
    meaning: `${isRequired ? '**Required.** ' : ''}${description}`,
  }
}

function typeOf(schema: JsonSchema, root: JsonSchema, depth: number): string {
  const resolved = resolve(schema, root)
  if (resolved.const !== undefined) return `\`${String(resolved.const)}\``
  if (resolved.enum) return resolved.enum.map(one => `\`${String(one)}\``).join(', ')
  const choices = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])].filter(
    one => one.type ?? one.$ref ?? one.const,
  )
  if (choices.length > 0 && depth < 2)
    return [...new Set(choices.map(one => typeOf(one, root, depth + 1)))].join(' or ')
  if (resolved.type === 'array') return `list${resolved.items ? ` of ${typeOf(resolved.items, root, depth + 1)}` : ''}`
  if (resolved.type === 'object') return 'map'
  return words[String(resolved.type)] ?? 'any'
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true`, `false`',
}

/** Follows a reference inside the document, such as `#/$defs/options-of-price/properties/sources/items`. */
function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const { $ref } = schema
  if ($ref === undefined) return schema
  const found = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], root)
  return (found ?? {}) as JsonSchema
}

/** Alternatives may name the same key; its first description stands. */
function unique(rows: readonly SchemaRow[]): SchemaRow[] {
  return [...new Map(rows.toReversed().map(row => [row.path, row])).values()].reverse()
}
