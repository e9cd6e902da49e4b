import { eastAsianWidth } from 'get-east-asian-width'
import { cleaned, print } from './terminal.ts'

/** Prints rows below a head, in columns two spaces apart; the named columns are aligned right. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): void {
  const lines = [head, ...rows].map(row => row.map(cell => cleaned(cell)))
  const widths = head.map((_, column) =>
    lines.reduce((widest, row) => Math.max(widest, shownWidth(row[column] ?? '')), 0),
  )
  const sides = head.map(name => (right.includes(name) ? 'right' : 'left'))
  const texts = lines.map(row =>
    row
      .map((cell, column) => aligned(cell, widths[column] ?? 0, sides[column]))
      .join('  ')
      .trimEnd(),
  )
  // In one piece: a table may have thousands of rows.
  print(texts.join('\n'))
}

function aligned(cell: string, width: number, side: 'left' | 'right' | undefined): string {
  const blanks = ' '.repeat(width - shownWidth(cell))
  return side === 'right' ? `${blanks}${cell}` : `${cell}${blanks}`
}

/** Columns of a terminal that a text takes: a character of East Asia takes two. */
function shownWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  return [...text].reduce((sum, character) => sum + eastAsianWidth(character.codePointAt(0) ?? 0), 0)
}
