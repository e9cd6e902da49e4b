import type { Source } from './sources.ts'

/** Lines of the longest function. */
const functionLinesMax = 60

const notFunctions = /^ *(?:\} )?(?:if|for|while|switch|catch|do|else|try|with)\b/
const arrow = /=> \{$/
const named = /\bfunction\b.*\{$/
const method = /^ *(?:(?:async|static|get|set|override) )*\*?#?[\w[\].]+\(.*\)(?:: .+)? \{$/
/** The last line of a signature that takes several. */
const signatureEnd = /^ *\)(?:: .+)? \{$/

/**
 * Functions that are too long, as the formatter lays them out: from the line that begins one to the brace in its column.
 * TypeScript's own parser offers no stable interface.
 */
export function longFunctions({ file, text }: Source): string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    const isFunction = [arrow, named, method, signatureEnd].some(form => form.test(line)) && !notFunctions.test(line)
    if (!isFunction) return []
    const indent = line.slice(0, line.search(/\S/))
    const first = signatureEnd.test(line) ? beginOf(lines, at, indent) : at
    const last = lines.findIndex((each, index) => index > at && each.startsWith(`${indent}}`))
    const count = last - first + 1
    return count > functionLinesMax ? [`${file}:${first + 1}: ${count} lines`] : []
  })
}

/** The line above, in the same column, that opens the parenthesis. */
function beginOf(lines: readonly string[], end: number, indent: string): number {
  let at = end - 1
  while (at > 0 && !(lines[at]?.startsWith(indent) && /^\S.*\($/.test(lines[at]?.slice(indent.length) ?? ''))) at -= 1
  return at
}

const opening = /^( *)(?:await )?using /
const returned = /^ *(?:if \(.*\) |else )?return (\w+)\(/

/**
 * Promises that are returned, and not awaited, where something is open with `using`: it is closed before they resolve.
 *
 * @param all the sources, whose asynchronous functions count
 */
export function closedTooEarly(all: readonly Source[]): string[] {
  const isAsync = new Set(
    all.flatMap(({ text }) =>
      [...text.matchAll(/\basync function (\w+)|\bfunction (\w+)\(.*\): Promise</g)].map(found => found[1] ?? found[2]),
    ),
  )
  return all.flatMap(({ file, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, at) => {
      const indent = opening.exec(line)?.[1]
      if (indent === undefined) return []
      const end = lines.findIndex((each, index) => index > at && each.trim() !== '' && !each.startsWith(indent))
      const within = lines.slice(at + 1, end)
      return within.flatMap((each, index) =>
        isAsync.has(returned.exec(each)?.[1]) ? [`${file}:${at + index + 2}: ${each.trim()}`] : [],
      )
    })
  })
}
