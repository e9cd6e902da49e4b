/**
 * Splits a stream of JSON objects and arrays, with or without line breaks between them, into whole texts. Braces inside
 * strings do not count. Each character is read once, however long a text is.
 */
export function jsonTexts(): { push(chunk: string): string[] } {
  let parts: string[] = []
  let depth = 0
  let inString = false
  let isEscaped = false

  /** A function that tells whether a text ends with this character. */
  function ends(character: string): boolean {
    if (isEscaped) {
      isEscaped = false
      return false
    }
    if (inString) {
      if (character === '\\') isEscaped = true
      else if (character === '"') inString = false
      return false
    }
    if (character === '"') inString = true
    if (character === '{' || character === '[') depth += 1
    if (character !== '}' && character !== ']') return false
    depth = Math.max(0, depth - 1)
    return depth === 0
  }

  return {
    push(chunk) {
      const texts: string[] = []
      let from = 0
      for (let position = 0; position < chunk.length; position += 1) {
        if (!ends(chunk.charAt(position))) continue
        texts.push([...parts, chunk.slice(from, position + 1)].join(''))
        parts = []
        from = position + 1
      }
      if (from < chunk.length) parts.push(chunk.slice(from))
      return texts
    },
  }
}
