import type { WeekGrid, WeekRow } from '../snapshot.ts'
import type { Fold } from './bounded.ts'
import { legend, shape } from './cell.ts'
import { Html, html, nothing } from './html.ts'
import { axis, rangeText, rowText, strip } from './strip.ts'
import { type HourTrouble, troublesOf } from './troubles.ts'
import { hoursText } from './when.ts'

/** Troubles shown at once, and in all; further ones are counted. */
const troublesShown = 12
const troublesMax = 24

/** Characters of the titles, and of the words for a screen reader: of the page, and of a row. */
const titleCharsMax = 18_000
const spokenCharsMax = 10_000
const rowCharsMax = 3_000

/**
 * The last seven days of each collector, with what went wrong below.
 *
 * @param folds the collectors by protocol, if they are too many to be read at once
 * @param named as `ConfigurationState.named`
 */
export function hours(week: WeekGrid, folds: readonly Fold[] = [], named?: string): Html {
  return html`<section aria-labelledby="hours"><h2 id="hours">Hours</h2>${
    week.rows.length === 0
      ? html`<p class="empty">No hour is expected yet: each collector gets a row here, with the hours of the last seven days.</p>`
      : html`${firstHourNote(week)}${folds.length > 0 ? folded(week, folds) : table(week, week.rows)}${twoLinesNote()}${legend()}${troubles(troublesOf(week, named))}`
  }</section>`
}

function firstHourNote({ rows }: WeekGrid): Html {
  const isUntouched = rows.every(({ runs }) => runs.every(({ state }) => state === 'due' || state === 'unexpected'))
  if (!isUntouched) return nothing
  return html`<p class="empty">No hour is collected yet. The first one follows within moments of the start, then one a few
seconds after each full hour.</p>`
}

/**
 * A line for each protocol; those with a trouble are open. Their id is another, so that the script opens one whose trouble
 * begins while a person looks.
 */
function folded(week: WeekGrid, folds: readonly Fold[]): Html {
  return html`<div class="folds-axis">${axis(week)}</div>${folds.map(fold => {
    const { protocolId, rows, collectors, troubled } = fold
    const more = collectors - rows.length
    return html`<details class="fold" id="${troubled > 0 ? 'troubled' : 'calm'}-${protocolId}"${troubled > 0 ? Html.trusted(' open') : nothing}><summary><b>${protocolId}</b> <span class="quiet">${counted(collectors, 'collector')}</span>${
      troubled > 0
        ? html` <span class="in-trouble">${troubled} with a trouble</span>`
        : html` <span class="quiet">· no trouble in these days</span>`
    }</summary>${rows.length > 0 ? table(week, rows, protocolId) : nothing}${
      more > 0 && rows.length > 0 ? html`<p class="quiet note">and ${more} more</p>` : nothing
    }</details>`
  })}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function twoLinesNote(): Html {
  return html`<p class="two-lines quiet">Each collector has two lines: three and a half days, and below them the three and a half up to now.</p>`
}

/**
 * The roles repeat what the elements say, because the rows are laid out as grids.
 *
 * @param of the protocol of all rows; its axis is drawn once above the tables of all protocols
 */
function table(week: WeekGrid, rows: readonly WeekRow[], of?: string): Html {
  const shareOf = (chars: number) => Math.min(rowCharsMax, Math.floor(chars / week.rows.length))
  return html`<table class="hours" role="table" aria-label="State of each hour of the last seven days for each collector${of === undefined ? '' : ` of ${of}`}">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col"><span class="unseen">Collector</span></th><th role="columnheader" scope="col"><span class="unseen">${rangeText(week)} UTC</span>${of === undefined ? axis(week) : nothing}</th></tr></thead>
<tbody role="rowgroup">${rows.map(
    row =>
      html`<tr role="row"><th role="rowheader" scope="row">${collectorName(row, of === undefined)}</th><td role="cell"><span class="unseen">${rowText(row, shareOf(spokenCharsMax))}</span>${strip(week, row, shareOf(titleCharsMax))}</td></tr>
`,
  )}</tbody>
</table>`
}

/** A collector's own id, with its protocol next to it where that is not above. */
function collectorName({ collector, protocolId, isRemoved }: WeekRow, isAlone: boolean): Html {
  const prefix = `${protocolId}/`
  const ownId = collector.startsWith(prefix) ? collector.slice(prefix.length) : collector
  const removed = isRemoved ? html` <span class="removed">no longer configured</span>` : nothing
  return html`<span class="own-id">${ownId}</span>${isAlone ? html` <span class="of">${protocolId}</span>` : nothing}${removed}`
}

function troubles(all: readonly HourTrouble[]): Html {
  if (all.length === 0) return nothing
  const more = all.slice(troublesShown, troublesMax)
  const rest = all.length - troublesMax
  return html`<h3 class="minor">What went wrong</h3><ul class="troubles">${all.slice(0, troublesShown).map(trouble)}</ul>${
    more.length === 0
      ? nothing
      : html`<details id="more-troubles"><summary>${more.length} more</summary><ul class="troubles">${more.map(trouble)}${
          rest > 0 ? html`<li class="quiet">and ${rest} more</li>` : nothing
        }</ul></details>`
  }`
}

function trouble({ collector, look, count, first, last, message, facts, fix }: HourTrouble): Html {
  const howMany = count === 1 ? '1 hour' : `${count} hours`
  const details = Object.entries(facts).map(([name, value]) => `${name} ${value}`)
  return html`<li>${shape(look)}<div>
<p><b>${collector}</b> <span class="quiet">${look === 'failing' ? 'due' : look} · ${howMany}, ${hoursText(first, last)}</span></p>
${message === undefined ? nothing : html`<p>${message}${details.length > 0 ? html` <span class="quiet">(${details.join(', ')})</span>` : nothing}</p>`}
${fix === undefined ? nothing : html`<p class="fix">${fix}</p>`}</div></li>`
}
