import { basename } from 'node:path'
import { inspect } from 'node:util'
import { Fault, type FaultCode } from '../model/fault.ts'
import { collectorTextCharsMax } from './limits.ts'

/** A text of a collector's making, cut to a length that is safe to log and store. */
export function cut(text: string): string {
  return text.length > collectorTextCharsMax ? `${text.slice(0, collectorTextCharsMax)}…` : text
}

/** An odd value in words. Never throws, whatever the value does when it is looked at. */
export function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${cut(String(value))}n`
  try {
    return cut(
      inspect(value, { depth: 1, maxArrayLength: 3, maxStringLength: 60, breakLength: Infinity, getters: false }),
    )
  } catch {
    return `a ${typeof value} that cannot be shown`
  }
}

/** Message and stack of anything thrown. Never throws. */
export function thrownText(error: unknown): { readonly message: string; readonly stack: string } {
  try {
    if (!(error instanceof Error)) return { message: shown(error), stack: '' }
    const { message, stack, name } = error
    return { message: cut(String(message) || String(name)), stack: String(stack) }
  } catch {
    return { message: 'an error that cannot be shown', stack: '' }
  }
}

/** The same fault when it is one already; else one of `code` that says what was thrown, and where in the collector. */
export function faultOf(error: unknown, code: FaultCode, file: string | undefined): Fault {
  if (error instanceof Fault) return error
  const { message, stack } = thrownText(error)
  const at = file === undefined ? undefined : lineIn(stack, file)
  return new Fault(code, message, { facts: at === undefined ? {} : { at } })
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
