import { hourText } from '../../model/hour.ts'
import type { MetricHistory } from '../history.ts'

/** A history as CSV (RFC 4180), the oldest hour first: `hour,value,unit,state,reason`. */
export function historyCsv({ hours, unit = '' }: MetricHistory): string {
  const rows = hours.map(({ hour, value, state, reason = '' }) => [
    hourText(hour),
    value === undefined ? '' : String(value),
    value === undefined ? '' : field(unit),
    state,
    field(reason),
  ])
  return [['hour', 'value', 'unit', 'state', 'reason'], ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

/** A text from outside. One that a spreadsheet would take for a formula is marked as text. */
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
