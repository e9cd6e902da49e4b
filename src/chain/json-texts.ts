/**
 * Cuts a stream of JSON objects and arrays, with or without line breaks between them, into whole texts. Braces inside
 * of strings do not count.
 */
export function jsonTexts(): { push(chunk: string): string[] } {
  let rest = ''
  let position = 0
  let depth = 0
  let inString = false

  /** Whether a text ends with this character. */
  function ends(character: string): boolean {
    if (inString) {
      if (character === '\\') position++
      else if (character === '"') inString = false
      return false
    }
    if (character === '"') inString = true
    if (character === '{' || character === '[') depth++
    if (character !== '}' && character !== ']') return false
    depth = Math.max(0, depth - 1)
    return depth === 0
  }

  return {
    push(chunk) {
      rest += chunk
      const texts: string[] = []
      for (; position < rest.length; position++) {
        if (!ends(rest.charAt(position))) continue
        texts.push(rest.slice(0, position + 1))
        rest = rest.slice(position + 1)
        position = -1
      }
      return texts
    },
  }
}
