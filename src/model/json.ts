/** The value of a JSON text; `undefined` when it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The value of a JSON text in which each number is the text that stands there: a double has no 2^53 + 1, and no 20
 * decimals.
 *
 * @throws SyntaxError when it is not JSON
 */
export function jsonWithNumbersAsText(text: string): unknown {
  // Node gives a primitive's source text; TypeScript's library does not describe it yet.
  const asWritten = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? context?.source : value
  return JSON.parse(text, asWritten)
}

/** Whether a parsed value is an object, not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The part of a parsed value at a path; `undefined` where there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (part, step) => (typeof part === 'object' && part !== null ? Reflect.get(part, step) : undefined),
    value,
  )
}
