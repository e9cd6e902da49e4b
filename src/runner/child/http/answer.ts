import type { z } from 'zod'
import type { HttpRequest } from '../../../collector.ts'
import { Fault } from '../../../model/fault.ts'
import { secretCharsMin, secretPartsOf } from '../../../model/host.ts'
import { JsonBeyondBounds, jsonOf, jsonWithNumbersAsText } from '../../../model/json.ts'
import { shortened } from '../../../model/text.ts'
import { plainWords } from '../thrown/plain-words.ts'
import { httpMistakesMax, httpValueCharsMax } from './limits.ts'

/** Source of an answer, for error messages, and secrets to keep out of them. */
export interface AnswerOrigin {
  /** Host of the source, for messages. */
  readonly host: string
  /** The requested address and the values of headers: a source may repeat a part of them in its answer. */
  readonly secrets: readonly string[]
}

/**
 * Parses an answer with the schema.
 *
 * @param numbers how the schema sees the numbers of the answer
 * @throws Fault `http-unexpected` that names up to three places in the answer, what was expected and what is there
 */
export async function parsedAnswer<S extends z.ZodType>(
  text: string,
  schema: S,
  { host, secrets }: AnswerOrigin,
  numbers?: HttpRequest['numbers'],
): Promise<z.output<S>> {
  const parse = numbers === 'text' ? jsonWithNumbersAsText : parsed
  const result = await schema.safeParseAsync(answered(text, host, parse), { reportInput: true })
  if (result.success) return result.data
  const mistakes = result.error.issues.flatMap(issue => mistakesOf(issue, []))
  const parts = secrets.flatMap(secret => secretPartsOf(secret, secretCharsMin))
  const shown = mistakes.slice(0, httpMistakesMax).map(mistake => worded(mistake, parts))
  const more = mistakes.length > shown.length ? `; and ${mistakes.length - shown.length} more` : ''
  throw new Fault('http-unexpected', `${host} answers something else than expected: ${shown.join('; ')}${more}`, {
    facts: { host },
    fix: 'compare what the source answers with the schema',
  })
}

const parsed = (text: string) => jsonOf(text)

function answered(text: string, host: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new Fault('http-unexpected', `${host} answers ${notJson(text, error)}`, {
      facts: { host },
      fix: 'look at what the address answers in a browser: a page to log in, or a notice, may stand there',
    })
  }
}

function notJson(text: string, error: unknown): string {
  if (error instanceof JsonBeyondBounds) return `${error.message}: ask for less of it`
  const start = text.trimStart().slice(0, 20)
  if (start === '') return 'nothing: the body is empty, and JSON was expected'
  if (/^<(!doctype html|html|head|body|!--)/i.test(start)) return 'what looks like a web page, not JSON'
  if (start.startsWith('<')) return 'what looks like XML, not JSON'
  const isCut = error instanceof Error && /^(Unexpected end|Unterminated)/.test(error.message)
  return isCut ? 'JSON that ends too early' : 'something that is not JSON'
}

type AnswerIssue = z.core.$ZodIssue

interface AnswerMistake {
  readonly issue: AnswerIssue
  readonly path: readonly PropertyKey[]
}

/** The mistakes of an issue: of a union without its own message, those of the branch that comes nearest. */
function mistakesOf(issue: AnswerIssue, before: readonly PropertyKey[]): AnswerMistake[] {
  const path = [...before, ...issue.path]
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [{ issue, path }]
  const nearest = [...issue.errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? []
  return nearest.length === 0 ? [{ issue, path }] : nearest.flatMap(part => mistakesOf(part, path))
}

function depth(issues: readonly AnswerIssue[]): number {
  return Math.max(0, ...issues.map(({ path }) => path.length))
}

/** `prices[0].usd: expected number, found the text "n/a"` */
function worded({ issue, path }: AnswerMistake, secrets: readonly string[]): string {
  const { message } = issue
  const isOfZod = /^(Too (small|big): |Invalid )/.test(message) && !message.startsWith('Invalid input: ')
  const expected = isOfZod
    ? plainWords(issue)
    : message
        .replace(/^Invalid input: /, '')
        .replace(/, received .*$/, '')
        .replace(/^Unrecognized keys?/, 'unexpected')
  return `${pathText(path)}: ${expected}, found ${found(issue.input, secrets)}`
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  return text === '' ? 'the answer' : shortened(text.replace(/^\./, ''), 4 * httpValueCharsMax)
}

function found(value: unknown, secrets: readonly string[]): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  const repeats = secrets.some(secret => value.includes(secret))
  return repeats ? 'a text' : `the text ${JSON.stringify(shortened(value, httpValueCharsMax))}`
}
