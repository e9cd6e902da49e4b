import { writeSync } from 'node:fs'
import Table from 'cli-table3'
import { Redactor } from '../telemetry/redactor.ts'

/** Everything a command prints passes here, so that no secret known to the process can leave by it. */
export const redactor = new Redactor()

/** A line on stdout: what the command answers. */
export function print(line: string): void {
  write(1, `${clean(line)}\n`)
}

/** A line on stderr: what a person should know beside the answer. */
export function note(line: string): void {
  write(2, `${clean(line)}\n`)
}

/** Whether a person watches stderr: a line may be drawn over the last one there. */
export const isWatched = process.stderr.isTTY === true

/** A line on stderr in the place of the last one drawn so; an empty one clears it. For a terminal only. */
export function redraw(line: string): void {
  write(2, `\r\x1b[K${clean(line)}`)
}

/** `1 metric`, `4 metrics`, `1,200 metrics`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`
}

/** `1,234,567`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** An instant to the second: `2026-11-20T13:00:04Z`. */
export function instantText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** Words of any length on one line of at most so many characters. */
export function cut(words: string, charsMax: number): string {
  const line = clean(words.replace(/\s+/g, ' ').trim())
  return line.length <= charsMax ? line : `${line.slice(0, charsMax - 1).trimEnd()}…`
}

/** Without secrets, and without what a terminal would obey: words of others may stand in a line. */
function clean(line: string): string {
  return redactor.redact(line).replace(/[^\P{Cc}\t\n]/gu, '')
}

/** The answer for programs. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** Rows below a head, in columns two spaces apart; the named columns are aligned right. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): void {
  const table = new Table({
    head: [...head],
    chars: noLines,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colAligns: head.map(name => (right.includes(name) ? 'right' : 'left')),
  })
  table.push(...rows.map(row => [...row]))
  for (const line of table.toString().split('\n')) print(line.trimEnd())
}

const noLines = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}

/** A reader that has gone away (`| head`) ends the output, not the command. */
function write(descriptor: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
    }
  }
}
