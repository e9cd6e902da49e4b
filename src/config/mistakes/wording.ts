import { closestMatch } from 'leven'

/** Text of the file as it may be quoted in a mistake: printable, and left out when it is long or looks like a URL. */
export function quoted(text: string): string {
  if (text.length > 40 || text.includes('://')) return 'this text'
  return JSON.stringify(text).replace(/\p{C}/gu, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A path as operators write it: `protocols[0].collectors[1].options`; empty for the file as a whole. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map(part => {
      if (typeof part === 'number') return `[${part}]`
      const name = String(part)
      return /^[\w-]{1,40}$/.test(name) ? `.${name}` : `[${quoted(name)}]`
    })
    .join('')
    .replace(/^\./, '')
}

/**
 * The word of `known` that was probably meant; `undefined` when none is close. Two swapped neighbours count as one
 * typo, even in words of three letters.
 */
export function meant(word: string, known: readonly string[]): string | undefined {
  const near = Math.min(3, Math.max(1, Math.floor(word.length / 2)))
  const lower = word.toLowerCase()
  return (
    known.find(candidate => candidate.toLowerCase() === lower) ??
    known.find(candidate => isSwapped(lower, candidate.toLowerCase())) ??
    closestMatch(word.slice(0, 100), known, { maxDistance: near })
  )
}

/** Whether two words differ only by two swapped neighbours. */
function isSwapped(one: string, other: string): boolean {
  if (one.length !== other.length) return false
  const at = Array.from(one).findIndex((letter, index) => letter !== other[index])
  return at >= 0 && other === `${one.slice(0, at)}${one[at + 1] ?? ''}${one[at]}${one.slice(at + 2)}`
}

/** Kind of a value in words: `the number 5`, `a list`, `the text "yes"`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'string')
    return value.length > 40 || value.includes('://') ? 'text' : `the text ${quoted(value)}`
  if (typeof value === 'number') return `the number ${value}`
  if (typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'a list' : 'a map'
}

/** A value on one line of YAML. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    if (Object.keys(value).length === 0) return '{}'
    const pairs = Object.entries(value).map(([key, part]) => `${key}: ${inline(part)}`)
    return `{ ${pairs.join(', ')} }`
  }
  const text = String(value)
  return typeof value === 'string' && !/^[\w./][\w./ -]*(:\/\/[\w./-]+)?(:\d+)?$/.test(text)
    ? JSON.stringify(text)
    : text
}
