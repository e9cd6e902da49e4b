import { type Hour, hourText } from '../../model/hour.ts'
import type { HourGrid } from '../snapshot.ts'
import { hourCell, legend, shape } from './cell.ts'
import { type Html, html, nothing } from './html.ts'
import { type HourTrouble, troublesOf } from './troubles.ts'
import { clockText, dayText, hoursText } from './when.ts'

/** Hours between two marks above the grid. */
const markHours = 6

/** Troubles listed; further ones are counted. */
const troublesMax = 12

/**
 * Grid of hours × collectors. The roles repeat what the elements say, because the rows are laid out as grids: on a
 * narrow screen the two days are below each other, to avoid sideways scrolling.
 */
export function hours(grid: HourGrid): Html {
  return html`<section aria-labelledby="hours"><h2 id="hours">Hours</h2>${
    grid.rows.length === 0
      ? html`<p class="empty">No hour is expected yet: each collector gets a row here, with a cell for each of the last 48 hours.</p>`
      : html`${firstHourNote(grid)}${table(grid)}${legend()}${troubles(troublesOf(grid))}`
  }</section>`
}

function firstHourNote(grid: HourGrid): Html {
  const isUntouched = grid.rows.every(row =>
    row.cells.every(cell => cell.state === 'due' || cell.state === 'unexpected'),
  )
  if (!isUntouched) return nothing
  return html`<p class="empty">No hour is collected yet. The first one follows within moments of the start, then one a few
seconds after each full hour.</p>`
}

function table(grid: HourGrid): Html {
  return html`<table class="hours" role="table" aria-label="State of each hour for each collector">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col"><span class="unseen">Collector</span></th>${grid.hours.map(hourHead)}</tr></thead>
<tbody role="rowgroup">${grid.rows.map(
    row =>
      html`<tr role="row"><th role="rowheader" scope="row" title="${row.collector}">${collectorName(row)}</th>${row.cells.map(
        (cell, index) => cellOrNothing(grid.hours[index], hour => hourCell(cell, hour)),
      )}</tr>`,
  )}</tbody>
</table><p class="two-days quiet">Each collector has two lines: the day before, and below it the last 24 hours.</p>`
}

function cellOrNothing(hour: Hour | undefined, cell: (hour: Hour) => Html): Html {
  return hour === undefined ? nothing : cell(hour)
}

function hourHead(hour: Hour): Html {
  const hourOfDay = new Date(hour).getUTCHours()
  const unseen = html`<span class="unseen">${hourText(hour)}</span>`
  if (hourOfDay % markHours !== 0) return html`<th role="columnheader" scope="col">${unseen}</th>`
  const mark =
    hourOfDay === 0
      ? html`<b class="day">${dayText(hour)}</b><span class="midnight-hour">00</span>`
      : html`<span>${clockText(hour).slice(0, 2)}</span>`
  return html`<th role="columnheader" scope="col">${unseen}<span class="mark" aria-hidden="true">${mark}</span></th>`
}

/** A collector's own id, with its protocol next to it. */
function collectorName({ collector, protocolId }: HourGrid['rows'][number]): Html {
  const prefix = `${protocolId}/`
  const ownId = collector.startsWith(prefix) ? collector.slice(prefix.length) : collector
  return html`<span class="own-id">${ownId}</span> <span class="of">${protocolId}</span>`
}

function troubles(all: readonly HourTrouble[]): Html {
  if (all.length === 0) return nothing
  const rest = all.length - troublesMax
  return html`<h3 class="minor">What went wrong</h3><ul class="troubles">${all.slice(0, troublesMax).map(trouble)}${
    rest > 0 ? html`<li class="quiet">and ${rest} more</li>` : nothing
  }</ul>`
}

function trouble({ collector, state, count, first, last, fault }: HourTrouble): Html {
  const howMany = count === 1 ? '1 hour' : `${count} hours`
  const facts = Object.entries(fault.facts).map(([name, value]) => `${name} ${value}`)
  return html`<li>${shape(state === 'due' ? 'failing' : state)}<div>
<p><b>${collector}</b> <span class="quiet">${howMany}, ${hoursText(first, last)}</span></p>
<p>${fault.message}${facts.length > 0 ? html` <span class="quiet">(${facts.join(', ')})</span>` : nothing}</p>
${fault.fix === undefined ? nothing : html`<p class="fix">${fault.fix}</p>`}</div></li>`
}
