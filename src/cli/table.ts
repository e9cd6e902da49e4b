import { eastAsianWidth } from 'get-east-asian-width'
import { cleaned, counted, print } from './terminal.ts'

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

/** Rows that are printed of a long table. */
export const rowsMax = 50

/** Prints the first rows of a table, and counts the others. @param noun what a row is, for the count */
export function printFirst(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  noun: string,
  right: readonly string[] = [],
): void {
  printTable(head, rows.slice(0, rowsMax), right)
  if (rows.length > rowsMax) print(`and ${counted(rows.length - rowsMax, noun)} more: --json has all`)
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
