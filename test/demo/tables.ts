import { numberText, signedText } from '../../src/model/number-text.ts'
import type { StatusJson } from '../../src/status/json.ts'

type Protocol = StatusJson['protocols'][number]
type Row = readonly [label: string, value: string, unit: string, change1h: string, change24h: string]

const heads: Row = ['', 'value', 'unit', '1h', '24h']
const isNumber = [false, true, false, true, true]

/** Each protocol's widget values as a table, numbers to the right; all tables share their columns. */
export function tables(protocols: readonly Protocol[]): string[] {
  const rowsOf = new Map(protocols.map(protocol => [protocol, rows(protocol)]))
  const all = [heads, ...[...rowsOf.values()].flat()]
  const widths = heads.map((_, column) => Math.max(...all.map(row => (row[column] ?? '').length)))
  const line = (row: Row) => `  ${row.map((cell, column) => pad(cell, column, widths)).join('  ')}`.trimEnd()
  return [...rowsOf].flatMap(([{ name, id }, own]) => ['', `${name} (${id})`, line(heads), ...own.map(line)])
}

function rows({ metrics }: Protocol): Row[] {
  const shown = metrics.filter(({ state }) => state !== 'private')
  return shown.map(({ label, value, unit, change1h, change24h }) => [
    label,
    value === undefined ? 'no value' : numberText(value),
    unit ?? '',
    changeText(change1h),
    changeText(change24h),
  ])
}

function changeText(change: number | undefined): string {
  return change === undefined ? '–' : signedText(change)
}

function pad(cell: string, column: number, widths: readonly number[]): string {
  const width = widths[column] ?? 0
  return isNumber[column] ? cell.padStart(width) : cell.padEnd(width)
}
