import { writeSync } from 'node:fs'
import { withFile } from '../model/advice.ts'
import { inThousands } from '../model/number-text.ts'
import { firstChars, printable } from '../model/text.ts'
import { Redactor } from '../telemetry/redactor.ts'

/** All output of commands is redacted here, so that no known secret leaves the process. */
export const redactor = new Redactor()

/** Prints a line on stdout: the result of the command. */
export function print(line: string): void {
  write(1, `${cleaned(line)}\n`)
}

/** Prints a line on stderr: information apart from the result. */
export function note(line: string): void {
  write(2, `${cleaned(line)}\n`)
}

/** Replaces the last line drawn on stderr; an empty one clears it. Only for a terminal. */
export function redraw(line: string): void {
  write(2, `\r\x1b[K${cleaned(line)}`)
}

/** `1 metric`, `4 metrics`, `1,200 metrics`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`
}

/** A whole number that is not negative: `1,234,567`. */
export function grouped(count: number): string {
  return inThousands(String(count))
}

/** Units of sizes, in bytes. */
const units: readonly (readonly [unit: string, bytes: number])[] = [
  ['GiB', 1_073_741_824],
  ['MiB', 1_048_576],
  ['KiB', 1_024],
]

/** `12 bytes`, `3.4 MiB`, `77 GiB`. */
export function bytesText(bytes: number): string {
  const [unit, size] = units.find(([, least]) => bytes >= least) ?? ['bytes', 1]
  return `${(bytes / size).toFixed(bytes < 10 * size && size > 1 ? 1 : 0)} ${unit}`
}

/** An instant in JSON, to the millisecond; `undefined`, which JSON leaves out, where there is none. */
export function instant(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

/** Words of any length, on one line of at most that many characters; the file of a command comes only when it is printed. */
export function cut(words: string, charsMax: number): string {
  const line = safe(words.replace(/\s+/g, ' ').trim())
  return line.length <= charsMax ? line : `${firstChars(line, charsMax - 1).trimEnd()}…`
}

/** Removes secrets and control sequences, since a line may quote others' words; its commands name the configuration. */
export function cleaned(line: string): string {
  return safe(withFile(line))
}

const safe = (text: string) => printable(redactor.redact(text))

const safeJson = (json: string) => printable(redactor.redactJson(json))

/** Prints JSON on stdout; its commands name the configuration. */
export function printJson(value: unknown): void {
  write(1, `${safeJson(withFile(JSON.stringify(value, null, 2), 'json'))}\n`)
}

/** Prints on stdout what is stored, as text or as JSON: others' words stay as they are, since a person selects by them. */
export function printStored(stored: unknown): void {
  write(1, `${typeof stored === 'string' ? safe(stored) : safeJson(JSON.stringify(stored, null, 2))}\n`)
}

let lostResult: string | undefined

/** Why a part of the result could not be written since the last call, as a code of the system. */
export function takeLostResult(): string | undefined {
  const lost = lostResult
  lostResult = undefined
  return lost
}

let hasReader = true

/** Whether something still reads the output: `| head` ends when it has enough. */
export function isOutputRead(): boolean {
  return hasReader
}

/** Writes to a descriptor. A closed pipe (`| head`) ends the output, not the command. */
function write(descriptor: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EAGAIN') continue
      if (descriptor === 1 && code === 'EPIPE') hasReader = false
      else if (descriptor === 1) lostResult ??= code ?? 'unknown error'
      return
    }
  }
}
