import { basename } from 'node:path'
import { inspect } from 'node:util'
import type { z } from 'zod'
import { Fault, type FaultCode } from '../../../model/fault.ts'
import { shortened } from '../../../model/text.ts'
import { collectorTextCharsMax } from '../../limits.ts'
import { plainWords } from './plain-words.ts'

/** Cuts a text of a collector to a length that is safe to log and store. */
export function cut(text: string): string {
  return shortened(text, collectorTextCharsMax)
}

/** An unexpected value as text. Never throws, whatever the value does when inspected. */
export function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${cut(String(value))}n`
  try {
    return cut(
      inspect(value, {
        depth: 1,
        maxArrayLength: 3,
        maxStringLength: 60,
        breakLength: Number.POSITIVE_INFINITY,
        getters: false,
      }),
    )
  } catch {
    return `a ${typeof value} that cannot be shown`
  }
}

/** Message and stack of any thrown value. Never throws. */
export function thrownText(error: unknown): { readonly message: string; readonly stack: string } {
  try {
    if (!(error instanceof Error)) return { message: shown(error), stack: '' }
    const { stack, name } = error
    const message = parseError(error) ?? error.message
    return { message: cut(inOneLine(String(message) || String(name))), stack: String(stack) }
  } catch {
    return { message: 'an error that cannot be shown', stack: '' }
  }
}

/** Joins a message of several lines into one, as a log and a page show one line. */
function inOneLine(message: string): string {
  return message.trim().replace(/\s*\n\s*/g, ' ')
}

/** Mistakes quoted when a collector's own schema refuses a value. */
const parseIssuesMax = 3

/** One line for a zod error, whose own message is a JSON text of many lines; `undefined` for other errors. */
function parseError(error: Error): string | undefined {
  if (!/^\$?ZodError$/.test(error.name) || !('issues' in error) || !Array.isArray(error.issues)) return undefined
  const issues: readonly z.core.$ZodIssue[] = error.issues
  const shown = issues.slice(0, parseIssuesMax).map(issue => {
    const isOurs = /^(Invalid|Too (small|big)|Unrecognized|must )/.test(issue.message)
    const where = issue.path.map(String).join('.')
    return `${where === '' ? '' : `${where}: `}${isOurs ? plainWords(issue) : issue.message}`
  })
  const more = issues.length - shown.length
  return `a value does not fit its schema: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
}

/** Returns a Fault unchanged; else one of `code` with what was thrown, and where in the collector. */
export function faultOf(error: unknown, code: FaultCode, file: string | undefined): Fault {
  if (error instanceof Fault) return error
  const { message, stack } = thrownText(error)
  const denied = deniedRead(error)
  const at = file === undefined ? undefined : lineIn(stack, file)
  const facts = at === undefined ? {} : { at }
  return denied === undefined ? new Fault(code, message, { facts }) : new Fault(code, denied, { facts, fix: readFix })
}

/** Instruction for a collector that reads a file its process may not. */
export const readFix =
  'a collector reads its own folder (next to a configuration its imports alone), packages, and what its options declare with `path` and the configuration names'

/** Sentence for Node's error about a file that a process may not read; `undefined` for other errors. */
export function deniedRead(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_ACCESS_DENIED') return undefined
  const resource = 'resource' in error ? String(error.resource) : ''
  const isRead = 'permission' in error && error.permission === 'FileSystemRead'
  return isRead ? `${cut(resource)} may not be read by a collector` : undefined
}

/** `name.ts:12`: the first line of a stack that lies in `file`. */
export function lineIn(stack: string, file: string): string | undefined {
  for (const line of stack.split('\n')) {
    const path = line.replace(/\?changed=[\d.]+/, '')
    const start = path.indexOf(encodeURI(file)) + encodeURI(file).length
    const number = path.includes(encodeURI(file)) ? /^:(\d+)/.exec(path.slice(start))?.[1] : undefined
    if (number !== undefined) return `${basename(file)}:${number}`
  }
  return undefined
}
