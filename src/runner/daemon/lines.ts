/** Lines completed by a piece of text, or that a line is too long. */
export type Completed = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'too-long' }

/**
 * Splits text that arrives in pieces into lines. Never holds more than `charsMax` of an incomplete line.
 *
 * @param charsMax of one line
 */
export function boundedLines(charsMax: number): (piece: string) => Completed {
  let pieces: string[] = []
  let held = 0

  return piece => {
    const [first = '', ...rest] = piece.split('\n')
    const last = rest.pop()
    held += first.length
    if (held > charsMax) return { kind: 'too-long' }
    pieces.push(first)
    if (last === undefined) return { kind: 'lines', lines: [] }
    const lines = [pieces.join(''), ...rest]
    pieces = [last]
    held = last.length
    return lines.some(line => line.length > charsMax) ? { kind: 'too-long' } : { kind: 'lines', lines }
  }
}
