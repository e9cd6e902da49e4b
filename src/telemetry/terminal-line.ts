import { jsonOf } from '../model/json.ts'
import { printable } from '../model/text.ts'

/** Colours of a terminal, by level. */
const colours: Readonly<Record<string, number>> = { debug: 90, info: 36, warn: 33, error: 31 }
const dim = 2

/** Fields that have a place of their own. */
const placed: ReadonlySet<string> = new Set(['level', 'time', 'msg'])

/**
 * A line of the log for a person: `09:58:04 warn  endpoint failed · chain=ethereum reason="no answer"`. The time is UTC. A
 * value of several lines follows below, indented. A line that is not JSON is returned as it is.
 *
 * @param line JSON, with a line break at its end
 */
export function terminalLine(line: string, isColoured: boolean): string {
  const fields = fieldsOf(line)
  if (!fields) return line
  const { level = '', time = '', msg = '' } = fields
  const painted = (text: string, code: number) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text)
  const clock = painted(`${String(time).slice(11, 19)}Z`, dim)
  const name = painted(String(level).padEnd(5), colours[String(level)] ?? 0)
  const facts = Object.entries(fields).filter(([key]) => !placed.has(key))
  const short = facts.filter(([, value]) => !isLong(value))
  const long = facts.flatMap(([key, value]) => (isLong(value) ? [{ key, lines: value.split('\n') }] : []))
  const words = short.map(([key, value]) => `${painted(`${key}=`, dim)}${shown(value)}`)
  const below = long.flatMap(({ key, lines }) => [painted(`${key}:`, dim), ...lines.map(plain)])
  const first = `${clock} ${name} ${plain(String(msg))}${words.length > 0 ? ` ${painted('·', dim)} ${words.join(' ')}` : ''}`
  return `${[first, ...below].join('\n    ')}\n`
}

function fieldsOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = jsonOf(line)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined
  } catch {
    return undefined
  }
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.includes('\n')
}

function shown(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value)
  return plain(isPlain ? value : JSON.stringify(value))
}

/** A collector's words could move the cursor. Colours are added afterwards. */
function plain(text: string): string {
  return printable(text).replace(/[\t\n]/g, '')
}
