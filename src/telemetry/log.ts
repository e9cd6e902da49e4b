import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { withFile } from '../model/advice.ts'
import { jsonOf } from '../model/json.ts'
import { printable, printableJson } from '../model/text.ts'
import type { Redactor } from './redactor.ts'

export type Log = Logger

export type LogThreshold = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/**
 * Writes lines on stderr: for people where that is a terminal, else JSON. Secrets are removed from the finished line, so that
 * none can slip through. Equal warnings and errors are folded.
 */
export function createLog(level: LogThreshold, redactor: Redactor): Log {
  const shaped = process.stderr.isTTY ? (line: string) => terminalLine(line, isColoured()) : printableJson
  const folded = new FoldedLines(line => writeLine(shaped(line)))
  const sink = { write: (line: string) => folded.take(redactor.redactJson(withFile(line, 'json'))) }
  const formatters = { level: (label: string) => ({ level: label }), log: withoutHead }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }, sink)
}

/** Parts of each line, which a fact cannot stand for: of two equal names, a reader of JSON takes the last. */
const head = new Set(['level', 'time', 'msg'])

/** Facts of a line, of which those that are called as its parts get another name: `level_`. */
export function withoutHead(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [head.has(name) ? `${name}_` : name, value]))
}

/** By the convention of https://no-color.org. */
function isColoured(): boolean {
  return (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
}

/** Writes a line. A log that cannot be written (a closed pipe, a full disk) must not stop the work. */
function writeLine(line: string): void {
  try {
    writeSync(2, line)
  } catch {
    // There is nowhere left to report it.
  }
}

/** Time for which an equal line is counted and not written, in milliseconds. */
const foldMs = 60_000

/** Different lines remembered, at most. */
const linesMax = 200

/** A line that was written, and how often it came again since. */
interface WrittenLine {
  readonly atMs: number
  /** Without its time, as it came last. */
  text: string
  again: number
}

/** Fields that differ between two attempts at one thing. */
const ofAttempt = /,"(?:attempt":\d+|nextAttempt":"[^"]*")/g

/**
 * Folds warnings and errors that repeat: a line that is equal but for its attempt is written once a minute, with the number
 * of those left out since as `repeated`. Lines of other levels are news, and are never folded. Needs no timer: what was left out is logged with the next
 * line.
 */
export class FoldedLines {
  readonly #written = new Map<string, WrittenLine>()
  readonly #write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  /** @param line JSON that begins with level and time, as pino writes it, with a line break at its end */
  take(line: string): void {
    const parts = /^(\{"level":"(?:warn|error)"),"time":"([^"]+)"(,.*\}\n)$/s.exec(line)
    const [, level = '', time = '', remainder = ''] = parts ?? []
    const atMs = Date.parse(time)
    if (Number.isNaN(atMs)) {
      this.#write(line)
      return
    }
    const text = level + remainder
    const key = text.replace(ofAttempt, '')
    const entry = this.#written.get(key)
    // A clock that was set back must not fold for longer.
    if (entry && atMs >= entry.atMs && atMs < entry.atMs + foldMs) {
      entry.again += 1
      entry.text = text
      return
    }
    this.#tellOld(atMs, key)
    this.#written.delete(key)
    this.#written.set(key, { atMs, text, again: 0 })
    this.#write(entry && entry.again > 0 ? repeated(text, time, entry.again) : line)
  }

  /** Writes what was left out of lines whose minute is over, and forgets them. */
  #tellOld(atMs: number, keptKey: string): void {
    for (const [key, line] of this.#written) {
      const isOld = atMs < line.atMs || atMs >= line.atMs + foldMs || this.#written.size > linesMax
      if (!isOld || key === keptKey) continue
      this.#written.delete(key)
      if (line.again > 0) this.#write(repeated(line.text, new Date(atMs).toISOString(), line.again))
    }
  }
}

function repeated(text: string, time: string, times: number): string {
  const end = text.indexOf('"', '{"level":"'.length) + 1
  return `${text.slice(0, end)},"time":"${time}","repeated":${times}${text.slice(end)}`
}

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
  const paint = (text: string, code: number) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text)
  const clock = paint(`${String(time).slice(11, 19)}Z`, dim)
  const name = paint(String(level).padEnd(5), colours[String(level)] ?? 0)
  const facts = Object.entries(fields).filter(([key]) => !placed.has(key))
  const short = facts.filter(([, value]) => !isLong(value))
  const long = facts.flatMap(([key, value]) => (isLong(value) ? [{ key, lines: value.split('\n') }] : []))
  const words = short.map(([key, value]) => `${paint(`${key}=`, dim)}${shown(value)}`)
  const below = long.flatMap(({ key, lines }) => [paint(`${key}:`, dim), ...lines.map(plain)])
  const first = `${clock} ${name} ${plain(String(msg))}${words.length > 0 ? ` ${paint('·', dim)} ${words.join(' ')}` : ''}`
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
