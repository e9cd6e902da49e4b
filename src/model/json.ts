/** Bounds of a JSON text. A part takes some hundred bytes of memory, 250 with the text of its number. */
export interface JsonBounds {
  /** Longest text, in bytes; counted in characters where it is text already. */
  readonly bytesMax: number
  /** Objects and lists within each other. */
  readonly depthMax: number
  /** Objects, lists, and members of them after the first. */
  readonly partsMax: number
}

/** Bounds of a text that is the product's own, or a source's. */
const plainBounds: JsonBounds = { bytesMax: 64 * 1_048_576, depthMax: 64, partsMax: 500_000 }

/** A JSON text that is beyond its bounds. */
export class JsonBeyondBounds extends Error {
  /** The bound. */
  readonly bound: keyof JsonBounds

  constructor(bound: keyof JsonBounds, { [bound]: max }: JsonBounds) {
    const words = {
      bytesMax: 'is longer than % bytes',
      depthMax: 'nests deeper than %',
      partsMax: 'has more than % parts',
    }
    super(`JSON that ${words[bound].replace('%', String(max))}`)
    this.bound = bound
  }
}

/** Node gives a primitive's source text; TypeScript's library does not describe it yet. */
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/**
 * The value of a JSON text. All JSON is read here: a few bytes of text become a hundred in memory, so its size and shape
 * are looked at before it is parsed.
 *
 * @param reviver as that of `JSON.parse`
 * @throws SyntaxError when it is not JSON; JsonBeyondBounds
 */
export function jsonOf(text: string, bounds = plainBounds, reviver?: Reviver): unknown {
  const bound = exceededBound(text, bounds)
  if (bound) throw new JsonBeyondBounds(bound, bounds)
  return JSON.parse(text, reviver)
}

/** The value of a JSON text; `undefined` when it is not JSON, or beyond its bounds. */
export function parsedJson(text: string, bounds = plainBounds, reviver?: Reviver): unknown {
  try {
    return jsonOf(text, bounds, reviver)
  } catch {
    return undefined
  }
}

/**
 * The value of a JSON text in which each number is the text that stands there: a double has no 2^53 + 1, and no 20
 * decimals.
 *
 * @throws SyntaxError when it is not JSON; JsonBeyondBounds
 */
export function jsonWithNumbersAsText(text: string): unknown {
  return jsonOf(text, plainBounds, (_key, value, context) => (typeof value === 'number' ? context?.source : value))
}

/** A number that keeps its digits when it is written as JSON again. */
interface RawNumber {
  readonly rawJSON: string
}

/** Node's, which TypeScript's library does not describe yet. */
const rawNumbers = JSON as typeof JSON & {
  readonly rawJSON: (digits: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
}

/** Whether a parsed value is a number of `keepDigits`. */
export function isRawNumber(value: unknown): value is RawNumber {
  return rawNumbers.isRawJSON(value)
}

/** Digits of any number that a double keeps. */
const doubleDigits = 15

/** Parses each number of a JSON text that a double would round as a `RawNumber`. */
export function keepDigits(_key: string, value: unknown, { source = '' }: { readonly source?: string } = {}): unknown {
  if (typeof value !== 'number' || String(value) === source) return value
  const digits = source.replace(/e.*/is, '').replaceAll(/\D/g, '').replace(/^0+/, '')
  return digits.length > doubleDigits ? rawNumbers.rawJSON(source) : value
}

/** The bound that a text exceeds. A text that is not JSON is measured up to where the parser gives up. */
export function exceededBound(
  text: string,
  { bytesMax, depthMax, partsMax }: JsonBounds,
): keyof JsonBounds | undefined {
  if (text.length > bytesMax) return 'bytesMax'
  if (text.length <= Math.min(depthMax, partsMax)) return undefined
  let [depth, parts] = [0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === comma) parts += 1
    else if (code === closingBrace || code === closingBracket) depth -= 1
    else if (code === openingBrace || code === openingBracket) {
      parts += 1
      depth += 1
      if (depth > depthMax) return 'depthMax'
    }
    if (parts > partsMax) return 'partsMax'
  }
  return undefined
}

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c]
const [openingBracket, closingBracket, openingBrace, closingBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Index of the quotation mark that closes a string; the end of the text when there is none. */
function endOfString(text: string, opening: number): number {
  for (let end = text.indexOf('"', opening + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return text.length
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
