import { hourText } from '../../model/hour.ts'
import type { HistoryHour } from '../history.ts'

const columns = ['hour', 'value', 'unit', 'state', 'collected', 'delivered', 'corrected', 'before', 'reason']

/**
 * A history as CSV (RFC 4180), the oldest hour first. Instants are to the millisecond; `corrected` is when the value was
 * last replaced, and `before` are the values until then, the oldest first, separated by blanks.
 */
export function historyCsv({ hours }: { readonly hours: readonly HistoryHour[] }): string {
  const rows = hours.map(({ hour, value, unit = '', state, collectedMs, deliveredMs, earlier = [], reason = '' }) => [
    hourText(hour),
    value === undefined ? '' : String(value),
    field(unit),
    state,
    instant(collectedMs),
    instant(deliveredMs),
    instant(earlier.at(-1)?.untilMs),
    earlier.map(one => String(one.value)).join(' '),
    field(reason),
  ])
  return [columns, ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

function instant(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString()
}

/** A text from outside. One that a spreadsheet would take for a formula is marked as text. */
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
