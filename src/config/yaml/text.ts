import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import type { Mistake, PlacedMistake, Position } from '../mistakes/mistakes.ts'
import { configBytesMax } from './limits.ts'

/** A file's text without a byte order mark, or why it cannot be read. */
export type FileText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly mistake: PlacedMistake<Position> }

const systemWords: Readonly<Record<string, readonly [message: string, fix: string]>> = {
  ENOENT: ['there is no such file', 'give its path with --config FILE'],
  ENOTDIR: ['there is no such file', 'give its path with --config FILE'],
  EISDIR: ['this is a folder, not a file', 'give the path of the file in it'],
  ESPIPE: ['this is a pipe, not a file', 'give the path of a file'],
  EACCES: ['the file may not be read', 'let the user of this process read it'],
  EPERM: ['the file may not be read', 'let the user of this process read it'],
  ELOOP: ['the path is a loop of links', 'give the path of the file itself'],
  ENAMETOOLONG: ['the path is too long', 'give a shorter path'],
}

/** Reads a configuration file as UTF-8, up to the size limit. */
export function readText(file: string): FileText {
  try {
    const bytes = readBytes(file, configBytesMax + 1)
    if (bytes.length > configBytesMax) {
      return unreadable({
        message: `the file has more than ${configBytesMax} bytes`,
        fix: 'is it the right file? protocols may stand in further ones: include: […]',
      })
    }
    return decode(bytes)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const [message, fix] = systemWords[code] ?? [`the file cannot be read (${code})`, 'see why with: ls -l']
    return unreadable({ message, fix })
  }
}

/** Reads at most `bytesMax` bytes: a device or a pipe may never end. Throws the system's error. */
export function readBytes(file: string, bytesMax: number): Buffer {
  // Does not wait for a writer if it is a pipe.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (fstatSync(descriptor).isFIFO()) throw Object.assign(new Error('is a pipe'), { code: 'ESPIPE' })
    if (fstatSync(descriptor).isDirectory()) throw Object.assign(new Error('is a folder'), { code: 'EISDIR' })
    const buffer = Buffer.alloc(bytesMax)
    let length = 0
    for (let got = -1; got !== 0 && length < bytesMax; length += got) {
      got = readSync(descriptor, buffer, length, bytesMax - length, null)
    }
    return buffer.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

/** Blanks in text copied from a web page. */
const oddBlank = {
  message: 'this looks like a blank in the indentation, and is another character',
  fix: 'put ordinary blanks there',
}

function decode(bytes: Buffer): FileText {
  try {
    const text = plainLines(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    const odd = text.search(/(?<=^[ \t]*)[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]/m)
    if (odd >= 0) return unreadable(oddBlank, text.slice(0, odd))
    const control = text.search(/[^\P{Cc}\t\n\r]/u)
    if (control < 0) return { ok: true, text }
    const fix = 'remove it; is the file really text?'
    return unreadable({ message: 'a control character stands here', fix }, text.slice(0, control))
  } catch {
    const lossy = plainLines(new TextDecoder('utf-8').decode(bytes))
    const before = lossy.slice(0, lossy.indexOf('\ufffd'))
    return unreadable({ message: 'the file is not UTF-8 text from here on', fix: 'save it as UTF-8' }, before)
  }
}

/** @param before the readable text before the mistake */
function unreadable(mistake: Mistake, before = ''): FileText {
  const lines = before.split('\n')
  const place = { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
  return { ok: false, mistake: { ...mistake, place } }
}

/** In YAML a lone carriage return ends a line; the parser does not know that. */
function plainLines(text: string): string {
  return text.replace(/\r(?!\n)/g, '\n')
}
